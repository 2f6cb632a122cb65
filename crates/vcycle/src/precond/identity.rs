//! No preconditioner, as an operator.

use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{LinOp, Size, check_apply};
use crate::scalar::Scalar;
use crate::vector::Vector;

/// The identity: what a solver uses where no preconditioner is given.
#[derive(Clone, Debug)]
pub struct Identity {
    executor: Executor,
    n: usize,
}

impl Identity {
    /// On vectors of `n` rows.
    pub fn new(executor: &Executor, n: usize) -> Self {
        Self {
            executor: executor.clone(),
            n,
        }
    }
}

impl<T: Scalar> LinOp<T> for Identity {
    fn size(&self) -> Size {
        Size::square(self.n)
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, _ws: &Workspace) -> Result<()> {
        check_apply("identity", Size::square(self.n), &self.executor, x, y)?;
        y.copy_from(x)
    }

    fn is_identity(&self) -> bool {
        true
    }
}
