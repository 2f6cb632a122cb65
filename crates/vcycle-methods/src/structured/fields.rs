//! Conversion between the two orders of vectors with several unknowns per cell.
//!
//! Solvers and CSR matrices store the numbers of one cell side by side. Kernels store those of one unknown side by
//! side, so that a register is filled with neighbours along a line.

use crate::error::Result;
use crate::executor::Workspace;
use crate::operations::strided::{to_fields, to_rows};
use crate::reference::stencil::Start;
use crate::scalar::Scalar;
use crate::vector::Vector;

/// `work` on vectors that are unknown by unknown, for vectors that are cell by cell; what `y` holds is read
/// where it is a guess.
pub(super) fn as_fields<V: Scalar>(
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
    to_fields(unknowns, x, &mut input)?;
    if start == Start::Guess {
        to_fields(unknowns, y, &mut output)?;
    }
    work(&input, &mut output)?;
    to_rows(unknowns, &output, y)
}

/// The other way round: `work` wants vectors cell by cell. What `y` held is not read.
pub(super) fn as_rows<V: Scalar>(
    unknowns: usize,
    x: &Vector<V>,
    y: &mut Vector<V>,
    ws: &Workspace,
    work: impl FnOnce(&Vector<V>, &mut Vector<V>) -> Result<()>,
) -> Result<()> {
    if unknowns == 1 {
        return work(x, y);
    }
    let mut input = ws.vector_like::<V, V>(x)?;
    let mut output = ws.vector_like::<V, V>(y)?;
    to_rows(unknowns, x, &mut input)?;
    work(&input, &mut output)?;
    to_fields(unknowns, &output, y)
}
