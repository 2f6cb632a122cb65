//! Conversion between the two orders of vectors with several unknowns per cell.
//!
//! Solvers and CSR matrices store the numbers of one cell side by side. Kernels store those of one unknown side by
//! side, so that a register is filled with neighbours along a line.

use crate::backend::gpu::strided::{self, Places};
use crate::backend::reference::stencil::Start;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::scalar::Scalar;
use crate::vector::Vector;

/// Cells that are done at a time.
const BLOCK: usize = 512;

/// Unknown by unknown, from cell by cell.
pub(crate) fn separate<V: Copy>(unknowns: usize, rows: &[V], fields: &mut [V]) {
    match unknowns {
        1 => fields.copy_from_slice(rows),
        2 => separate_cells::<2, V>(rows, fields),
        3 => separate_cells::<3, V>(rows, fields),
        _ => separate_cells::<4, V>(rows, fields),
    }
}

fn separate_cells<const R: usize, V: Copy>(rows: &[V], fields: &mut [V]) {
    let cells = rows.len() / R;
    for (block, rows) in rows.chunks(BLOCK * R).enumerate() {
        for unknown in 0..R {
            let field = &mut fields[unknown * cells + block * BLOCK..][..rows.len() / R];
            let from = rows.chunks_exact(R);
            field
                .iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to = from[unknown]);
        }
    }
}

/// Cell by cell, from unknown by unknown.
pub(crate) fn interleave<V: Copy>(unknowns: usize, fields: &[V], rows: &mut [V]) {
    match unknowns {
        1 => rows.copy_from_slice(fields),
        2 => interleave_cells::<2, V>(fields, rows),
        3 => interleave_cells::<3, V>(fields, rows),
        _ => interleave_cells::<4, V>(fields, rows),
    }
}

fn interleave_cells<const R: usize, V: Copy>(fields: &[V], rows: &mut [V]) {
    let cells = rows.len() / R;
    for (block, rows) in rows.chunks_mut(BLOCK * R).enumerate() {
        for unknown in 0..R {
            let field = &fields[unknown * cells + block * BLOCK..][..rows.len() / R];
            let to = rows.chunks_exact_mut(R);
            to.zip(field).for_each(|(to, from)| to[unknown] = *from);
        }
    }
}

fn to_fields<V: Scalar>(unknowns: usize, rows: &Vector<V>, fields: &mut Vector<V>) -> Result<()> {
    let Executor::Gpu(gpu) = rows.executor() else {
        separate(unknowns, rows.host()?, fields.host_mut()?);
        return Ok(());
    };
    let cells = rows.rows() / unknowns;
    (0..unknowns).try_for_each(|unknown| {
        let from = Places::column(unknown, unknowns);
        let to = Places::from(unknown * cells);
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
        let from = Places::from(unknown * cells);
        let to = Places::column(unknown, unknowns);
        strided::copy(gpu, cells, (fields, from), (rows, to))
    })
}

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
