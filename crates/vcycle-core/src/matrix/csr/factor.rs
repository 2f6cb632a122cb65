//! The rows of a factor of a product.

use super::accumulator::{Numbers, Values};
use crate::prelude::*;

/// What a product asks of the factor on its right. The functions are inlined by their mark, as those of [`Numbers`].
pub(super) trait Factor<V>: Copy + Sync + Send {
    type Numbers: Numbers<V>;
    /// The columns and numbers of a row.
    fn row(&self, row: usize) -> (&[u32], Self::Numbers);
}

/// A matrix as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Plain<'a, N> {
    offsets: &'a [usize],
    columns: &'a [u32],
    numbers: N,
}

impl<'a, N> Plain<'a, N> {
    pub(super) fn new(pattern: &'a Pattern, numbers: N) -> Self {
        Self {
            offsets: pattern.offsets(),
            columns: pattern.columns(),
            numbers,
        }
    }
}

impl<V, N: Numbers<V>> Factor<V> for Plain<'_, N> {
    type Numbers = N;

    #[inline(always)]
    fn row(&self, row: usize) -> (&[u32], N) {
        let places = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[places.clone()], self.numbers.part(places))
    }
}

/// Rows of three matrices, one behind the other, as a factor: nothing is copied to put them together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stacked<'a, T> {
    pub(crate) parts: [&'a Csr<T>; 3],
    /// Which of them each row of the factor is; they are in their order where this is empty.
    pub(crate) order: &'a [u32],
}

impl<'a, T: Scalar> Stacked<'a, T> {
    pub(super) fn patterns(&self) -> [&'a Pattern; 3] {
        self.parts.map(|part| &**part.pattern())
    }

    /// The arrays of all parts.
    pub(super) fn arrays(&self) -> StackedArrays<'a, Values<'a, T>> {
        let [first, second, _] = self.parts.map(|part| part.size().rows);
        StackedArrays {
            parts: (self.parts).map(|part| Plain::new(part.pattern(), Values(part.values()))),
            starts: [first, first + second],
            order: self.order,
        }
    }
}

/// The arrays of [`Stacked`] rows.
#[derive(Clone, Copy)]
pub(super) struct StackedArrays<'a, N> {
    parts: [Plain<'a, N>; 3],
    /// First rows of the second and the third part.
    starts: [usize; 2],
    order: &'a [u32],
}

impl<V, N: Numbers<V>> Factor<V> for StackedArrays<'_, N> {
    type Numbers = N;

    #[inline(always)]
    fn row(&self, row: usize) -> (&[u32], N) {
        let row = self.order.get(row).map_or(row, |&row| row as usize);
        let [second, third] = self.starts;
        // Most rows are of the second part.
        if (second..third).contains(&row) {
            return self.parts[1].row(row - second);
        }
        match row < second {
            true => self.parts[0].row(row),
            false => self.parts[2].row(row - third),
        }
    }
}
