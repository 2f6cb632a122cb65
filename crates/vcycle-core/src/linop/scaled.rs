//! An operator times a number.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Footprint, LinOp, Size, Transpose};
use crate::arrays::Csr;
use crate::error::Result;
use crate::executor::Executor;
use crate::scalar::Scalar;
use crate::vector::{Coefficient, Vector};
use crate::workspace::Workspace;

/// `alpha A`.
#[derive(Clone, Debug)]
pub struct Scaled<T: Scalar> {
    alpha: T::Arith,
    a: Arc<dyn LinOp<T>>,
}

impl<T: Scalar> Scaled<T> {
    /// `alpha` times `a`.
    pub fn new(alpha: T::Arith, a: Arc<dyn LinOp<T>>) -> Self {
        Self { alpha, a }
    }
}

impl<T: Scalar> LinOp<T> for Scaled<T> {
    fn size(&self) -> Size {
        self.a.size()
    }

    fn executor(&self) -> &Executor {
        self.a.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.apply_advanced(Coefficient::one(), x, Coefficient::zero(), y, ws)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        beta: Coefficient<'_, T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.a
            .apply_advanced(alpha.scaled(self.alpha), x, beta, y, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.a.apply_transposed(mode, x, y, ws)?;
        y.scale(Coefficient::constant(mode.of(self.alpha)))
    }

    fn csr(&self) -> Option<Cow<'_, Csr<T>>> {
        self.a.csr()?.scale(self.alpha).ok().map(Cow::Owned)
    }

    fn footprint(&self) -> Footprint {
        self.a.footprint()
    }
}
