//! The SELL-P arrays: an ELL matrix for every slice.

use super::ell::EllArrays;
use crate::scalar::Scalar;

/// The arrays of a SELL-P matrix: slices of `slice_rows` rows, each an ELL matrix of its own.
#[derive(Clone, Copy)]
pub struct SellPArrays<'a, M> {
    /// Rows of a slice.
    pub slice_rows: usize,
    /// For every slice the place of its first slot, and at the end the number of slots.
    pub offsets: &'a [usize],
    /// The column of every slot, [`PADDING`](super::ell::PADDING) where it holds no entry.
    pub columns: &'a [u32],
    /// The value of every slot.
    pub values: &'a [M],
}

impl<'a, M: Scalar> SellPArrays<'a, M> {
    /// One slice as an ELL matrix.
    pub fn slice(self, slice: usize) -> EllArrays<'a, M> {
        let slots = self.offsets[slice]..self.offsets[slice + 1];
        EllArrays {
            stride: self.slice_rows,
            columns: &self.columns[slots.clone()],
            values: &self.values[slots],
        }
    }

    /// `add(slice, first, sums)` for the parts of the rows from `first` on that share a slice;
    /// rows count from the start of the slice.
    pub fn for_each_slice<S>(
        self,
        mut first: usize,
        mut sums: &mut [S],
        mut add: impl FnMut(EllArrays<'a, M>, usize, &mut [S]),
    ) {
        while !sums.is_empty() {
            let (slice, row) = (first / self.slice_rows, first % self.slice_rows);
            let count = sums.len().min(self.slice_rows - row);
            let (here, rest) = sums.split_at_mut(count);
            add(self.slice(slice), row, here);
            first += count;
            sums = rest;
        }
    }
}
