//! Columns of dense matrices: views for faer's products and solves, and loops over short columns.

use faer::linalg::matmul::matmul_with_conj;
use faer::linalg::matmul::triangular::{BlockStructure, matmul_with_conj as triangular_product};
use faer::{Accum, Conj, MatMut, MatRef, Par};

use crate::number::Number;

/// A part of a matrix that is stored column after column.
pub(crate) fn part<F>(values: &[F], stride: usize, rows: usize, cols: usize) -> MatRef<'_, F> {
    if rows == 0 || cols == 0 {
        return MatRef::from_column_major_slice(&values[..0], rows, cols);
    }
    MatRef::from_column_major_slice_with_stride(
        &values[..(cols - 1) * stride + rows],
        rows,
        cols,
        stride,
    )
}

/// The same to write to.
pub(crate) fn part_mut<F>(
    values: &mut [F],
    stride: usize,
    rows: usize,
    cols: usize,
) -> MatMut<'_, F> {
    if rows == 0 || cols == 0 {
        return MatMut::from_column_major_slice_mut(&mut values[..0], rows, cols);
    }
    let values = &mut values[..(cols - 1) * stride + rows];
    MatMut::from_column_major_slice_with_stride_mut(values, rows, cols, stride)
}

/// `C -= A B`, where `B` is conjugated or not.
pub(crate) fn subtract<F: Number>(
    c: MatMut<'_, F>,
    a: MatRef<'_, F>,
    b: MatRef<'_, F>,
    conjugate: Conj,
    parallel: Par,
) {
    if c.nrows() > 0 && c.ncols() > 0 && a.ncols() > 0 {
        let minus = F::real(-1.0);
        matmul_with_conj(c, Accum::Add, a, Conj::No, b, conjugate, minus, parallel);
    }
}

/// The same for the lower half of `C`.
pub(crate) fn subtract_lower<F: Number>(
    c: MatMut<'_, F>,
    a: MatRef<'_, F>,
    b: MatRef<'_, F>,
    conjugate: Conj,
    parallel: Par,
) {
    if c.nrows() > 0 && a.ncols() > 0 {
        let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
        let minus = F::real(-1.0);
        triangular_product(
            c,
            lower,
            Accum::Add,
            a,
            full,
            Conj::No,
            b,
            full,
            conjugate,
            minus,
            parallel,
        );
    }
}

/// Two different columns.
pub(crate) fn two_columns<F>(
    values: &mut [F],
    stride: usize,
    one: usize,
    other: usize,
) -> (&mut [F], &mut [F]) {
    let (low, high) = (one.min(other), one.max(other));
    let (first, second) = values.split_at_mut(high * stride);
    let (first, second) = (&mut first[low * stride..][..stride], &mut second[..stride]);
    if one < other {
        (first, second)
    } else {
        (second, first)
    }
}

/// `y -= alpha x`.
#[inline]
pub(crate) fn subtract_multiple<F: Number>(y: &mut [F], alpha: F, x: &[F]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y -= alpha * x;
    }
}

/// The place of the entry of the largest magnitude, and that.
pub(crate) fn largest<F: Number>(values: &[F]) -> (usize, f64) {
    let mut found = (0, 0.0);
    for (place, value) in values.iter().enumerate() {
        let size = value.magnitude();
        if size > found.1 {
            found = (place, size);
        }
    }
    found
}
