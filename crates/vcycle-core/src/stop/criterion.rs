//! Stopping criteria of users.

use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::time::Duration;

/// Where a solve stands, as a [`Criterion`] is asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress<'p> {
    /// Iterations done; 0 before the first.
    pub iteration: usize,
    /// Relative residual of every column, as the method's recurrence knows it.
    pub residuals: &'p [f64],
    /// Time since the solve began.
    pub elapsed: Duration,
}

/// A stopping criterion of one's own: any closure that says whether a solve has gone far enough.
#[derive(Clone)]
pub struct Criterion(Arc<Holds>);

type Holds = dyn Fn(&Progress<'_>) -> bool + Send + Sync;

impl Criterion {
    /// Holds when `holds` says so; that is asked after every iteration.
    pub fn new(holds: impl Fn(&Progress<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }

    /// Whether the solve has gone far enough.
    pub fn holds(&self, progress: &Progress<'_>) -> bool {
        (self.0)(progress)
    }
}

/// The same closure, not one that says the same.
impl PartialEq for Criterion {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Debug for Criterion {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("a criterion of the user")
    }
}
