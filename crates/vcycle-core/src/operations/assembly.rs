//! Triplets become entries.

use vcycle_kernels::compiled_fn;

use super::{on_device, on_real_device};
use crate::gpu::kernels::assembly as kernels;
use crate::launch::prelude::*;

/// Where entries stand, their triplets one after the other, and where those of each begin.
pub(crate) struct Sorted {
    /// The entries.
    pub(crate) pattern: Pattern,
    /// Triplets by row, then by column, then as they were given.
    pub(crate) order: Buffer<u32>,
    /// Places in that order; at the end the number of triplets.
    pub(crate) starts: Buffer<usize>,
}

/// The place of the first index that is not below a limit.
pub(crate) fn first_beyond(indices: &Buffer<u32>, limit: usize) -> Result<Option<Option<usize>>> {
    on_device(indices.executor(), |queue| {
        let (len, mut first) = (indices.len(), queue.filled(1, u32::MAX)?);
        kernels::check_indices(len, limit, indices, &mut first)?.items(&queue, len)?;
        let first = first.get(0)?;
        Ok((first != u32::MAX).then_some(first as usize))
    })
}

/// Sorts triplets whose indices are in range: by column, then by row, each time by counting.
pub(crate) fn sorted(
    size: Size,
    rows: &Buffer<u32>,
    columns: &Buffer<u32>,
) -> Result<Option<Sorted>> {
    on_device(rows.executor(), |queue| {
        let len = rows.len();
        let (_, by_column) = queue.bucketed(columns, size.cols)?;
        let (triplets, places) = queue.bucketed(&queue.gathered(&by_column, rows)?, size.rows)?;
        let order = queue.gathered(&places, &by_column)?;
        let mut marks = queue.uninit(len)?;
        kernels::mark_first(len, &order, rows, columns, &mut marks)?.items(&queue, len)?;
        let (entries, count) = queue.offsets(&marks)?;
        let (mut found, mut starts) = (queue.uninit(count)?, queue.zeros::<usize>(count + 1)?);
        let (to, begin) = (&mut found, &mut starts);
        kernels::fill_entries(len, &order, columns, &marks, &entries, to, begin)?
            .items(&queue, len)?;
        let mut offsets = queue.uninit(size.rows + 1)?;
        kernels::row_offsets(size.rows + 1, &triplets, &entries, &mut offsets)?
            .items(&queue, size.rows + 1)?;
        Ok(Sorted {
            pattern: Pattern::of_buffers(size, offsets, found),
            order,
            starts,
        })
    })
}

compiled_fn! {
    /// The sums of the triplets of every entry.
    pub(crate) fn sums[any T: Scalar](
        order: &Buffer<u32>,
        starts: &Buffer<usize>,
        values: &Buffer<T>,
    ) -> Result<Option<Buffer<T>>> {
        on_real_device::<T, _>(values.executor(), |queue| {
            let (entries, mut out) = (starts.len() - 1, queue.uninit(starts.len() - 1)?);
            kernels::sum_triplets(entries, starts, order, values, &mut out)?
                .items(&queue, entries)?;
            Ok(out)
        })
    }
}

impl Queue<'_> {
    /// Where each index begins, and the places that have it, in order: those of a matrix with one entry a place, transposed.
    pub(crate) fn bucketed(
        &self,
        indices: &Buffer<u32>,
        limit: usize,
    ) -> Result<(Buffer<usize>, Buffer<u32>)> {
        let len = indices.len();
        let mut offsets = self.uninit(len + 1)?;
        kernels::count_up(len + 1, &mut offsets)?.items(self, len + 1)?;
        let single = Pattern::of_buffers(Size::new(len, limit), offsets, indices.clone());
        let buckets = self.transpose_pattern(&single)?;
        let (offsets, places) = buckets.buffers();
        Ok((offsets.clone(), places.clone()))
    }

    pub(crate) fn gathered(&self, places: &Buffer<u32>, from: &Buffer<u32>) -> Result<Buffer<u32>> {
        let mut out = self.uninit(places.len())?;
        kernels::gather(places.len(), places, from, &mut out)?.items(self, places.len())?;
        Ok(out)
    }
}
