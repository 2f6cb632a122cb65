//! The two orders of several unknowns a cell: cell by cell outside, unknown by unknown in kernels.
//!
//! Kernels want the numbers of one unknown along a line side by side, solvers and CSR matrices those of
//! one cell.

use crate::error::Result;
use crate::executor::Workspace;
use crate::scalar::Scalar;
use crate::vector::Vector;

/// Unknown by unknown, from cell by cell.
pub(super) fn separate<V: Copy>(unknowns: usize, rows: &[V], fields: &mut [V]) {
    let cells = rows.len() / unknowns;
    for (unknown, field) in fields.chunks_mut(cells).enumerate() {
        let from = rows.iter().skip(unknown).step_by(unknowns);
        field
            .iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = *from);
    }
}

/// Cell by cell, from unknown by unknown.
pub(super) fn interleave<V: Copy>(unknowns: usize, fields: &[V], rows: &mut [V]) {
    let cells = rows.len() / unknowns;
    for (unknown, field) in fields.chunks(cells).enumerate() {
        let to = rows.iter_mut().skip(unknown).step_by(unknowns);
        to.zip(field).for_each(|(to, from)| *to = *from);
    }
}

/// `work` on vectors that are unknown by unknown, for vectors that are cell by cell; both are read.
pub(super) fn as_fields<V: Scalar>(
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
    separate(unknowns, x.host()?, input.host_mut()?);
    separate(unknowns, y.host()?, output.host_mut()?);
    work(&input, &mut output)?;
    interleave(unknowns, output.host()?, y.host_mut()?);
    Ok(())
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
    interleave(unknowns, x.host()?, input.host_mut()?);
    work(&input, &mut output)?;
    separate(unknowns, output.host()?, y.host_mut()?);
    Ok(())
}
