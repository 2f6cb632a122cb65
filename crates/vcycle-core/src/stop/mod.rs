//! Stopping criteria and outcomes of solvers.

mod column;
mod criterion;
mod deferred;
mod monitor;
mod narrow;
mod outcome;
mod verdict;

use std::time::Duration;

#[doc(hidden)]
pub use column::is_rounding;
pub use criterion::{Criterion, Progress};
pub use monitor::Monitor;
#[doc(hidden)]
pub use monitor::late;
#[doc(hidden)]
pub use narrow::Wide;
pub use outcome::{ColumnOutcome, Outcome, Part, Status};

/// When to stop: the first criterion that holds ends the iteration.
///
/// A column has converged when its residual norm is below *any* of the tolerances given.
///
/// ```
/// use vcycle::stop::Stop;
/// let stop = Stop::relative(1e-10).or_absolute(1e-14).max_iterations(500);
/// assert_eq!(stop.iterations, 500);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stop {
    /// Converged when the residual is at most this times the norm of the right-hand side.
    pub rhs_tolerance: Option<f64>,
    /// Converged when the residual is at most this times the initial residual.
    pub initial_tolerance: Option<f64>,
    /// Converged when the residual is at most this.
    pub absolute_tolerance: Option<f64>,
    /// Whether the residual of the method's recurrence decides on convergence. If not, the true residual
    /// decides, and the solve continues while that helps. Below the accuracy of the arithmetic only the
    /// residual of the recurrence still falls; some papers count its iterations.
    pub trust_recurrence: bool,
    /// At most this many iterations.
    pub iterations: usize,
    /// At most this much time.
    pub time: Option<Duration>,
    /// Diverged when the residual has grown by this factor over the initial one.
    pub divergence: f64,
    /// Stagnated when the best residual has not fallen by a tenth in this many iterations.
    pub stagnation: Option<usize>,
    /// After each multiple of this many iterations: ends with the status of the iteration limit, if convergence at the speed
    /// so far would need twice that limit.
    pub forecast: Option<usize>,
    /// Converged when one of these holds, whatever the residual.
    pub criteria: Vec<Criterion>,
}

impl Default for Stop {
    fn default() -> Self {
        Self {
            rhs_tolerance: Some(1e-8),
            initial_tolerance: None,
            absolute_tolerance: None,
            trust_recurrence: false,
            iterations: 10_000,
            time: None,
            divergence: 1e10,
            stagnation: Some(2_000),
            forecast: None,
            criteria: Vec::new(),
        }
    }
}

impl Stop {
    /// Residual relative to the right-hand side.
    pub fn relative(tolerance: f64) -> Self {
        Self {
            rhs_tolerance: Some(tolerance),
            ..Self::default()
        }
    }

    /// Residual relative to the initial one.
    pub fn reduction(factor: f64) -> Self {
        Self::no_tolerance().or_reduction(factor)
    }

    /// Exactly this many iterations, whatever the residual: for smoothers and inner solvers.
    pub fn fixed(iterations: usize) -> Self {
        Self {
            stagnation: None,
            divergence: f64::INFINITY,
            ..Self::no_tolerance().max_iterations(iterations)
        }
    }

    fn no_tolerance() -> Self {
        Self {
            rhs_tolerance: None,
            ..Self::default()
        }
    }

    /// Or when the residual has fallen by `factor` from the initial one.
    #[must_use]
    pub fn or_reduction(mut self, factor: f64) -> Self {
        self.initial_tolerance = Some(factor);
        self
    }

    /// Or when the residual norm is at most `norm`.
    #[must_use]
    pub fn or_absolute(mut self, norm: f64) -> Self {
        self.absolute_tolerance = Some(norm);
        self
    }

    /// Or when a user-defined criterion holds: all columns then end as converged.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::Executor, gallery, solver::{Cg, Solver}, stop::Stop, vector::Vector};
    /// let cpu = Executor::cpu();
    /// let a = Arc::new(gallery::build("poisson5:16", &cpu)?.matrix);
    /// let stop = Stop::relative(1e-8).or(|progress| progress.iteration == 3);
    /// let solver = Solver::<f64>::new(Cg::default(), a)?.stopping(stop);
    /// let b = Vector::filled(&cpu, 256, 1, 1.0)?;
    /// let mut x = Vector::zeros_like(&b)?;
    /// let outcome = solver.solve(&b, &mut x)?;
    /// assert!(outcome.converged() && outcome.iterations == 3);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    #[must_use]
    pub fn or(mut self, holds: impl Fn(&Progress<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.criteria.push(Criterion::new(holds));
        self
    }

    /// Lets the residual of the method's recurrence decide.
    #[must_use]
    pub fn trusting_recurrence(mut self) -> Self {
        self.trust_recurrence = true;
        self
    }

    /// At most this many iterations.
    #[must_use]
    pub fn max_iterations(mut self, iterations: usize) -> Self {
        self.iterations = iterations;
        self
    }

    /// Stagnated when the best residual has not fallen by a tenth in `window` iterations.
    #[must_use]
    pub fn stagnating_after(mut self, window: usize) -> Self {
        self.stagnation = Some(window);
        self
    }

    /// At most this much time.
    #[must_use]
    pub fn max_time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// The residual norm at which a column has converged; `None` without any tolerance.
    #[doc(hidden)]
    pub fn target(&self, rhs_norm: f64, initial_norm: f64) -> Option<f64> {
        let targets = [
            self.rhs_tolerance.map(|t| t * rhs_norm),
            self.initial_tolerance.map(|t| t * initial_norm),
            self.absolute_tolerance,
        ];
        targets.into_iter().flatten().reduce(f64::max)
    }
}
