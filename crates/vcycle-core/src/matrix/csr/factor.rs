//! The rows of a factor of a product.

use super::accumulator::Numbers;
use crate::arrays::Pattern;

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
