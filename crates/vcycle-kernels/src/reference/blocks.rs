//! Products with a block-diagonal matrix whose blocks each have their own precision.

use num_traits::Zero;

use crate::Transpose;
use crate::scalar::{Field, Scalar, c64, convert, f16};

/// Rows of the largest block.
pub const LARGEST: usize = 32;

/// In which precision a block is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// That of the matrix.
    Full,
    /// `f32`, or pairs of them for complex values.
    Single,
    /// `f16`, or pairs of them for complex values.
    Half,
}

/// Where a block's values begin in the array of its precision; they are stored column by column.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The precision, and thereby the array.
    pub precision: Precision,
    /// The place of the first value in that array; in `single` and `half` a complex value takes two places.
    pub offset: usize,
}

/// The arrays of a block-diagonal matrix.
#[derive(Clone, Copy)]
pub struct BlockArrays<'a, T> {
    /// First row of every block, and at the end the number of rows.
    pub starts: &'a [usize],
    /// Where every block's values are.
    pub places: &'a [Place],
    /// The values of blocks in full precision.
    pub full: &'a [T],
    /// The values of blocks in single precision.
    pub single: &'a [f32],
    /// The values of blocks in half precision.
    pub half: &'a [f16],
}

/// `y = B x`, or with a transpose of every block. `x` and `y` hold the rows of these blocks.
pub fn apply<T: Scalar>(
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
pub fn widen<S: Scalar, A: Field>(values: &[S], offset: usize, index: usize) -> A {
    if !A::KIND.is_complex() {
        return convert(values[offset + index]);
    }
    let part = |place: usize| values[place].to_c64().re;
    A::from_c64(c64::new(
        part(offset + 2 * index),
        part(offset + 2 * index + 1),
    ))
}

/// Adds up columns of the block, so that its rows can share an instruction.
#[inline(always)]
fn multiply<T: Scalar>(
    transpose: Option<Transpose>,
    n: usize,
    entry: impl Fn(usize) -> T::Arith,
    x: &[T],
    y: &mut [T],
    cols: usize,
) {
    for column in 0..cols {
        let mut sums = [T::Arith::zero(); LARGEST];
        let sums = &mut sums[..n];
        for k in 0..n {
            let x = x[k * cols + column].load();
            let sums = sums.iter_mut().enumerate();
            match transpose {
                None => sums.for_each(|(row, sum)| *sum += entry(k * n + row) * x),
                Some(Transpose::Plain) => {
                    sums.for_each(|(row, sum)| *sum += entry(row * n + k) * x);
                }
                Some(Transpose::Conjugate) => {
                    sums.for_each(|(row, sum)| *sum += entry(row * n + k).conj() * x);
                }
            }
        }
        for (row, sum) in sums.iter().enumerate() {
            y[row * cols + column] = T::store(*sum);
        }
    }
}
