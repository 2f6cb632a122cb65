//! The hybrid kernel: the ELL part of a block of rows, then its COO rest.

use super::rows::{self, Work};
use super::{Threads, ell};
use crate::backend::reference::coo::{self, CooArrays};
use crate::backend::reference::ell::EllArrays;
use crate::backend::reference::rows::{Finish, Sum};
use crate::scalar::{Mixes, Scalar};

pub(crate) fn product<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    work: Work<'_>,
    regular: EllArrays<'_, M>,
    rest: CooArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    finish: Finish<'_, Sum<M, X, Y>, Y>,
) {
    rows::product(threads, work, y, cols, finish, |first, sums, column| {
        ell::add::<M, X, Y>(regular, first, sums, x, column, cols);
        coo::add::<M, X, Y>(rest, first, sums, x, column, cols);
    });
}
