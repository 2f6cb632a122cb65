//! Products of two prolongations with short rows.

use crate::gpu::kernels::chained as kernels;
use crate::launch::prelude::*;

/// Entries of a row of both, as in the kernel.
const MOST: usize = 4;

/// `near far`, two prolongations whose rows were cut by these limits: of its rows the `max_elements` largest entries are kept that are not smaller than
/// `factor` times the largest. None, too, where rows were not cut to so few before.
pub fn chained(
    near: &Csr<f64>,
    far: &Csr<f64>,
    (max_elements, factor): (usize, f64),
) -> Result<Option<Csr<f64>>> {
    let queue = Queue::of(near.executor()).filter(|_| (1..=MOST).contains(&max_elements));
    let Some(queue) = queue else {
        return Ok(None);
    };
    let rows = near.size().rows;
    let entries = rows * max_elements;
    let mut loose = queue.loose_rows((None, max_elements), entries, queue.uninit(rows)?)?;
    kernels::chained_rows(
        rows,
        near,
        far,
        max_elements,
        factor,
        &mut loose.lengths,
        &mut loose.columns,
        &mut loose.values,
    )?
    .rows(&queue, (rows, 1))?;
    let size = Size::new(rows, far.size().cols);
    queue.gathered_rows(size, &loose, None).map(Some)
}
