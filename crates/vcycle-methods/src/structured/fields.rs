//! Conversion between the two orders of vectors with several unknowns per cell.
//!
//! Solvers and CSR matrices store the numbers of one cell side by side. Kernels store those of one unknown side by
//! side, so that a register is filled with neighbours along a line. Vectors of several columns are done column by column.

use super::exchange::LevelExchange;
use super::{StencilMatrix, Storage};
use crate::cpu::stencil::Vectors;
use crate::linop::Sweep;
use crate::operations::Finish;
use crate::operations::strided::{to_fields, to_rows};
use crate::prelude::*;
use crate::reference::stencil::Start;

/// `work` on vectors that are unknown by unknown, for vectors that are cell by cell; what `y` holds is read
/// where it is a guess.
pub(super) fn as_fields<V: Scalar>(
    unknowns: usize,
    x: &Vector<V>,
    (y, start): (&mut Vector<V>, Start),
    ws: &Workspace,
    work: impl FnOnce(&Vector<V>, &mut Vector<V>) -> Result<()>,
) -> Result<()> {
    reordered([to_fields, to_rows], unknowns, x, (y, start), ws, work)
}

/// Puts the numbers of so many unknowns into another order.
type Reorder<V> = fn(usize, &Vector<V>, &mut Vector<V>) -> Result<()>;

/// `work` on vectors in another order.
fn reordered<V: Scalar>(
    [enter, leave]: [Reorder<V>; 2],
    unknowns: usize,
    x: &Vector<V>,
    (y, start): (&mut Vector<V>, Start),
    ws: &Workspace,
    work: impl FnOnce(&Vector<V>, &mut Vector<V>) -> Result<()>,
) -> Result<()> {
    if unknowns == 1 {
        return work(x, y);
    }
    let mut input = ws.vector_like::<V, V>(x)?;
    let mut output = ws.vector_like::<V, V>(y)?;
    enter(unknowns, x, &mut input)?;
    if start == Start::Guess {
        enter(unknowns, y, &mut output)?;
    }
    work(&input, &mut output)?;
    leave(unknowns, &output, y)
}

/// A matrix as an operator on single vectors that are unknown by unknown; where ranks share it, results may be exchanged.
#[derive(Debug)]
pub(super) struct InFields<M> {
    pub(super) a: Arc<StencilMatrix<M>>,
    pub(super) exchange: Option<Arc<LevelExchange>>,
}

impl<M: Storage> InFields<M> {
    fn product<V: Vectors>(
        &self,
        finish: &Finish<'_, V>,
        x: &Vector<V>,
        y: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.a.column(finish, x, y)?;
        match &self.exchange {
            Some(exchange) => exchange.refresh(y, ws),
            None => Ok(()),
        }
    }
}

impl<M: Storage, V: Vectors> LinOp<V> for InFields<M> {
    forward!(a: size, executor);

    fn apply(&self, x: &Vector<V>, y: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        self.product(&Finish::Apply, x, y, ws)
    }

    fn residual(
        &self,
        b: &Vector<V>,
        x: &Vector<V>,
        r: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.product(&Finish::residual(b), x, r, ws)
    }

    fn relax(
        &self,
        sweep: Sweep<'_, V>,
        x: &Vector<V>,
        y: &mut Vector<V>,
        ws: &Workspace,
    ) -> Result<()> {
        self.product(&Finish::Relax(sweep), x, y, ws)
    }

    fn footprint(&self) -> Footprint {
        Footprint::of_bytes(self.a.bytes())
    }
}

/// An operator on vectors cell by cell as one on single vectors that are unknown by unknown.
#[derive(Debug)]
pub(super) struct InRows<V: Scalar> {
    pub(super) unknowns: usize,
    pub(super) inner: Arc<dyn LinOp<V>>,
}

impl<V: Scalar> LinOp<V> for InRows<V> {
    forward!(inner: size, executor, footprint);

    fn apply(&self, x: &Vector<V>, y: &mut Vector<V>, ws: &Workspace) -> Result<()> {
        let orders: [Reorder<V>; 2] = [to_rows, to_fields];
        let y = (y, Start::Zero);
        reordered(orders, self.unknowns, x, y, ws, |x, y| {
            self.inner.apply(x, y, ws)
        })
    }
}
