//! Products with the transpose, without forming it.

use num_traits::Zero;

use super::CsrArrays;
use crate::backend::cpu::Threads;
use crate::backend::reference::csr::sum_transposed;
use crate::matrix::Slice;
use crate::scalar::{Mixes, Scalar};

/// Values of the result that are summed over all slices at once.
const PIECE: usize = 1024;

/// `y = A^T x`, or `A^H x` where `conjugate` is set.
///
/// Every slice of rows adds into its own part of `sums`, which covers the columns it reaches;
/// then the slices' sums are added in order.
pub(crate) fn apply_transposed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    slices: &[Slice],
    conjugate: bool,
    a: CsrArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    sums: &mut [M::Accumulator],
) {
    let scatter = |slice: &Slice, sums: &mut [M::Accumulator]| {
        let rows = a.rows(slice.rows.clone());
        let x = &x[slice.rows.start * cols..slice.rows.end * cols];
        sum_transposed::<M, X, Y>(conjugate, rows, x, slice.columns.start, cols, sums);
    };
    let bytes = size_of_val(a.values) + size_of_val(a.columns);
    match threads.worth(bytes) {
        Some(pool) => pool.install(|| for_slices(slices, cols, sums, &scatter)),
        None => for_slices(slices, cols, sums, &scatter),
    }
    threads.for_pieces(y, PIECE, |start, y| {
        let mut total = [M::Accumulator::zero(); PIECE];
        for slice in slices {
            let covered = slice.columns.start * cols..slice.columns.end * cols;
            let from = covered.start.max(start);
            let to = covered.end.min(start + y.len());
            if from < to {
                let sums = &sums[slice.start * cols + from - covered.start..];
                let pairs = total[from - start..to - start].iter_mut().zip(sums);
                pairs.for_each(|(total, &sum)| *total += sum);
            }
        }
        for (y, total) in y.iter_mut().zip(total) {
            *y = M::result(total);
        }
    });
}

/// `work` on every slice and its sums, side by side where threads are at hand.
fn for_slices<A: Send>(
    slices: &[Slice],
    cols: usize,
    sums: &mut [A],
    work: &(impl Fn(&Slice, &mut [A]) + Sync),
) {
    if let [slice] = slices {
        return work(slice, sums);
    }
    let (left, right) = slices.split_at(slices.len() / 2);
    let (left_sums, right_sums) = sums.split_at_mut((right[0].start - left[0].start) * cols);
    let left = || for_slices(left, cols, left_sums, work);
    let right = || for_slices(right, cols, right_sums, work);
    super::both(left, right);
}
