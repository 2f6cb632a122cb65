//! Triplets become entries.

use vcycle_kernels::compiled_fn;

use super::{on_device, on_real_device};
use crate::error::Result;
use crate::executor::Buffer;
use crate::scalar::Scalar;
use crate::size::Size;

pub(crate) use crate::launch::setup::Sorted;

/// The place of the first index that is not below a limit.
pub(crate) fn first_beyond(indices: &Buffer<u32>, limit: usize) -> Result<Option<Option<usize>>> {
    on_device(indices.executor(), |queue| {
        queue.first_beyond(indices, limit)
    })
}

/// Triplets whose indices are in range, sorted.
pub(crate) fn sorted(
    size: Size,
    rows: &Buffer<u32>,
    columns: &Buffer<u32>,
) -> Result<Option<Sorted>> {
    on_device(rows.executor(), |queue| {
        queue.sort_triplets(size, rows, columns)
    })
}

compiled_fn! {
    /// The sums of the triplets of every entry.
    pub(crate) fn sums[any T: Scalar](
        order: &Buffer<u32>,
        starts: &Buffer<usize>,
        values: &Buffer<T>,
    ) -> Result<Option<Buffer<T>>> {
        on_real_device::<T, _>(values.executor(), |queue| queue.sum_triplets(order, starts, values))
    }
}
