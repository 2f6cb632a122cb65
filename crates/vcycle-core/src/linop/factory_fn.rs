//! A factory given by a closure.

use std::sync::Arc;

use super::{Factory, LinOp};
use crate::error::Result;
use crate::scalar::Scalar;
use crate::workspace::Workspace;

/// A closure from a matrix to an operator, as a [`Factory`].
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, linop::{FactoryFn, Identity, LinOp, Scaled},
///              matrix::Csr, solver::{Cg, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![4.0, 4.0]));
/// let quarter = FactoryFn::<f64>::new("quarter", |a, _ws| {
///     let identity = Arc::new(Identity::new(a.executor(), a.size().rows));
///     Ok(Arc::new(Scaled::new(0.25, identity)))
/// });
/// let solver = Solver::<f64>::new(Cg::default(), a)?.preconditioned_by(&quarter)?;
/// let b = Vector::filled(&cpu, 2, 1, 1.0)?;
/// let mut x = Vector::zeros_like(&b)?;
/// assert!(solver.solve(&b, &mut x)?.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone)]
pub struct FactoryFn<T: Scalar> {
    name: &'static str,
    generate: Arc<Generate<T>>,
}

/// From a matrix to an operator.
type Generate<T> =
    dyn Fn(&Arc<dyn LinOp<T>>, &Workspace) -> Result<Arc<dyn LinOp<T>>> + Send + Sync;

impl<T: Scalar> FactoryFn<T> {
    /// A factory that reports its set-up under `name`.
    pub fn new(
        name: &'static str,
        generate: impl Fn(&Arc<dyn LinOp<T>>, &Workspace) -> Result<Arc<dyn LinOp<T>>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let generate = Arc::new(generate);
        Self { name, generate }
    }
}

impl<T: Scalar> std::fmt::Debug for FactoryFn<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl<T: Scalar> Factory<T> for FactoryFn<T> {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage(self.name, 0);
        (self.generate)(a, ws)
    }
}
