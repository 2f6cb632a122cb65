//! The SELL-P kernel: the ELL kernel for every slice.

use super::rows::{self, Work};
use super::{Threads, ell};
use crate::backend::reference::rows::{Finish, Sum};
use crate::backend::reference::sellp::SellPArrays;
use crate::scalar::{Mixes, Scalar};

pub(crate) fn product<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    work: Work<'_>,
    a: SellPArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    finish: Finish<'_, Sum<M, X, Y>, Y>,
) {
    rows::product(threads, work, y, cols, finish, |first, sums, column| {
        a.for_each_slice(first, sums, |slice, first, sums| {
            ell::add::<M, X, Y>(slice, first, sums, x, column, cols);
        });
    });
}
