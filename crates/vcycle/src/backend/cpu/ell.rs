//! The ELL kernel, slot after slot, so that memory is read in the order it lies.

use super::Threads;
use super::rows::{self, Work};
use crate::backend::reference::ell::EllArrays;
use crate::backend::reference::rows::{Finish, Sum};
use crate::scalar::{Mixes, Scalar};

pub(crate) fn product<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    work: Work<'_>,
    a: EllArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    finish: Finish<'_, Sum<M, X, Y>, Y>,
) {
    rows::product(threads, work, y, cols, finish, |first, sums, column| {
        add::<M, X, Y>(a, first, sums, x, column, cols);
    });
}

/// Adds one column of `A x` to the sums of the rows from `first` on.
pub(crate) fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: EllArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: &[X],
    column: usize,
    cols: usize,
) {
    for start in (first..a.columns.len()).step_by(a.stride) {
        let slots = a.columns[start..].iter().zip(&a.values[start..]);
        for (sum, (&place, &value)) in sums.iter_mut().zip(slots) {
            // Padding lies outside of x: the check of the bound skips it.
            if let Some(&x) = x.get(place as usize * cols + column) {
                *sum += value.matrix() * M::input(x);
            }
        }
    }
}
