//! When a solve stops.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::value::bad_value;
use crate::error::ConfigError;
use crate::stop::Stop;

/// When to stop; the names of the command line for [`Stop`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct StopConfig {
    /// Residual relative to the right-hand side.
    pub rtol: Option<f64>,
    /// Or residual relative to the initial one.
    pub reduction: Option<f64>,
    /// Or residual norm.
    pub atol: Option<f64>,
    /// Whether the recurrence of the method is believed when it has reached a tolerance, and the
    /// true residual only reported.
    pub trust_recurrence: bool,
    /// At most this many iterations.
    pub max_iterations: usize,
    /// At most this many seconds for set-up and iterations.
    pub time_limit: Option<f64>,
}

impl Default for StopConfig {
    fn default() -> Self {
        Self {
            rtol: Stop::default().rhs_tolerance,
            reduction: None,
            atol: None,
            trust_recurrence: false,
            max_iterations: Stop::default().iterations,
            time_limit: None,
        }
    }
}

impl StopConfig {
    /// The criterion.
    ///
    /// # Errors
    /// For a tolerance that is negative or not a number, and a time limit that is no duration.
    pub fn stop(&self) -> Result<Stop, ConfigError> {
        let tolerances = [
            ("rtol", self.rtol),
            ("reduction", self.reduction),
            ("atol", self.atol),
        ];
        for (key, tolerance) in tolerances {
            if let Some(value) = tolerance.filter(|value| !(value.is_finite() && *value >= 0.0)) {
                let reason = "a finite number, at least 0, is needed";
                return Err(bad_value("stop", key, value, reason));
            }
        }
        let mut stop = Stop::default().max_iterations(self.max_iterations);
        stop.rhs_tolerance = self.rtol;
        stop.initial_tolerance = self.reduction;
        stop.absolute_tolerance = self.atol;
        stop.trust_recurrence = self.trust_recurrence;
        if let Some(seconds) = self.time_limit {
            let time = Duration::try_from_secs_f64(seconds)
                .map_err(|error| bad_value("stop", "time-limit", seconds, error.to_string()))?;
            stop = stop.max_time(time);
        }
        Ok(stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_checked() {
        let config = StopConfig {
            rtol: Some(f64::NAN),
            ..StopConfig::default()
        };
        assert!(config.stop().is_err());
    }
}
