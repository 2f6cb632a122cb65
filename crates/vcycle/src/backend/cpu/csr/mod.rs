//! CSR kernels over row ranges of equal work.
//!
//! A product, its scaled form and the residual are one kernel: `y = alpha A x + beta z`.

mod block;
mod column;
#[cfg(target_arch = "x86_64")]
mod gather;
mod short;
#[cfg(test)]
mod tests;
mod transposed;

use num_traits::{One, Zero};

use super::Threads;
pub(crate) use crate::backend::reference::csr::CsrArrays;
use crate::error::Result;
use crate::matrix::Pattern;
use crate::scalar::{Mixes, Scalar};
use crate::vector::Coefficient;
pub(crate) use transposed::apply_transposed;

/// `y = alpha A x + beta z`, where `z` is the old `y` unless something else is given.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a, M, X, Y: Scalar> {
    pub(crate) a: CsrArrays<'a, M>,
    pub(crate) x: &'a [X],
    pub(crate) cols: usize,
    pub(crate) alpha: Coefficient<'a, Y>,
    pub(crate) beta: Coefficient<'a, Y>,
    pub(crate) z: Option<&'a [Y]>,
}

impl<'a, M: Mixes<X, Y>, X: Scalar, Y: Scalar> Product<'a, M, X, Y> {
    /// `y = A x` on `cols` columns.
    pub(crate) fn new(a: CsrArrays<'a, M>, x: &'a [X], cols: usize) -> Self {
        Self {
            a,
            x,
            cols,
            alpha: Coefficient::one(),
            beta: Coefficient::zero(),
            z: None,
        }
    }

    /// Runs it on pieces of the matrix's pattern.
    pub(crate) fn run(&self, threads: &Threads, pattern: &Pattern, y: &mut [Y]) -> Result<()> {
        for column in 0..self.cols {
            self.alpha.evaluate(column)?;
            self.beta.evaluate(column)?;
        }
        let bytes = size_of_val(self.a.values) + size_of_val(self.a.columns);
        let runs = match self.cols {
            1 => pattern.runs(),
            _ => &[],
        };
        threads.for_row_ranges(
            pattern.pieces(),
            y,
            self.cols,
            bytes,
            |first, y| match self.cols {
                1 => column::rows(self, runs, first, y),
                _ => block::rows(self, first, y),
            },
        );
        Ok(())
    }

    /// What becomes of the sums of one column.
    #[inline(always)]
    fn combination(&self, column: usize) -> Combination<M::Accumulator> {
        let readable = "the coefficients were read before";
        let alpha = M::coefficient(self.alpha.evaluate(column).expect(readable));
        let beta = M::coefficient(self.beta.evaluate(column).expect(readable));
        Combination {
            alpha,
            beta,
            plain: alpha.is_one() && beta.is_zero(),
        }
    }

    /// Stores `alpha sum + beta z` at `place` of the whole result; parts that are multiplied by
    /// zero do not count.
    #[inline(always)]
    fn store(
        &self,
        by: &Combination<M::Accumulator>,
        sum: M::Accumulator,
        place: usize,
        y: &mut Y,
    ) {
        if by.plain {
            *y = M::result(sum);
            return;
        }
        let mut value = M::Accumulator::zero();
        if !by.alpha.is_zero() {
            value = by.alpha * sum;
        }
        if !by.beta.is_zero() {
            value += by.beta * M::output(self.z.map_or(*y, |z| z[place]));
        }
        *y = M::result(value);
    }

    /// The columns and values of a row.
    #[inline(always)]
    fn row(&self, row: usize) -> (&[u32], &[M]) {
        debug_assert!(row + 1 < self.a.offsets.len());
        // SAFETY: callers ask for rows of `y`, whose length was checked; offsets increase up to
        // the number of entries, as every pattern's do.
        unsafe {
            let offsets = &self.a.offsets;
            let range = *offsets.get_unchecked(row)..*offsets.get_unchecked(row + 1);
            (
                self.a.columns.get_unchecked(range.clone()),
                self.a.values.get_unchecked(range),
            )
        }
    }
}

/// The coefficients of one column in the arithmetic of the product.
#[derive(Clone, Copy)]
struct Combination<A> {
    alpha: A,
    beta: A,
    /// Whether the sums are the result.
    plain: bool,
}
