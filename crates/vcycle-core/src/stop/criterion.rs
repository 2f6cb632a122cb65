//! User-defined stopping criteria.

use std::fmt::{Debug, Formatter};
use std::time::Duration;

use crate::prelude::*;

/// The progress of a solve, for a [`Criterion`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress<'p> {
    /// Iterations done; 0 before the first.
    pub iteration: usize,
    /// Relative residual of every column, by the method's recurrence.
    pub residuals: &'p [f64],
    /// Time since the solve began.
    pub elapsed: Duration,
}

/// A user-defined stopping criterion: a closure that returns whether the solve may end.
#[derive(Clone)]
pub struct Criterion(Arc<Holds>);

type Holds = dyn Fn(&Progress<'_>) -> bool + Send + Sync;

impl Criterion {
    /// Holds when `holds` returns true; it is called after every iteration.
    pub fn new(holds: impl Fn(&Progress<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(holds))
    }

    /// Whether the solve may end.
    pub fn holds(&self, progress: &Progress<'_>) -> bool {
        (self.0)(progress)
    }
}

/// Compares the closures by identity.
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
