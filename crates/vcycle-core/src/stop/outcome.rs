//! Outcomes of solves.

use std::fmt::{Display, Formatter};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a solve ended; only [`Status::Converged`] is a success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Status {
    /// The residual is below the tolerance: the true one, unless the criterion
    /// [trusts](super::Stop::trust_recurrence) that of the recurrence.
    Converged,
    /// The iterations allowed were used up.
    IterationLimit,
    /// The time allowed was used up.
    TimeLimit,
    /// An observer stopped it.
    Interrupted,
    /// The residual consists of rounding errors: no method gets further in this precision.
    AccuracyLimit,
    /// No `x` solves the system: a component of the right-hand side larger than the tolerance is outside the range of the
    /// matrix. `x` is a least-squares solution.
    Inconsistent,
    /// The residual no longer falls.
    Stagnated,
    /// The residual grew beyond bounds.
    Diverged,
    /// An infinity or NaN appeared.
    NonFinite,
    /// The method needs a positive definite operator, and this part of the problem is not.
    Indefinite(Part),
    /// The method's recurrence divided by zero before convergence.
    Breakdown,
}

/// A part of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The matrix.
    Operator,
    /// The preconditioner.
    Preconditioner,
}

impl Status {
    /// The name for scripts: `converged`, `iteration-limit`, `time-limit`, `interrupted`,
    /// `accuracy-limit`, `inconsistent`, `stagnated`, `diverged`, `non-finite`, `indefinite`, `breakdown`.
    pub fn name(self) -> &'static str {
        match self {
            Status::Converged => "converged",
            Status::IterationLimit => "iteration-limit",
            Status::TimeLimit => "time-limit",
            Status::Interrupted => "interrupted",
            Status::AccuracyLimit => "accuracy-limit",
            Status::Inconsistent => "inconsistent",
            Status::Stagnated => "stagnated",
            Status::Diverged => "diverged",
            Status::NonFinite => "non-finite",
            Status::Indefinite(_) => "indefinite",
            Status::Breakdown => "breakdown",
        }
    }

    /// What happened and what to try, in a sentence.
    pub fn explanation(self) -> &'static str {
        match self {
            Status::Converged => "the residual is below the tolerance",
            Status::IterationLimit => {
                "the iterations allowed are used up; allow more, or choose a stronger preconditioner"
            }
            Status::TimeLimit => "the time allowed is used up",
            Status::Interrupted => "it was asked to end",
            Status::AccuracyLimit => {
                "the residual is that of rounding, and the tolerance is below it; no method gets further in this precision"
            }
            Status::Inconsistent => {
                "a component of b is outside the range of A, so that no x solves the system: x is a least-squares solution; to solve without that component, name the null space (option nullspace)"
            }
            Status::Stagnated => {
                "the residual no longer falls, or too slowly; ask for a looser tolerance, a stronger preconditioner or the direct solver"
            }
            Status::Diverged => {
                "the residual grew beyond bounds; choose another method or preconditioner"
            }
            Status::NonFinite => "an infinity or NaN appeared; look at the scaling of the matrix",
            Status::Indefinite(Part::Operator) => {
                "the matrix is not positive definite; use minres, gmres or direct instead"
            }
            Status::Indefinite(Part::Preconditioner) => {
                "the preconditioner is not positive definite; use another one, or gmres or bicgstab"
            }
            Status::Breakdown => {
                "the recurrence broke down (division by zero): the matrix may be singular; choose another method or preconditioner"
            }
        }
    }
}

impl Display for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// How one right-hand side ended.
#[derive(Clone, Copy, Debug)]
pub struct ColumnOutcome {
    /// The status.
    pub status: Status,
    /// Iterations of this column.
    pub iterations: usize,
    /// True residual divided by the norm of the right-hand side.
    pub relative_residual: f64,
    /// The same by the method's recurrence.
    pub recurrence_residual: f64,
    /// An upper bound of the normwise backward error: `x` solves a system whose matrix and right-hand side differ by this part
    /// of their norms.
    pub backward_error: f64,
    /// The rounding error of `A x` divided by that of the right-hand side, a lower bound of the condition number.
    pub condition: f64,
    /// The norm of the component of the right-hand side that is known to be outside the range of the matrix, divided by that of
    /// the right-hand side. Where the caller names the null space the system is solved without that component, and the
    /// residual is that of what is left.
    pub outside_range: f64,
}

/// The outcome of a solve.
#[derive(Clone, Debug)]
#[must_use = "not converged is an outcome: look at `status`"]
pub struct Outcome {
    /// Converged if all columns are; else the state of the first that is not.
    pub status: Status,
    /// Iterations of the column that took most.
    pub iterations: usize,
    /// The largest true relative residual of the columns.
    pub relative_residual: f64,
    /// The largest relative residual by the recurrence.
    pub recurrence_residual: f64,
    /// The largest [backward error](ColumnOutcome::backward_error) of the columns.
    pub backward_error: f64,
    /// The largest [bound of the condition number](ColumnOutcome::condition) of the columns.
    pub condition: f64,
    /// The largest [component outside the range of the matrix](ColumnOutcome::outside_range) of the columns.
    pub outside_range: f64,
    /// The outcome of each column.
    pub columns: Vec<ColumnOutcome>,
    /// Largest relative residual after 0, 1, 2... iterations, by the recurrence.
    pub history: Vec<f64>,
    /// Time of the solve, set-up not counted.
    pub elapsed: Duration,
}

impl Outcome {
    /// Whether every column converged.
    pub fn converged(&self) -> bool {
        self.status == Status::Converged
    }

    /// Whether the residual of the recurrence is less than half of the true one: then both are reported.
    pub fn recurrence_differs(&self) -> bool {
        self.relative_residual > 2.0 * self.recurrence_residual
    }

    /// What happened and what to try, in a sentence.
    pub fn explanation(&self) -> String {
        let explanation = self.status.explanation();
        match self.status {
            Status::AccuracyLimit => format!(
                "{explanation} (backward error {:.1e}, condition number at least {:.0e})",
                self.backward_error, self.condition
            ),
            Status::Inconsistent => format!(
                "{explanation} (the component is {:.1e} of the norm of b)",
                self.outside_range
            ),
            _ => explanation.to_owned(),
        }
    }

    /// The outcome of a solve from those of its columns: the first that failed, the largest residuals.
    #[doc(hidden)]
    pub fn from_columns(columns: Vec<ColumnOutcome>, history: Vec<f64>, elapsed: Duration) -> Self {
        let mut outcome = Self {
            status: Status::Converged,
            iterations: 0,
            relative_residual: 0.0,
            recurrence_residual: 0.0,
            backward_error: 0.0,
            condition: 0.0,
            outside_range: 0.0,
            columns,
            history,
            elapsed,
        };
        outcome.summarise();
        outcome
    }

    /// Takes back that columns have converged whose solutions have entries too large for a number, given the largest of each.
    #[doc(hidden)]
    pub fn check_finite(&mut self, largest: &[f64]) {
        for (column, largest) in self.columns.iter_mut().zip(largest) {
            if !largest.is_finite() && column.status == Status::Converged {
                column.status = Status::NonFinite;
            }
        }
        self.summarise();
    }

    /// Makes the outcome that of its columns.
    #[doc(hidden)]
    pub fn summarise(&mut self) {
        let columns = &self.columns;
        let failed = columns.iter().find(|c| c.status != Status::Converged);
        let largest = |part: fn(&ColumnOutcome) -> f64| {
            // NaN counts as the largest residual.
            columns.iter().map(part).fold(0.0, |worst: f64, residual| {
                if residual.is_nan() {
                    residual
                } else {
                    worst.max(residual)
                }
            })
        };
        self.status = failed.map_or(Status::Converged, |column| column.status);
        self.iterations = columns.iter().map(|c| c.iterations).max().unwrap_or(0);
        self.relative_residual = largest(|c| c.relative_residual);
        self.recurrence_residual = largest(|c| c.recurrence_residual);
        self.backward_error = largest(|c| c.backward_error);
        self.condition = largest(|c| c.condition);
        self.outside_range = largest(|c| c.outside_range);
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let recurrence = match self.recurrence_differs() {
            true => format!(" (of the recurrence {:.3e})", self.recurrence_residual),
            false => String::new(),
        };
        write!(
            f,
            "{} after {} iterations, relative residual {:.3e}{recurrence}: {}",
            self.status,
            self.iterations,
            self.relative_residual,
            self.explanation()
        )
    }
}
