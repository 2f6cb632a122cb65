//! CSR kernels over row ranges of equal work.

use super::Threads;
use crate::backend::reference;
pub(crate) use crate::backend::reference::csr::CsrArrays;
use crate::error::Result;
use crate::scalar::{Mixes, Scalar};
use crate::vector::Coefficient;

pub(crate) fn apply<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    bounds: &[usize],
    a: CsrArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
) {
    let bytes = size_of_val(a.values) + size_of_val(a.columns);
    threads.for_row_ranges(bounds, y, cols, bytes, |first, y| {
        reference::csr::apply(rows(a, first, y.len() / cols), x, y, cols);
    });
}

pub(crate) fn apply_advanced<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    bounds: &[usize],
    alpha: Coefficient<'_, Y>,
    a: CsrArrays<'_, M>,
    x: &[X],
    beta: Coefficient<'_, Y>,
    y: &mut [Y],
    cols: usize,
) -> Result<()> {
    let bytes = size_of_val(a.values) + size_of_val(a.columns);
    threads.for_row_ranges(bounds, y, cols, bytes, |first, y| {
        let a = rows(a, first, y.len() / cols);
        // The coefficients were readable when the operands were checked.
        let _ = reference::csr::apply_advanced(alpha, a, x, beta, y, cols);
    });
    Ok(())
}

pub(crate) fn residual<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    threads: &Threads,
    bounds: &[usize],
    b: &[Y],
    a: CsrArrays<'_, M>,
    x: &[X],
    r: &mut [Y],
    cols: usize,
) {
    let bytes = size_of_val(a.values) + size_of_val(a.columns);
    threads.for_row_ranges(bounds, r, cols, bytes, |first, r| {
        let b = &b[first * cols..first * cols + r.len()];
        reference::csr::residual(b, rows(a, first, r.len() / cols), x, r, cols);
    });
}

/// The rows `first..first + count`, sharing the arrays.
fn rows<M>(a: CsrArrays<'_, M>, first: usize, count: usize) -> CsrArrays<'_, M> {
    CsrArrays {
        offsets: &a.offsets[first..=first + count],
        ..a
    }
}
