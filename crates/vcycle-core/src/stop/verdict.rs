//! The status of columns by their true residuals.

use super::monitor::Monitor;
use super::{ColumnOutcome, Status};
use crate::prelude::*;

impl<T: Scalar> Monitor<T> {
    /// How a column ended by the recurrence; none while it continues.
    #[doc(hidden)]
    pub fn status(&self, column: usize) -> Option<Status> {
        self.columns[column].status
    }

    /// A norm of a column, relative to its right-hand side.
    #[doc(hidden)]
    pub fn relative(&self, column: usize, norm: f64) -> f64 {
        self.columns[column].relative(norm)
    }

    /// The outcome of a column, by its true residual norm and the level of rounding.
    #[doc(hidden)]
    pub fn outcome(&self, column: usize, norm: f64, level: f64) -> ColumnOutcome {
        let state = &self.columns[column];
        ColumnOutcome {
            status: self.verdict(column, norm, level),
            iterations: state.iterations,
            relative_residual: state.relative(norm),
            recurrence_residual: state.relative(state.norm),
            backward_error: if norm > 0.0 { norm / level } else { norm },
            condition: state.relative(level),
            outside_range: 0.0,
        }
    }

    /// How a column ended, by the same.
    fn verdict(&self, column: usize, norm: f64, level: f64) -> Status {
        let state = &self.columns[column];
        let claims = matches!(
            state.status,
            Some(Status::Converged | Status::AccuracyLimit)
        );
        match state.status {
            _ if !norm.is_finite() => Status::NonFinite,
            _ if state.accepted || state.reached(norm) => Status::Converged,
            Some(Status::Converged) if self.stop.trust_recurrence => Status::Converged,
            _ if state.is_rounding::<T>(norm, level) => Status::AccuracyLimit,
            _ if claims && state.target.is_some() => Status::Stagnated,
            Some(status) => status,
            None => Status::Breakdown,
        }
    }

    /// Whether another start from the true residual may help a column: its recurrence broke
    /// down, or converged where the residual did not, unless rounding prevents that.
    #[doc(hidden)]
    pub fn restartable(&self, column: usize, norm: f64, level: f64) -> bool {
        let state = &self.columns[column];
        let claims = match state.status {
            Some(Status::Converged) => !self.stop.trust_recurrence,
            Some(Status::Breakdown | Status::AccuracyLimit) => true,
            _ => false,
        };
        let falls_short = state.target.is_some() && !state.accepted && !state.reached(norm);
        let is_over = state.asks_too_much::<T>(level) && state.is_rounding::<T>(norm, level);
        claims && norm.is_finite() && falls_short && !is_over
    }

    /// Continues the restartable columns.
    #[doc(hidden)]
    pub fn reopen(&mut self, norms: &[f64], levels: &[f64]) -> Result<()> {
        for (column, (&norm, &level)) in norms.iter().zip(levels).enumerate() {
            if self.restartable(column, norm, level) {
                self.columns[column].reopen();
            }
        }
        self.activate()
    }
}
