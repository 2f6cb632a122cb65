//! Solves, as most experiments make them.

use std::sync::Arc;

use vcycle::config::{Config, Solution, System, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::vector::Vector;

use super::super::record::Value;
use crate::common::Result;

/// A problem of the gallery, ready to be solved.
pub(super) struct Ready {
    system: System<f64>,
    b: Vector<f64>,
}

impl Ready {
    pub fn new(problem: &str, executor: &Executor) -> Result<Self> {
        let problem = gallery::build(problem, executor)?;
        let b = Vector::from_column(executor, problem.rhs.clone());
        Ok(Self {
            system: System::from(problem),
            b,
        })
    }

    /// Solves three times at most, within some seconds; the solution of the shortest.
    pub fn solve(&self, config: &Config) -> Result<Solution<f64>> {
        let mut best: Option<Solution<f64>> = None;
        for _ in 0..3 {
            let solution = solve_system(config, &self.system, &self.b, &Workspace::new())?;
            let spent = solution.setup + solution.solving;
            if best
                .as_ref()
                .is_none_or(|best| solution.solving < best.solving)
            {
                best = Some(solution);
            }
            if spent.as_secs_f64() > 2.0 {
                break;
            }
        }
        best.ok_or_else(|| "nothing was solved".into())
    }

    pub fn matrix(&self) -> &Arc<vcycle::matrix::Csr<f64>> {
        &self.system.matrix
    }
}

/// Iterations and milliseconds or seconds of a solve, and what has to be said of it.
pub(super) fn of_solve(row: &str, solution: &Solution<f64>) -> [Value; 2] {
    let (outcome, seconds) = (&solution.outcome, solution.solving.as_secs_f64());
    let note = match outcome.converged() {
        true => String::new(),
        false => outcome.status.to_string(),
    };
    [
        Value::new(row, "iterations", "", outcome.iterations as f64).noting(note),
        Value::new(row, "solve", "ms", 1e3 * seconds),
    ]
}

/// The geometric mean.
pub(super) fn mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (sum / values.len().max(1) as f64).exp()
}
