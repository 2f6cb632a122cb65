//! The hybrid kernel: the ELL part of a row, then its COO rest.

use super::coo::{self, CooArrays};
use super::ell::{self, EllArrays};
use super::rows::{self, Finish, Sum};
use crate::scalar::{Mixes, Scalar};

pub(crate) fn product<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    regular: EllArrays<'_, M>,
    rest: CooArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    finish: Finish<'_, Sum<M, X, Y>, Y>,
) {
    rows::product(0, y, cols, finish, |first, sums, column| {
        ell::add::<M, X, Y>(regular, first, sums, x, column, cols);
        coo::add::<M, X, Y>(rest, first, sums, x, column, cols);
    });
}
