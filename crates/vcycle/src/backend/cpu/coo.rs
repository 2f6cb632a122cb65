//! The COO kernel, cut at row boundaries.

use super::Threads;
use super::rows::{self, Work};
use crate::backend::reference::coo::{CooArrays, add};
use crate::backend::reference::rows::{Finish, Sum};
use crate::scalar::{Mixes, Scalar};

pub(crate) fn product<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    work: Work<'_>,
    a: CooArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    finish: Finish<'_, Sum<M, X, Y>, Y>,
) {
    rows::product(threads, work, y, cols, finish, |first, sums, column| {
        add::<M, X, Y>(a, first, sums, x, column, cols);
    });
}
