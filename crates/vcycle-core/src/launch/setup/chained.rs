//! Products of two prolongations with short rows.

use super::Queue;
use super::binned::gathered_rows;
use crate::arrays::Csr;
use crate::error::Result;
use crate::gpu::kernels::chained as kernels;
use crate::size::Size;

/// Entries of a row of both, as in the kernel.
const MOST: usize = 4;

/// `near far`, of whose rows the `max_elements` largest entries are kept that are not smaller than `factor` times the largest. None where rows
/// were not cut to so few before.
pub fn product(
    queue: Queue<'_>,
    near: &Csr<f64>,
    far: &Csr<f64>,
    (max_elements, factor): (usize, f64),
) -> Result<Option<Csr<f64>>> {
    if !(1..=MOST).contains(&max_elements) {
        return Ok(None);
    }
    let rows = near.size().rows;
    let mut lengths = queue.room::<u32>(rows)?;
    let mut loose = queue.room::<u32>(rows * max_elements)?;
    let mut weights = queue.room::<f64>(rows * max_elements)?;
    kernels::chained_rows(
        rows,
        near,
        far,
        max_elements,
        factor,
        &mut lengths,
        &mut loose,
        &mut weights,
    )?
    .rows(&queue, (rows, 1))?;
    let size = Size::new(rows, far.size().cols);
    let (lengths, loose) = ((&lengths, max_elements), (None, &loose, &weights));
    gathered_rows(queue, size, lengths, None, loose).map(Some)
}
