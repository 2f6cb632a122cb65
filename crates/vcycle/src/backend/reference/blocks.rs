//! Products with a block-diagonal matrix whose blocks each have their own precision.

use num_traits::Zero;

use crate::linop::Transpose;
use crate::scalar::{Field, Scalar, c64, convert, f16};

/// In which precision a block is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// That of the matrix.
    Full,
    /// `f32`, or pairs of them for complex values.
    Single,
    /// `f16`, or pairs of them for complex values.
    Half,
}

/// Where a block's values begin in the array of its precision; they are stored row by row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) precision: Precision,
    pub(crate) offset: usize,
}

/// The arrays of a block-diagonal matrix.
#[derive(Clone, Copy)]
pub(crate) struct BlockArrays<'a, T> {
    /// First row of every block, and at the end the number of rows.
    pub(crate) starts: &'a [usize],
    pub(crate) places: &'a [Place],
    pub(crate) full: &'a [T],
    pub(crate) single: &'a [f32],
    pub(crate) half: &'a [f16],
}

/// `y = B x`, or with a transpose of every block. `x` and `y` hold the rows of these blocks.
pub(crate) fn apply<T: Scalar>(
    transpose: Option<Transpose>,
    a: BlockArrays<'_, T>,
    x: &[T],
    y: &mut [T],
    cols: usize,
) {
    for (ends, place) in a.starts.windows(2).zip(a.places) {
        let rows = (ends[0] - a.starts[0]) * cols..(ends[1] - a.starts[0]) * cols;
        let (x, y) = (&x[rows.clone()], &mut y[rows]);
        let (n, at) = (ends[1] - ends[0], place.offset);
        match place.precision {
            Precision::Full => multiply(transpose, n, |i| a.full[at + i].load(), x, y, cols),
            Precision::Single => multiply(transpose, n, |i| widen(a.single, at, i), x, y, cols),
            Precision::Half => multiply(transpose, n, |i| widen(a.half, at, i), x, y, cols),
        }
    }
}

/// The `index`-th value of a block that begins at `offset`; complex values are pairs.
#[inline(always)]
pub(crate) fn widen<S: Scalar, A: Field>(values: &[S], offset: usize, index: usize) -> A {
    if !A::KIND.is_complex() {
        return convert(values[offset + index]);
    }
    let part = |place: usize| values[place].to_c64().re;
    A::from_c64(c64::new(
        part(offset + 2 * index),
        part(offset + 2 * index + 1),
    ))
}

#[inline(always)]
fn multiply<T: Scalar>(
    transpose: Option<Transpose>,
    n: usize,
    entry: impl Fn(usize) -> T::Arith,
    x: &[T],
    y: &mut [T],
    cols: usize,
) {
    let entry = |row: usize, k: usize| match transpose {
        None => entry(row * n + k),
        Some(Transpose::Plain) => entry(k * n + row),
        Some(Transpose::Conjugate) => entry(k * n + row).conj(),
    };
    for row in 0..n {
        for column in 0..cols {
            let mut sum = T::Arith::zero();
            for k in 0..n {
                sum += entry(row, k) * x[k * cols + column].load();
            }
            y[row * cols + column] = T::store(sum);
        }
    }
}
