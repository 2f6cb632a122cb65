//! The dense kernel, as its definition reads.

use super::rows::{self, Finish, Sum};
use crate::scalar::{Mixes, Scalar};

/// A dense matrix, row after row.
#[derive(Clone, Copy)]
pub(crate) struct DenseArrays<'a, M> {
    pub(crate) width: usize,
    pub(crate) values: &'a [M],
}

pub(crate) fn product<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: DenseArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    finish: Finish<'_, Sum<M, X, Y>, Y>,
) {
    rows::product(0, y, cols, finish, |first, sums, column| {
        add::<M, X, Y>(a, first, sums, x, column, cols);
    });
}

/// Adds one column of `A x` to the sums of the rows from `first` on.
pub(crate) fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: DenseArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: &[X],
    column: usize,
    cols: usize,
) {
    for (row, sum) in sums.iter_mut().enumerate() {
        let start = (first + row) * a.width;
        for place in 0..a.width {
            *sum += a.values[start + place].matrix() * M::input(x[place * cols + column]);
        }
    }
}
