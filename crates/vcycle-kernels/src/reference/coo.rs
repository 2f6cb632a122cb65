//! The COO kernel, as its definition reads.

use super::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

/// The arrays of a COO matrix, sorted by row.
#[derive(Clone, Copy)]
pub struct CooArrays<'a, M> {
    /// The row of every entry.
    pub rows: &'a [u32],
    /// The column of every entry.
    pub columns: &'a [u32],
    /// The value of every entry.
    pub values: &'a [M],
}

/// Adds one column of `A x` to the sums of the rows from `first` on.
pub fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: CooArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    let start = a.rows.partition_point(|&row| (row as usize) < first);
    for entry in start..a.rows.len() {
        let Some(sum) = sums.get_mut(a.rows[entry] as usize - first) else {
            return;
        };
        *sum += a.values[entry].matrix() * M::input(x[a.columns[entry] as usize]);
    }
}
