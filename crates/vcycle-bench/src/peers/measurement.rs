//! What one solve took, ours or a peer's.

use serde::Deserialize;

use crate::common::Result;

/// vcycle as it chooses by itself.
pub(super) const OURS: &str = "vcycle";
/// What all solve to, relative to the right-hand side.
pub(super) const TOLERANCE: f64 = 1e-8;

/// One solve; also what the programs of the peers print as JSON.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Measurement {
    /// Seconds until the matrix is in memory, which do not count.
    #[serde(default)]
    pub(crate) read: f64,
    /// Seconds until the first iteration can begin.
    pub(crate) setup: f64,
    /// Seconds of the iterations.
    pub(crate) solve: f64,
    pub(crate) iterations: usize,
    /// True relative residual, in double precision; computed from the solution, not told by a peer.
    #[serde(default = "unknown")]
    pub(crate) residual: f64,
    /// Entries of all levels over those of the finest, where it is known.
    #[serde(default)]
    pub(crate) complexity: Option<f64>,
    /// Messages of an iteration, on the process that sends most; 0 where nobody counts.
    #[serde(default)]
    pub(crate) messages: f64,
}

fn unknown() -> f64 {
    f64::NAN
}

impl Measurement {
    /// Reads the last line a peer printed; libraries may have their say before.
    pub(crate) fn parse(printed: &str) -> Result<Self> {
        let line = printed.lines().last().unwrap_or_default();
        serde_json::from_str(line).map_err(|error| format!("{error} in `{line}`").into())
    }

    pub(crate) fn total(&self) -> f64 {
        self.setup + self.solve
    }

    /// Whether it is as accurate as asked for; recurrences may miss the true residual a little.
    pub(crate) fn converged(&self) -> bool {
        self.residual <= 1.05 * TOLERANCE
    }
}

/// A measurement, or why there is none.
pub(super) type Attempt = std::result::Result<Measurement, String>;

/// The better of two rounds: one that succeeded, and of two such the one with the smaller total, whole.
pub(super) fn fastest(old: Option<Attempt>, new: Attempt) -> Attempt {
    match (old, new) {
        (Some(Ok(old)), Ok(new)) if old.converged() == new.converged() => {
            Ok(if new.total() < old.total() { new } else { old })
        }
        (Some(Ok(old)), new) if old.converged() || new.is_err() => Ok(old),
        (_, new) => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taking(setup: f64, solve: f64) -> Measurement {
        Measurement {
            setup,
            solve,
            iterations: 1,
            ..Measurement::default()
        }
    }

    #[test]
    fn the_last_line_is_the_answer() {
        let printed = "a warning\n\
                       {\"setup\": 1.5, \"solve\": 2e0, \"iterations\": 9, \"residual\": 9.9e-9}\n";
        let measured = Measurement::parse(printed).unwrap();
        assert_eq!((measured.total(), measured.iterations), (3.5, 9));
        assert!(measured.converged());
    }

    #[test]
    fn what_is_no_answer_is_quoted() {
        for printed in ["", "killed", "{\"setup\": 1}", "{\"setup\": nan}"] {
            let error = Measurement::parse(printed).unwrap_err().to_string();
            assert!(error.ends_with(&format!("`{printed}`")), "{error}");
        }
    }

    #[test]
    fn a_residual_that_is_no_number_has_not_converged() {
        let failed = Measurement {
            residual: f64::NAN,
            ..taking(1.0, 1.0)
        };
        assert!(!failed.converged());
    }

    #[test]
    fn of_two_rounds_the_better_counts_as_a_whole() {
        let (one, other) = (taking(2.0, 1.0), taking(1.0, 1.5));
        let failed: Attempt = Err("failed".to_owned());
        let wrong = Measurement {
            residual: 1.0,
            ..taking(0.1, 0.1)
        };
        assert_eq!(fastest(None, failed.clone()), failed);
        let [one, other, wrong] = [one, other, wrong].map(Ok);
        let cases = [
            (&failed, &one, &one),
            (&other, &failed, &other),
            (&other, &wrong, &other),
            (&wrong, &other, &other),
            (&one, &other, &other),
        ];
        for (old, new, expected) in cases {
            assert_eq!(&fastest(Some(old.clone()), new.clone()), expected);
        }
    }
}
