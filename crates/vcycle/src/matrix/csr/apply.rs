//! Products with a CSR matrix, in every combination of precisions.

use std::borrow::Cow;

use super::Csr;
use crate::backend::reference::csr::CsrArrays;
use crate::backend::{cpu, reference};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, Transpose, check_apply};
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};

impl<T: Scalar> Csr<T> {
    /// The arrays, for kernels of host executors.
    pub(crate) fn arrays(&self) -> Result<CsrArrays<'_, T>> {
        Ok(CsrArrays {
            offsets: self.offsets(),
            columns: self.columns(),
            values: self.values.host()?,
        })
    }
}

impl<M, X, Y> LinOp<X, Y> for Csr<M>
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    fn size(&self) -> Size {
        self.size()
    }

    fn executor(&self) -> &Executor {
        self.executor()
    }

    fn apply(&self, x: &Vector<X>, y: &mut Vector<Y>, _ws: &Workspace) -> Result<()> {
        check_apply("csr product", self.size(), self.executor(), x, y)?;
        let (a, cols) = (self.arrays()?, x.cols());
        let (x, y) = (x.host()?, y.host_mut()?);
        match self.executor() {
            Executor::Reference => reference::csr::apply(a, x, y, cols),
            Executor::Cpu(threads) => {
                cpu::csr::apply(threads, self.pattern.pieces(), a, x, y, cols);
            }
        }
        Ok(())
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, Y>,
        x: &Vector<X>,
        beta: Coefficient<'_, Y>,
        y: &mut Vector<Y>,
        _ws: &Workspace,
    ) -> Result<()> {
        check_apply("csr product", self.size(), self.executor(), x, y)?;
        let (a, cols) = (self.arrays()?, x.cols());
        let (x, y) = (x.host()?, y.host_mut()?);
        match self.executor() {
            Executor::Reference => reference::csr::apply_advanced(alpha, a, x, beta, y, cols),
            Executor::Cpu(threads) => {
                let pieces = self.pattern.pieces();
                cpu::csr::apply_advanced(threads, pieces, alpha, a, x, beta, y, cols)
            }
        }
    }

    fn residual(
        &self,
        b: &Vector<Y>,
        x: &Vector<X>,
        r: &mut Vector<Y>,
        _ws: &Workspace,
    ) -> Result<()> {
        check_apply("csr residual", self.size(), self.executor(), x, r)?;
        check_apply("csr residual", self.size(), self.executor(), x, b)?;
        let (a, cols) = (self.arrays()?, x.cols());
        let (b, x, r) = (b.host()?, x.host()?, r.host_mut()?);
        match self.executor() {
            Executor::Reference => reference::csr::residual(b, a, x, r, cols),
            Executor::Cpu(threads) => {
                cpu::csr::residual(threads, self.pattern.pieces(), b, a, x, r, cols);
            }
        }
        Ok(())
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<Y>,
        y: &mut Vector<X>,
        ws: &Workspace,
    ) -> Result<()> {
        let size = self.size().transposed();
        check_apply("transposed csr product", size, self.executor(), x, y)?;
        let (a, cols) = (self.arrays()?, x.cols());
        let mut sums =
            ws.vector::<<M as Mixes<Y, X>>::Accumulator>(self.executor(), size.rows, cols)?;
        let conjugate = mode == Transpose::Conjugate;
        let sums = sums.host_mut()?;
        reference::csr::apply_transposed(conjugate, a, x.host()?, y.host_mut()?, cols, sums);
        Ok(())
    }

    fn csr(&self) -> Option<Cow<'_, Csr<X>>> {
        if let Some(same) = (self as &dyn std::any::Any).downcast_ref::<Csr<X>>() {
            return Some(Cow::Borrowed(same));
        }
        self.convert().ok().map(Cow::Owned)
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            held: self.bytes(),
            moved: self.bytes(),
        }
    }
}
