//! The BSR kernel, as its definition reads.

use super::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

/// The arrays of a BSR matrix: blocks in the order of CSR, each row by row.
#[derive(Clone, Copy)]
pub struct BsrArrays<'a, M> {
    /// The place of the first block of every row of blocks, and at the end the number of blocks.
    pub offsets: &'a [usize],
    /// The column of every block, counted in blocks.
    pub columns: &'a [u32],
    /// The entries of all blocks.
    pub values: &'a [M],
    /// Rows and columns of a block.
    pub block: (usize, usize),
}

impl<'a, M: Scalar> BsrArrays<'a, M> {
    /// Row, column and value of the entries of one row.
    pub fn row(self, row: usize) -> impl Iterator<Item = (usize, usize, M)> + 'a {
        let (rows, cols) = self.block;
        let node = row / rows;
        let entries = move |place: usize| {
            let first = (place * rows + row % rows) * cols;
            let column = self.columns[place] as usize * cols;
            (0..cols).map(move |part| (row, column + part, self.values[first + part]))
        };
        (self.offsets[node]..self.offsets[node + 1]).flat_map(entries)
    }
}

/// Adds one column of `A x` to the sums of the rows from `first` on.
pub fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: BsrArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    for (row, sum) in sums.iter_mut().enumerate() {
        for (_, column, value) in a.row(first + row) {
            *sum += value.matrix() * M::input(x[column]);
        }
    }
}
