//! Solvers as operators that factories make.

use vcycle_kernels::compiled;

use super::{Method, Solver};
use crate::prelude::*;
use crate::stop::Stop;

/// Makes a [`Solver`] of any matrix: a method, a preconditioner's factory and a stopping criterion.
#[derive(Clone, Debug)]
pub struct SolverFactory<T: Scalar> {
    /// The iteration.
    pub method: Arc<dyn Method<T>>,
    /// Makes the preconditioner; none without.
    pub preconditioner: Option<Arc<dyn Factory<T>>>,
    /// When to stop.
    pub stop: Stop,
}

impl<T: Scalar> SolverFactory<T> {
    /// Makes solvers without a preconditioner.
    pub fn unpreconditioned(method: Arc<dyn Method<T>>, stop: &Stop) -> Self {
        Self {
            method,
            preconditioner: None,
            stop: stop.clone(),
        }
    }

    /// As a factory of operators.
    pub fn shared(self) -> Arc<dyn Factory<T>> {
        compiled!(working T: fn(SolverFactory<T>) -> Arc<dyn Factory<T>> = |own| Arc::new(own))(
            self,
        )
    }

    /// The solver itself, not only as an operator.
    ///
    /// # Errors
    /// When the matrix is not square or the preconditioner's set-up fails.
    pub fn solver(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Solver<T>> {
        let solver = Solver::from_shared(Arc::clone(&self.method), Arc::clone(a))?;
        let solver = solver.stopping(self.stop.clone());
        match &self.preconditioner {
            None => Ok(solver),
            Some(factory) => solver.with_preconditioner(factory.generate(a, ws)?),
        }
    }
}

impl<T: Scalar> Factory<T> for SolverFactory<T> {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        Ok(Arc::new(self.solver(a, ws)?))
    }
}
