//! What the formats that multiply row by row share: blocks of row sums and what becomes of them.

use std::ops::Index;

use num_traits::Zero;

use super::vector::combine;
use crate::scalar::{Field, Mixes, Scalar, convert};

/// The type the sums of a product are formed in.
pub type Sum<M, X, Y> = <M as Mixes<X, Y>>::Accumulator;

/// Rows whose sums are formed together: their part of the matrix stays in the first-level cache
/// while the columns of the vectors take turns.
const BLOCK: usize = 256;

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

/// What becomes of the sums of a product.
#[derive(Clone, Copy)]
pub enum Finish<'a, S, Y> {
    /// `y = A x`.
    Store,
    /// `y = alpha A x + beta y`, one coefficient a column.
    Combine {
        /// The factors of the product.
        alpha: &'a [S],
        /// The factors of the old `y`.
        beta: &'a [S],
    },
    /// `y = b - A x`.
    Residual {
        /// The right-hand sides, row by row.
        b: &'a [Y],
    },
}

impl<S: Field, Y: Scalar> Finish<'_, S, Y> {
    /// Writes the sums of one column for the rows from `first` on.
    fn write(self, first: usize, column: usize, cols: usize, sums: &[S], y: &mut [Y]) {
        let targets = y.iter_mut().skip(column).step_by(cols).zip(sums);
        match self {
            Finish::Store => targets.for_each(|(y, &sum)| *y = convert(sum)),
            Finish::Combine { alpha, beta } => {
                let (a, b) = (alpha[column], beta[column]);
                targets.for_each(|(y, &sum)| *y = convert(combine(a, sum, b, convert(*y))));
            }
            Finish::Residual { b } => {
                let b = b[first * cols..].iter().skip(column).step_by(cols);
                targets
                    .zip(b)
                    .for_each(|((y, &sum), &b)| *y = convert(convert::<Y, S>(b) - sum));
            }
        }
    }
}

/// A product over the rows from `first` on, which `y` holds.
///
/// `add(first, sums, column)` adds the entries of one column of `A x` to the sums of the rows
/// from its `first` on; it gets whole groups of `group` rows. Behind a pointer, so that this is compiled once
/// for all formats.
pub fn product<S: Field, Y: Scalar>(
    first: usize,
    y: &mut [Y],
    (group, cols): (usize, usize),
    finish: Finish<'_, S, Y>,
    add: &dyn Fn(usize, &mut [S], usize),
) {
    let mut sums = [S::zero(); BLOCK];
    let rows = BLOCK / group * group;
    for (block, y) in y.chunks_mut(rows * cols.max(1)).enumerate() {
        let first = first + block * rows;
        let sums = &mut sums[..y.len() / cols];
        for column in 0..cols {
            sums.fill(S::zero());
            add(first, sums, column);
            finish.write(first, column, cols, sums, y);
        }
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

/// Adds what a row brings to `A^T x`, or to `A^H x` where `conjugate` is set; `x` has the numbers of that row.
pub fn add_transposed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    conjugate: bool,
    (columns, values): (&[u32], &[M]),
    x: &[X],
    sums: &mut [Sum<M, X, Y>],
) {
    for (&column, value) in columns.iter().zip(values) {
        let value = value.matrix();
        let value = if conjugate { value.conj() } else { value };
        let sums = &mut sums[column as usize * x.len()..];
        for (sum, &x) in sums.iter_mut().zip(x) {
            *sum += value * M::input(x);
        }
    }
}
