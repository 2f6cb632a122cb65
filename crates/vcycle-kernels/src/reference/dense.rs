//! The dense kernel, as its definition reads.

use super::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

/// A dense matrix, row after row.
#[derive(Clone, Copy)]
pub struct DenseArrays<'a, M> {
    /// Entries of a row.
    pub width: usize,
    /// All entries, `width` for every row.
    pub values: &'a [M],
}

/// Adds one column of `A x` to the sums of the rows from `first` on.
pub fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: DenseArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    for (row, sum) in sums.iter_mut().enumerate() {
        let start = (first + row) * a.width;
        for place in 0..a.width {
            *sum += a.values[start + place].matrix() * M::input(x[place]);
        }
    }
}
