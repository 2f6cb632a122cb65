//! Products with a CSR matrix, in every combination of precisions.

use std::borrow::Cow;

use vcycle_kernels::compiled;

use crate::arrays::TILE;
use crate::linop::{Footprint, LinOp, Transpose, check_apply};
use crate::matrix::finished::{check, finished_products};
use crate::operations::Finish;
use crate::operations::csr as operations;
use crate::prelude::*;
use crate::reference::csr::CsrArrays;

impl<T: Scalar> Csr<T> {
    /// The arrays, for kernels of host executors.
    #[doc(hidden)]
    pub fn arrays(&self) -> Result<CsrArrays<'_, T>> {
        Ok(CsrArrays {
            offsets: self.offsets(),
            columns: self.columns(),
            values: self.values.host()?,
        })
    }

    /// The arrays, for loops over rows: looked up once, not for every row.
    #[doc(hidden)]
    pub fn at_hand(&self) -> CsrArrays<'_, T> {
        self.arrays().expect("the device still answers")
    }

    /// Whether the host has the arrays without copying them from a device.
    #[doc(hidden)]
    pub fn is_at_hand(&self) -> bool {
        let (offsets, columns) = self.pattern.buffers();
        offsets.is_at_hand() && columns.is_at_hand() && self.values.is_at_hand()
    }

    /// Makes what products with it take on its device, so that the first one does not wait for it.
    pub fn prepare(&self) -> Result<()> {
        operations::prepare(self)
    }

    /// Rows and columns of the blocks in which its device multiplies with it; none where it does so row by row, and on the
    /// host.
    pub fn device_block(&self) -> Result<Option<Size>> {
        operations::device_block(self, 1)
    }

    /// The same matrix, with which its device multiplies in blocks of at most six rows and columns, or row by row; by
    /// itself it chooses.
    pub fn on_device_in(&self, block: Option<Size>) -> Result<Self> {
        operations::laid_out(self, block)
    }

    /// The same matrix, with which its device multiplies in [tiles](super::super::Mbsr) of 4 by 4.
    pub fn in_tiles(&self) -> Result<Self> {
        operations::laid_out(self, Some(TILE))
    }

    fn finished<X: Scalar, Y: Scalar>(
        &self,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
        _ws: &Workspace,
    ) -> Result<()>
    where
        T: Mixes<X, Y>,
    {
        check("csr product", (self.size(), self.executor()), x, finish, y)?;
        operations::multiply(self, x, finish, y)
    }

    /// Whether the layout for products with it is made already.
    #[doc(hidden)]
    pub fn is_placed(&self) -> bool {
        self.copies.placed.get().is_some()
    }
}

impl<M: Scalar> Csr<M> {
    /// The matrix as an operator on vectors of any types. The functions of the operator are compiled here.
    #[doc(hidden)]
    pub fn operator<X: Scalar, Y: Scalar>(self: Arc<Self>) -> Arc<dyn LinOp<X, Y>>
    where
        M: Mixes<X, Y> + Mixes<Y, X>,
    {
        compiled!(products M, X, Y: fn(Arc<Csr<M>>) -> Arc<dyn LinOp<X, Y>> = |a| a)(self)
    }
}

impl<M: Mixes<X, Y> + Mixes<Y, X>, X: Scalar, Y: Scalar> LinOp<X, Y> for Csr<M> {
    finished_products!(X, Y, relax);

    fn stored_as(&self) -> Option<String> {
        operations::stored_as(self).ok()
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
        operations::multiply_transposed(self, mode, x, y, ws)
    }

    fn csr(&self) -> Option<Cow<'_, Csr<X>>> {
        if let Some(same) = (self as &dyn std::any::Any).downcast_ref::<Csr<X>>() {
            return Some(Cow::Borrowed(same));
        }
        self.convert().ok().map(Cow::Owned)
    }

    fn footprint(&self) -> Footprint {
        Footprint::of_bytes(self.bytes())
    }
}
