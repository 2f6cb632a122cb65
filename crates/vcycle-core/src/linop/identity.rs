//! The operator that does nothing.

use std::borrow::Cow;

use super::{LinOp, Transpose, check_apply};
use crate::prelude::*;

/// The identity: what a solver uses where no preconditioner is given, and the term of a shift.
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

    fn apply_transposed(
        &self,
        _mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.apply(x, y, ws)
    }

    fn csr(&self) -> Option<Cow<'_, Csr<T>>> {
        Some(Cow::Owned(Csr::identity(&self.executor, self.n)))
    }

    fn is_identity(&self) -> bool {
        true
    }
}
