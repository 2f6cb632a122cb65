//! Copies of numbers at equal distances: columns of vectors, and the two orders of several unknowns a cell.

use vcycle_kernels::compiled_fn;

use crate::fields::{interleave, separate};
use crate::gpu::{BLOCK, kernels::strided as kernels};
use crate::launch::prelude::*;

/// Rows of a vector in a piece of work.
const ROWS: usize = 1024;

compiled_fn! {
    /// Columns `from` of a vector become columns `to` of another.
    pub fn copy_columns[any V: Scalar](
        source: (&Vector<V>, &[usize]),
        target: (&mut Vector<V>, &[usize]),
    ) -> Result<()> {
        let ((x, from), (out, to)) = (source, target);
        let (wide, cols) = (x.cols(), out.cols());
        if let Executor::Gpu(gpu) = x.executor() {
            return from.iter().zip(to).try_for_each(|(&from, &to)| {
                let (from, to) = (Places::column(from, wide), Places::column(to, cols));
                copy(gpu, x.rows(), (x, from), (&mut *out, to))
            });
        }
        let rows = |first: usize, out: &mut [V], x: &[V]| {
            let x = x[first / cols * wide..].chunks_exact(wide);
            for (out, x) in out.chunks_exact_mut(cols).zip(x) {
                from.iter().zip(to).for_each(|(&from, &to)| out[to] = x[from]);
            }
        };
        match x.executor() {
            Executor::Cpu(threads) => {
                let (x, out) = (x.host()?, out.host_mut()?);
                threads.for_pieces(out, ROWS * cols, &|first, out: &mut [V]| {
                    rows(first, out, x);
                });
            }
            _ => rows(0, out.host_mut()?, x.host()?),
        }
        Ok(())
    }
}

compiled_fn! {
    /// From the numbers of one cell side by side to those of one unknown.
    pub fn to_fields[any V: Scalar](
        unknowns: usize,
        rows: &Vector<V>,
        fields: &mut Vector<V>,
    ) -> Result<()> {
        let Executor::Gpu(gpu) = rows.executor() else {
            separate(unknowns, rows.host()?, fields.host_mut()?);
            return Ok(());
        };
        let cells = rows.rows() / unknowns;
        (0..unknowns).try_for_each(|unknown| {
            let from = Places::column(unknown, unknowns);
            let to = Places::from(unknown * cells);
            copy(gpu, cells, (rows, from), (fields, to))
        })
    }
}

compiled_fn! {
    /// From the numbers of one unknown side by side to those of one cell.
    pub fn to_rows[any V: Scalar](unknowns: usize, fields: &Vector<V>, rows: &mut Vector<V>) -> Result<()> {
        let Executor::Gpu(gpu) = fields.executor() else {
            interleave(unknowns, fields.host()?, rows.host_mut()?);
            return Ok(());
        };
        let cells = rows.rows() / unknowns;
        (0..unknowns).try_for_each(|unknown| {
            let from = Places::from(unknown * cells);
            let to = Places::column(unknown, unknowns);
            copy(gpu, cells, (fields, from), (rows, to))
        })
    }
}

/// Where numbers are: at `first`, `first + stride`, ...
#[derive(Clone, Copy, Debug)]
struct Places {
    /// The place of the first number.
    first: usize,
    /// The distance between two.
    stride: usize,
}

impl Places {
    /// The numbers of column `place` of `count`, row after row.
    fn column(place: usize, count: usize) -> Self {
        Self {
            first: place,
            stride: count,
        }
    }

    /// Numbers side by side.
    fn from(first: usize) -> Self {
        Self { first, stride: 1 }
    }
}

/// Copies `n` numbers of a vector to places of another.
fn copy<T: Scalar>(
    gpu: &Gpu,
    n: usize,
    (x, from): (&Vector<T>, Places),
    (y, to): (&mut Vector<T>, Places),
) -> Result<()> {
    let (x, y) = (x.pass()?.at(from.first), y.pass()?.at(to.first));
    kernels::strided_copy(n, from.stride, x, to.stride, y)?
        .run(gpu, n.div_ceil(BLOCK as usize).max(1))
}
