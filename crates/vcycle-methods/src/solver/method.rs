//! What a file of this folder holds: an iteration, and its registration.

use std::fmt::Debug;

use super::Run;
use crate::prelude::*;
use crate::registration::Component;

/// An iteration for `A x = b`; what a file of this module holds.
pub trait Method<T: Scalar>: Debug + Send + Sync {
    /// Its name in options and reports.
    fn name(&self) -> &'static str;

    /// Improves `run.x` until the monitor says that every column has ended.
    ///
    /// # Errors
    /// Only for what is no outcome of an iteration: a failing operator or executor.
    fn iterate(&self, run: &mut Run<'_, T>) -> Result<()>;
}

/// A component that is an iteration.
pub trait SolverComponent: Component {
    /// The iteration for vectors of `T`; compiled once, with this crate.
    fn method<T: Scalar>(&self) -> Arc<dyn Method<T>>;
}
