//! `G^H G` as an operator.

use std::fmt::{Debug, Formatter};

use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, Transpose};
use crate::matrix::Csr;
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};

/// A factor and its adjoint, both stored: an application is two products by rows.
pub(super) struct Gram<T> {
    g: Csr<T>,
    adjoint: Csr<T>,
}

impl<T: Scalar> Gram<T> {
    pub(super) fn new(g: Csr<T>) -> Result<Self> {
        Ok(Self {
            adjoint: g.adjoint()?,
            g,
        })
    }
}

impl<T: Scalar> Debug for Gram<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (rows, entries) = (self.g.size().rows, self.g.nonzeros());
        write!(f, "fsai: {rows} rows, {entries} entries in each factor")
    }
}

impl<T: Mixes<T, T>> LinOp<T> for Gram<T> {
    fn size(&self) -> Size {
        self.g.size()
    }

    fn executor(&self) -> &Executor {
        self.g.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let mut half_way = ws.vector_like::<T, T>(x)?;
        self.g.apply(x, &mut half_way, ws)?;
        self.adjoint.apply(&half_way, y, ws)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        beta: Coefficient<'_, T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let mut half_way = ws.vector_like::<T, T>(x)?;
        self.g.apply(x, &mut half_way, ws)?;
        self.adjoint.apply_advanced(alpha, &half_way, beta, y, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        if mode == Transpose::Conjugate {
            return self.apply(x, y, ws);
        }
        let mut half_way = ws.vector_like::<T, T>(x)?;
        self.adjoint.apply_transposed(mode, x, &mut half_way, ws)?;
        self.g.apply_transposed(mode, &half_way, y, ws)
    }

    fn footprint(&self) -> Footprint {
        let bytes = self.g.bytes() + self.adjoint.bytes();
        Footprint {
            held: bytes,
            moved: bytes,
        }
    }
}
