//! The two orders of several unknowns a cell: cell by cell outside, unknown by unknown in kernels.
//!
//! Kernels want the numbers of one unknown along a line side by side, solvers and CSR matrices those of
//! one cell.

use crate::backend::gpu::strided::{self, Places};
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::scalar::Scalar;
use crate::vector::Vector;

/// Unknown by unknown, from cell by cell.
fn separate<V: Copy>(unknowns: usize, rows: &[V], fields: &mut [V]) {
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

fn to_fields<V: Scalar>(unknowns: usize, rows: &Vector<V>, fields: &mut Vector<V>) -> Result<()> {
    let Executor::Gpu(gpu) = rows.executor() else {
        separate(unknowns, rows.host()?, fields.host_mut()?);
        return Ok(());
    };
    let cells = rows.rows() / unknowns;
    (0..unknowns).try_for_each(|unknown| {
        let (from, to) = (
            Places::column(unknown, unknowns),
            Places::from(unknown * cells),
        );
        strided::copy(gpu, cells, (rows, from), (fields, to))
    })
}

fn to_rows<V: Scalar>(unknowns: usize, fields: &Vector<V>, rows: &mut Vector<V>) -> Result<()> {
    let Executor::Gpu(gpu) = fields.executor() else {
        interleave(unknowns, fields.host()?, rows.host_mut()?);
        return Ok(());
    };
    let cells = rows.rows() / unknowns;
    (0..unknowns).try_for_each(|unknown| {
        let (from, to) = (
            Places::from(unknown * cells),
            Places::column(unknown, unknowns),
        );
        strided::copy(gpu, cells, (fields, from), (rows, to))
    })
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
    to_fields(unknowns, x, &mut input)?;
    to_fields(unknowns, y, &mut output)?;
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
