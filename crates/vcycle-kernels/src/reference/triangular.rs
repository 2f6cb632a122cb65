//! Triangular solves, as their definitions read.

use num_traits::One;

use super::csr::CsrArrays;
use crate::scalar::{Field, Scalar};

/// The arrays of a triangular matrix whose rows are stored in an order they can be solved in.
#[derive(Clone, Copy)]
pub struct TriangleArrays<'a, T: Scalar> {
    /// The row that each step solves.
    pub order: &'a [u32],
    /// The entries off the diagonal, step by step.
    pub off_diagonal: CsrArrays<'a, T>,
    /// The inverted diagonal, step by step; ones without.
    pub inverse_diagonal: Option<&'a [T::Arith]>,
    /// Whether the conjugate of the matrix is meant.
    pub conjugate: bool,
}

impl<T: Scalar> TriangleArrays<'_, T> {
    /// What `step` finds for a column; `y` gives the entries it depends on by their place.
    #[inline(always)]
    pub fn solution(
        &self,
        step: usize,
        b: &[T],
        y: impl Fn(usize) -> T,
        column: usize,
        cols: usize,
    ) -> T {
        let a = self.off_diagonal;
        let mut sum = b[self.place(step, column, cols)].load();
        for entry in a.offsets[step]..a.offsets[step + 1] {
            let place = a.columns[entry] as usize * cols + column;
            sum -= self.turned(a.values[entry].load()) * y(place).load();
        }
        let inverse = self
            .inverse_diagonal
            .map_or_else(T::Arith::one, |d| d[step]);
        T::store(sum * self.turned(inverse))
    }

    /// Where the solution of `step` belongs.
    #[inline(always)]
    pub fn place(&self, step: usize, column: usize, cols: usize) -> usize {
        self.order[step] as usize * cols + column
    }

    #[inline(always)]
    fn turned(&self, value: T::Arith) -> T::Arith {
        if self.conjugate { value.conj() } else { value }
    }
}

/// `A y = b`, step by step.
pub fn solve<T: Scalar>(a: TriangleArrays<'_, T>, b: &[T], y: &mut [T], cols: usize) {
    for step in 0..a.order.len() {
        for column in 0..cols {
            let value = a.solution(step, b, |place| y[place], column, cols);
            y[a.place(step, column, cols)] = value;
        }
    }
}
