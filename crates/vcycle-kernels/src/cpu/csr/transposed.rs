//! Products with the transpose, without forming it.

use num_traits::Zero;

use super::CsrArrays;
use crate::cpu::{Shared, Threads};
use crate::cut::Slice;
use crate::reference::csr::sum_transposed;
use crate::scalar::{Mixes, Scalar};

/// Values of the result that are summed over all slices at once.
const PIECE: usize = 1024;

/// `y = A^T x`, or `A^H x` where `conjugate` is set.
///
/// Every slice of rows adds into its own part of `sums`, which covers the columns it reaches;
/// then the slices' sums are added in order.
pub fn apply_transposed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    slices: &[Slice],
    conjugate: bool,
    a: CsrArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    sums: &mut [M::Accumulator],
) {
    let bytes = size_of_val(a.values) + size_of_val(a.columns);
    let parts = Shared(sums.as_mut_ptr());
    let mut end = 0;
    for slice in slices {
        assert_eq!(slice.start, end, "slices follow each other");
        end += slice.columns.len();
    }
    assert!(end.checked_mul(cols).is_some_and(|end| end <= sums.len()));
    threads.for_each(slices.len(), bytes, &|index| {
        let slice = &slices[index];
        let range = slice.start * cols..(slice.start + slice.columns.len()) * cols;
        // SAFETY: the parts of the slices follow each other; each is given to one call.
        let sums = unsafe { parts.slice(range) };
        let rows = a.rows(slice.rows.clone());
        let x = &x[slice.rows.start * cols..slice.rows.end * cols];
        sum_transposed::<M, X, Y>(conjugate, rows, x, slice.columns.start, cols, sums);
    });
    threads.for_pieces(y, PIECE, &|start, y| {
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
