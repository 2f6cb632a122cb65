//! Inverses of small matrices.

use crate::gpu::kernels::invert as kernels;
use crate::launch::prelude::*;
use crate::operations::on_device;

/// Columns of a panel, and the rows of so many columns that local memory has room for.
const PANELS: [[usize; 2]; 3] = [[16, 256], [8, 512], [8, 0]];

/// When an entry becomes a pivot.
#[derive(Clone, Copy, Debug)]
pub struct Pivoting {
    /// Another entry of the column takes the place of the diagonal if it is larger by this factor.
    pub factor: f64,
    /// What is not larger than this, relative to the largest entry of its row, counts as zero.
    pub zero: f64,
}

/// The dense inverse of a small matrix on an executor, wherever that is, row by row; rows and columns of unknowns without a pivot are zero. None
/// where that is of the host, which has factors instead.
pub fn inverse<T: Scalar>(
    executor: &Executor,
    a: &Csr<f64>,
    pivoting: Pivoting,
) -> Result<Option<Buffer<T>>> {
    on_device(executor, |queue| {
        let moved = match a.executor().is_device() {
            true => None,
            false => Some(a.copy_to(executor)?),
        };
        let (a, n) = (moved.as_ref().unwrap_or(a), a.size().rows);
        let fits = |&&[_, rows]: &&[usize; 2]| n <= rows;
        let [panel, local] = *PANELS.iter().find(fits).unwrap_or(&PANELS[2]);
        queue.gpu.real(T::KIND)?;
        let shape = [("PANEL", literal(panel)), ("LOCAL_ROWS", literal(local))];
        let defines = [&shape[..], &[("T", T::NAME)]].concat();
        let mut values = queue.zeros::<f64>(n * (n + 2))?;
        kernels::invert_start(n, pivoting.zero, a, &mut values)?
            .with(&defines)
            .items(&queue, n)?;
        let values = eliminated(queue, (values, n), panel, pivoting.factor, &defines)?;
        let mut inverse = queue.uninit(n * n)?;
        kernels::invert_end(n, &values, &mut inverse)?
            .with(&shape)
            .items(&queue, n * n)?;
        Ok(inverse)
    })
}

/// What a matrix of `n` rows becomes, its columns in the order of the pivots; `panel` columns are eliminated between two passes
/// over the others.
fn eliminated(
    queue: Queue<'_>,
    (mut values, n): (Buffer<f64>, usize),
    panel: usize,
    pivoting: f64,
    defines: &[Define],
) -> Result<Buffer<f64>> {
    let mut next = queue.uninit::<f64>(values.len())?;
    let mut columns = queue.uninit::<f64>(n * (panel + 1))?;
    let mut source = queue.uninit::<u32>(n)?;
    for first in (0..n + panel).step_by(panel) {
        // There is nothing to update before the first panel.
        let (before, after, items) = match first {
            0 => (Read::default(), values.pointer_mut()?, 1),
            _ => (values.pointer()?, next.pointer_mut()?, values.len()),
        };
        kernels::invert_step(
            n,
            first,
            pivoting,
            before,
            after,
            &mut columns,
            &mut source,
            queue.gpu.counter(),
        )?
        .with(defines)
        .items(&queue, items)?;
        if first > 0 {
            std::mem::swap(&mut values, &mut next);
        }
    }
    Ok(values)
}
