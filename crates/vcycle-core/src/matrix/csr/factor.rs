//! The rows of a factor of a product.

use super::Csr;
use super::accumulator::{Numbers, Values};
use crate::arrays::Pattern;
use crate::scalar::Scalar;

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

/// Rows of one matrix between those of another one, with the same columns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interleaved<'a, T> {
    /// The rows in between.
    pub(crate) own: &'a Csr<T>,
    /// The number of the first of them.
    pub(crate) first: usize,
    /// Those before and after.
    pub(crate) others: &'a Csr<T>,
}

/// The arrays of both.
#[derive(Clone, Copy)]
pub(super) struct Halves<'a, N> {
    own: Plain<'a, N>,
    first: usize,
    count: usize,
    others: Plain<'a, N>,
}

impl<'a, T: Scalar> Interleaved<'a, T> {
    pub(super) fn arrays(&self) -> Halves<'a, Values<'a, T>> {
        let plain = |a: &'a Csr<T>| Plain::new(a.pattern(), Values(a.values()));
        Halves {
            own: plain(self.own),
            first: self.first,
            count: self.own.size().rows,
            others: plain(self.others),
        }
    }

    pub(super) fn parts(&self) -> [&'a Pattern; 2] {
        [self.own.pattern(), self.others.pattern()]
    }

    pub(super) fn columns(&self) -> usize {
        self.own.size().cols.max(self.others.size().cols)
    }
}

impl<V, N: Numbers<V>> Factor<V> for Halves<'_, N> {
    type Numbers = N;

    #[inline(always)]
    fn row(&self, row: usize) -> (&[u32], N) {
        let place = row.wrapping_sub(self.first);
        if place < self.count {
            return self.own.row(place);
        }
        match row < self.first {
            true => self.others.row(row),
            false => self.others.row(row - self.count),
        }
    }
}
