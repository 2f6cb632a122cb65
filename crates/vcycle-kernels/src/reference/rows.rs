//! What the formats that multiply row by row share: columns of vectors, and the products of a row.

use std::ops::Index;

use num_traits::Zero;

use crate::scalar::{Field, Mixes, Scalar};

/// The type the sums of a product are formed in.
pub type Sum<M, X, Y> = <M as Mixes<X, Y>>::Accumulator;

/// One column of an input vector.
#[derive(Clone, Copy)]
pub struct Column<'a, X> {
    /// The vectors, row by row.
    pub values: &'a [X],
    /// The number of the column.
    pub column: usize,
    /// Columns of the vectors.
    pub cols: usize,
}

impl<X: Copy> Column<'_, X> {
    /// The value in a row, if there is such a row.
    #[inline]
    pub fn get(self, row: usize) -> Option<X> {
        self.values.get(row * self.cols + self.column).copied()
    }
}

impl<X> Index<usize> for Column<'_, X> {
    type Output = X;

    #[inline]
    fn index(&self, row: usize) -> &X {
        &self.values[row * self.cols + self.column]
    }
}

/// The sum of the products of a row with one column of vectors, in the order of its entries.
pub fn row_sum<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    (columns, values): (&[u32], &[M]),
    x: Column<'_, X>,
) -> Sum<M, X, Y> {
    let mut sum = Sum::<M, X, Y>::zero();
    for (&column, value) in columns.iter().zip(values) {
        sum += value.matrix() * M::input(x[column as usize]);
    }
    sum
}

/// Adds what a row brings to `A^T x`, or to `A^H x` where `conjugate` is set, of which `sums` begin with column `first` of the
/// matrix; `x` has the numbers of that row.
pub fn add_transposed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    conjugate: bool,
    (columns, values): (&[u32], &[M]),
    x: &[X],
    first: usize,
    sums: &mut [Sum<M, X, Y>],
) {
    for (&column, value) in columns.iter().zip(values) {
        let value = value.matrix();
        let value = if conjugate { value.conj() } else { value };
        let sums = &mut sums[(column as usize - first) * x.len()..];
        for (sum, &x) in sums.iter_mut().zip(x) {
            *sum += value * M::input(x);
        }
    }
}
