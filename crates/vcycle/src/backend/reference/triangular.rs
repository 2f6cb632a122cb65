//! Triangular solves, as their definitions read.

use num_traits::One;

use super::csr::CsrArrays;
use crate::scalar::{Field, Scalar};

/// The arrays of a triangular matrix.
#[derive(Clone, Copy)]
pub(crate) struct TriangleArrays<'a, T: Scalar> {
    /// The entries off the diagonal.
    pub(crate) off_diagonal: CsrArrays<'a, T>,
    /// The inverted diagonal; ones without.
    pub(crate) inverse_diagonal: Option<&'a [T::Arith]>,
    /// Whether the entries stand right of the diagonal.
    pub(crate) upper: bool,
}

impl<T: Scalar> TriangleArrays<'_, T> {
    pub(crate) fn rows(&self) -> usize {
        self.off_diagonal.offsets.len() - 1
    }

    /// Entry (`row`, `column`) of the solution; `y` gives those it depends on by place.
    #[inline(always)]
    pub(crate) fn solution(
        &self,
        row: usize,
        b: &[T],
        y: impl Fn(usize) -> T,
        column: usize,
        cols: usize,
    ) -> T {
        let a = self.off_diagonal;
        let mut sum = b[row * cols + column].load();
        for entry in a.offsets[row]..a.offsets[row + 1] {
            let place = a.columns[entry] as usize * cols + column;
            sum -= a.values[entry].load() * y(place).load();
        }
        T::store(sum * self.inverse(row))
    }

    /// The inverse of a diagonal entry.
    #[inline(always)]
    fn inverse(&self, row: usize) -> T::Arith {
        self.inverse_diagonal
            .map_or_else(T::Arith::one, |diagonal| diagonal[row])
    }
}

/// `A y = b`, row after row in the order of the dependencies.
pub(crate) fn solve<T: Scalar>(a: TriangleArrays<'_, T>, b: &[T], y: &mut [T], cols: usize) {
    for step in 0..a.rows() {
        let row = if a.upper { a.rows() - 1 - step } else { step };
        for column in 0..cols {
            y[row * cols + column] = a.solution(row, b, |place| y[place], column, cols);
        }
    }
}

/// `A^T y = b`, or `A^H y = b` where `conjugate` is set: a solution once known is taken out of
/// all rows it still stands in.
pub(crate) fn solve_transposed<T: Scalar>(
    conjugate: bool,
    a: TriangleArrays<'_, T>,
    b: &[T],
    y: &mut [T],
    cols: usize,
    sums: &mut [T::Arith],
) {
    let turned = |value: T::Arith| if conjugate { value.conj() } else { value };
    let entries = a.off_diagonal;
    for (sum, b) in sums.iter_mut().zip(b) {
        *sum = b.load();
    }
    for step in 0..a.rows() {
        let row = if a.upper { step } else { a.rows() - 1 - step };
        let inverse = turned(a.inverse(row));
        for column in 0..cols {
            let value = T::store(sums[row * cols + column] * inverse);
            y[row * cols + column] = value;
            for entry in entries.offsets[row]..entries.offsets[row + 1] {
                let place = entries.columns[entry] as usize * cols + column;
                sums[place] -= turned(entries.values[entry].load()) * value.load();
            }
        }
    }
}
