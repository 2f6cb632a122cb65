//! Triplets become entries.

use super::{Queue, number, read, write};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, kernel_file};
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = kernel_file!("assembly.c");
/// Kernels without values are compiled with this.
const PLAIN: [Define; 1] = [("T", "f64")];

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
        let arguments = [
            number(len),
            number(limit),
            read(indices)?,
            write(&mut first)?,
        ];
        self.items(FILE, "check_indices", &PLAIN, len, &arguments)?;
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
        let operands = [number(len), read(&order)?, read(rows)?, read(columns)?];
        let arguments = [&operands[..], &[write(&mut marks)?]].concat();
        self.items(FILE, "mark_first", &PLAIN, len, &arguments)?;
        let (entries, count) = self.offsets(&marks)?;
        let (mut found, mut starts) = (self.room(count)?, self.zeros::<usize>(count + 1)?);
        let arguments = [
            number(len),
            read(&order)?,
            read(columns)?,
            read(&marks)?,
            read(&entries)?,
            write(&mut found)?,
            write(&mut starts)?,
        ];
        self.items(FILE, "fill_entries", &PLAIN, len, &arguments)?;
        let mut offsets = self.room(size.rows + 1)?;
        let operands = [number(size.rows + 1), read(&triplets)?, read(&entries)?];
        let arguments = [&operands[..], &[write(&mut offsets)?]].concat();
        self.items(FILE, "row_offsets", &PLAIN, size.rows + 1, &arguments)?;
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
        let arguments = [number(len + 1), write(&mut offsets)?];
        self.items(FILE, "count_up", &PLAIN, len + 1, &arguments)?;
        let single = Pattern::of_buffers(Size::new(len, limit), offsets, indices.clone());
        let buckets = self.transpose_pattern(&single)?;
        let (offsets, places) = buckets.buffers();
        Ok((offsets.clone(), places.clone()))
    }

    pub(super) fn gathered(&self, places: &Buffer<u32>, from: &Buffer<u32>) -> Result<Buffer<u32>> {
        let mut out = self.room(places.len())?;
        let len = number(places.len());
        let arguments = [len, read(places)?, read(from)?, write(&mut out)?];
        self.items(FILE, "gather", &PLAIN, places.len(), &arguments)?;
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
        let operands = [number(entries), read(starts)?, read(order)?, read(values)?];
        let arguments = [&operands[..], &[write(&mut out)?]].concat();
        let types = [("T", self.gpu.real(T::KIND)?)];
        self.items(FILE, "sum_triplets", &types, entries, &arguments)?;
        Ok(out)
    }
}
