//! The ELL kernel, as its definition reads.

use super::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

/// The column of a slot that holds no entry. No matrix has that many columns, so it lies outside
/// every vector too.
pub const PADDING: u32 = u32::MAX;

/// The arrays of an ELL matrix: slot `s` of row `r` at `s * stride + r`, entries before padding.
#[derive(Clone, Copy)]
pub struct EllArrays<'a, M> {
    /// Rows, and thereby the distance between two slots of a row.
    pub stride: usize,
    /// The column of every slot, [`PADDING`] where it holds no entry.
    pub columns: &'a [u32],
    /// The value of every slot.
    pub values: &'a [M],
}

impl<'a, M: Scalar> EllArrays<'a, M> {
    /// The columns and values of one row's entries.
    pub fn row(self, row: usize) -> impl Iterator<Item = (usize, M)> + 'a {
        (row..self.columns.len())
            .step_by(self.stride)
            .map(move |place| (self.columns[place], self.values[place]))
            .take_while(|&(column, _)| column != PADDING)
            .map(|(column, value)| (column as usize, value))
    }
}

/// Adds one column of `A x` to the sums of the rows from `first` on.
pub fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: EllArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    for (row, sum) in sums.iter_mut().enumerate() {
        for (place, value) in a.row(first + row) {
            *sum += value.matrix() * M::input(x[place]);
        }
    }
}
