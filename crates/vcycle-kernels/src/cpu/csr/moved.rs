//! Rows that repeat the row above, moved by one column: the vector is read in order and columns not at all.

use super::lanes::{Rows, prefetch};
use crate::cpu::stencil::Vectors;
use crate::scalar::Scalar;
use crate::simd::Simd;

impl<A: Vectors, M: Scalar, X: Scalar, Y: Scalar> Rows<'_, A, M, X, Y> {
    /// Each has the columns of the row before it, moved by one. Of the pattern only the first is read.
    #[inline(always)]
    pub(super) unsafe fn repeating<S: Simd<Real = A>, const LANES: usize>(&self, y: &mut [Y]) {
        let (product, first) = (self.product, self.first);
        let (columns, _) = product.row(first);
        let start = product.a.offsets[first];
        let all = y.len();
        for (block, y) in y.chunks_mut(LANES).enumerate() {
            let lead = block * LANES;
            // The last rows once more, of which the first are there already.
            let (from, count) = match y.len() < LANES && all > LANES {
                true => (all - LANES, LANES),
                false => (lead, y.len()),
            };
            // Rows are as long as the first, which they repeat, so the values of one begin there.
            let values = product.a.values.as_ptr().add(start + from * columns.len());
            let x = product.vectors.x.as_ptr().add(from);
            let sums = moved_sums::<S, M, X, LANES>(columns, values, x, count);
            self.store::<S, LANES>((sums, count - y.len()), first + lead, y);
        }
    }
}

/// The sums of `count` rows with these columns, each row moved by one, row by lane.
///
/// # Safety
/// The host has the instructions of `S`, and `count` is at most `LANES`. `values` points to `count` rows of as many
/// values as there are columns, and for every column `count` numbers are readable from `x + column` on.
#[inline(always)]
unsafe fn moved_sums<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
    count: usize,
) -> S::Register {
    // A constant count is compiled without branches.
    match (count == LANES, columns.len() <= LANES) {
        (true, true) => one_square::<S, M, X, LANES>(columns, values, x),
        (true, false) => across::<S, M, X, LANES>(columns, values, x, LANES),
        (false, _) => across::<S, M, X, LANES>(columns, values, x, count),
    }
}

/// The sums of rows with these columns, each row moved by one, row by lane.
#[inline(always)]
unsafe fn across<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
    count: usize,
) -> S::Register {
    let length = columns.len();
    let mut sums = [S::zero(); 2];
    let (squares, rest) = columns.as_chunks::<LANES>();
    for (index, columns) in squares.iter().enumerate() {
        let square = square::<S, M, LANES>(values.add(index * LANES), length, count, LANES);
        for lane in 0..LANES {
            let x = S::load(x.add(columns[lane] as usize), count);
            sums[lane % 2] = S::multiply_add(square[lane], x, sums[lane % 2]);
        }
    }
    if !rest.is_empty() {
        let values = values.add(length - rest.len());
        let square = square::<S, M, LANES>(values, length, count, rest.len());
        for lane in 0..LANES {
            if lane < rest.len() {
                let x = S::load(x.add(rest[lane] as usize), count);
                sums[lane % 2] = S::multiply_add(square[lane], x, sums[lane % 2]);
            }
        }
    }
    S::add(sums[0], sums[1])
}

/// As [`across`], of as many rows as lanes and no more columns.
///
/// # Safety
/// As for [`moved_sums`] with `count` equal to `LANES`; there are at most `LANES` columns.
#[inline(always)]
unsafe fn one_square<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
) -> S::Register {
    let square = square::<S, M, LANES>(values, columns.len(), LANES, columns.len());
    let mut sum = S::zero();
    for lane in 0..LANES {
        if lane < columns.len() {
            let x = S::load(x.add(columns[lane] as usize), LANES);
            sum = S::multiply_add(square[lane], x, sum);
        }
    }
    sum
}

/// The first `width` values of `count` rows of some `length`, row by lane.
///
/// # Safety
/// The host has the instructions of `S`; `width` is at most `LANES`. From `values` on there are `count` rows, `length`
/// apart, of at least `width` values.
#[inline(always)]
unsafe fn square<S: Simd, M: Scalar, const LANES: usize>(
    values: *const M,
    length: usize,
    count: usize,
    width: usize,
) -> [S::Register; LANES] {
    let mut square = [S::zero(); LANES];
    for row in 0..LANES {
        if row < count {
            let values = values.add(row * length);
            prefetch(values);
            square[row] = S::load(values, width);
        }
    }
    S::transpose(&mut square);
    square
}
