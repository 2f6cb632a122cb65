//! The transpose of an operator.

use std::borrow::Cow;

use super::{LinOp, Transpose};
use crate::forward;
use crate::prelude::*;

/// `A^T` or `A^H`, through the transposed application of `A`; nothing is stored.
#[derive(Clone, Debug)]
pub struct Transposed<X: Scalar, Y: Scalar = X> {
    a: Arc<dyn LinOp<X, Y>>,
    mode: Transpose,
}

impl<X: Scalar, Y: Scalar> Transposed<X, Y> {
    /// The plain or conjugate transpose of `a`. An operator that cannot be applied transposed
    /// says so when this one is applied.
    pub fn new(a: Arc<dyn LinOp<X, Y>>, mode: Transpose) -> Self {
        Self { a, mode }
    }
}

impl<X: Scalar, Y: Scalar> LinOp<Y, X> for Transposed<X, Y> {
    forward!(a: executor, footprint, is_identity);

    fn size(&self) -> Size {
        self.a.size().transposed()
    }

    fn apply(&self, x: &Vector<Y>, y: &mut Vector<X>, ws: &Workspace) -> Result<()> {
        self.a.apply_transposed(self.mode, x, y, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<X>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        if mode == self.mode || !X::KIND.is_complex() {
            return self.a.apply(x, y, ws);
        }
        Err(Error::Unsupported {
            component: format!("the transpose of {}", self.a.label()),
            operation: "application of the conjugated, untransposed operator".to_owned(),
        })
    }

    fn csr(&self) -> Option<Cow<'_, Csr<Y>>> {
        let a = self.a.csr()?;
        let transposed = match self.mode {
            Transpose::Plain => a.transpose(),
            Transpose::Conjugate => a.adjoint(),
        };
        transposed.ok()?.convert().ok().map(Cow::Owned)
    }
}
