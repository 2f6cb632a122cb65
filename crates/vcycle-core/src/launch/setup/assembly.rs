//! Triplets become entries.

use super::Queue;
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::kernels::assembly as kernels;
use crate::scalar::Scalar;
use crate::size::Size;

/// Where entries stand, their triplets one after the other, and where those of each begin.
pub(crate) struct Sorted {
    /// The entries.
    pub(crate) pattern: Pattern,
    /// Triplets by row, then by column, then as they were given.
    pub(crate) order: Buffer<u32>,
    /// Places in that order; at the end the number of triplets.
    pub(crate) starts: Buffer<usize>,
}

impl Queue<'_> {
    /// The place of the first index that is not below a limit.
    pub(crate) fn first_beyond(
        &self,
        indices: &Buffer<u32>,
        limit: usize,
    ) -> Result<Option<usize>> {
        let mut first = self.filled(1, u32::MAX)?;
        let len = indices.len();
        kernels::check_indices(len, limit, indices, &mut first)?.items(self, len)?;
        let first = first.get(0)?;
        Ok((first != u32::MAX).then_some(first as usize))
    }

    /// Sorts triplets whose indices are in range: by column, then by row, each time by counting.
    pub(crate) fn sort_triplets(
        &self,
        size: Size,
        rows: &Buffer<u32>,
        columns: &Buffer<u32>,
    ) -> Result<Sorted> {
        let len = rows.len();
        let (_, by_column) = self.bucketed(columns, size.cols)?;
        let (triplets, places) = self.bucketed(&self.gathered(&by_column, rows)?, size.rows)?;
        let order = self.gathered(&places, &by_column)?;
        let mut marks = self.room(len)?;
        kernels::mark_first(len, &order, rows, columns, &mut marks)?.items(self, len)?;
        let (entries, count) = self.offsets(&marks)?;
        let (mut found, mut starts) = (self.room(count)?, self.zeros::<usize>(count + 1)?);
        kernels::fill_entries(
            len,
            &order,
            columns,
            &marks,
            &entries,
            &mut found,
            &mut starts,
        )?
        .items(self, len)?;
        let mut offsets = self.room(size.rows + 1)?;
        kernels::row_offsets(size.rows + 1, &triplets, &entries, &mut offsets)?
            .items(self, size.rows + 1)?;
        Ok(Sorted {
            pattern: Pattern::of_buffers(size, offsets, found),
            order,
            starts,
        })
    }

    /// Where each index begins, and the places that have it, in order: those of a matrix with one entry a place, transposed.
    pub(super) fn bucketed(
        &self,
        indices: &Buffer<u32>,
        limit: usize,
    ) -> Result<(Buffer<usize>, Buffer<u32>)> {
        let len = indices.len();
        let mut offsets = self.room(len + 1)?;
        kernels::count_up(len + 1, &mut offsets)?.items(self, len + 1)?;
        let single = Pattern::of_buffers(Size::new(len, limit), offsets, indices.clone());
        let buckets = self.transpose_pattern(&single)?;
        let (offsets, places) = buckets.buffers();
        Ok((offsets.clone(), places.clone()))
    }

    pub(super) fn gathered(&self, places: &Buffer<u32>, from: &Buffer<u32>) -> Result<Buffer<u32>> {
        let mut out = self.room(places.len())?;
        kernels::gather(places.len(), places, from, &mut out)?.items(self, places.len())?;
        Ok(out)
    }

    /// The sums of the triplets of every entry.
    pub(crate) fn sum_triplets<T: Scalar>(
        &self,
        order: &Buffer<u32>,
        starts: &Buffer<usize>,
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        let entries = starts.len() - 1;
        let mut out = self.room(entries)?;
        self.gpu.real(T::KIND)?;
        kernels::sum_triplets(entries, starts, order, values, &mut out)?.items(self, entries)?;
        Ok(out)
    }
}
