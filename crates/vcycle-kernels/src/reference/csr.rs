//! CSR kernels, as their definitions read.

use std::ops::Range;

use num_traits::{One, Zero};

use super::rows::{Column, add_transposed, row_sum};
use crate::factor::Factor;
use crate::scalar::{Field, Mixes, Scalar};

/// The arrays of a CSR matrix.
#[derive(Clone, Copy)]
pub struct CsrArrays<'a, M> {
    /// The place of the first entry of every row, and at the end that behind the last entry.
    pub offsets: &'a [usize],
    /// The column of every entry.
    pub columns: &'a [u32],
    /// The value of every entry.
    pub values: &'a [M],
}

impl<'a, M: Scalar> CsrArrays<'a, M> {
    /// Some of the rows, sharing the arrays.
    pub fn rows(&self, rows: Range<usize>) -> CsrArrays<'a, M> {
        CsrArrays {
            offsets: &self.offsets[rows.start..=rows.end],
            ..*self
        }
    }

    /// The columns and values of one row.
    #[inline]
    pub fn row(&self, row: usize) -> (&'a [u32], &'a [M]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }
}

/// A sweep `y = alpha d (b - A x) + beta x + gamma y`.
#[derive(Clone, Copy)]
pub struct SweepArrays<'a, Y> {
    /// The right-hand side, one number for every number of `y`.
    pub b: &'a [Y],
    /// What residuals are multiplied by, one number a row.
    pub d: &'a [Y],
    /// The factor of the residual.
    pub alpha: f64,
    /// The factor of `x`.
    pub beta: f64,
    /// The factor of the old `y`; where it is zero that is not read.
    pub gamma: f64,
}

/// The vectors of a product `y = alpha A x + beta z`, where `z` is the old `y` unless something else is given; or of a sweep.
#[derive(Clone, Copy)]
pub struct Operands<'a, X, Y: Scalar> {
    /// Those that are multiplied: `cols` numbers for every column of the matrix.
    pub x: &'a [X],
    /// Columns of the vectors; those of one row lie side by side.
    pub cols: usize,
    /// The factor of the product.
    pub alpha: Factor<'a, Y>,
    /// The factor of `z`; where it is zero nothing of `z` is read.
    pub beta: Factor<'a, Y>,
    /// What is added, `cols` numbers for every row; the old `y` where there is none.
    pub z: Option<&'a [Y]>,
    /// The sweep to make instead of a combination.
    pub sweep: Option<SweepArrays<'a, Y>>,
}

impl<'a, X, Y: Scalar> Operands<'a, X, Y> {
    /// Those of `y = A x` on `cols` columns.
    pub fn new(x: &'a [X], cols: usize) -> Self {
        Self {
            x,
            cols,
            alpha: Factor::one(),
            beta: Factor::zero(),
            z: None,
            sweep: None,
        }
    }
}

/// `y = alpha A x + beta z`, or a sweep; a part with a zero coefficient does not count, whatever it holds.
pub fn product<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: CsrArrays<'_, M>,
    vectors: &Operands<'_, X, Y>,
    y: &mut [Y],
) {
    let (x, cols) = (vectors.x, vectors.cols);
    for column in 0..cols {
        let alpha = M::coefficient(vectors.alpha.evaluate(column));
        let beta = M::coefficient(vectors.beta.evaluate(column));
        for row in 0..a.offsets.len() - 1 {
            let place = row * cols + column;
            let values = Column {
                values: x,
                column,
                cols,
            };
            let product = || row_sum::<M, X, Y>(a.row(row), values);
            let value = match &vectors.sweep {
                Some(sweep) => relaxed::<M, X, Y>(sweep, product(), (row, place), x, y),
                None if alpha.is_one() && beta.is_zero() => product(),
                None => {
                    let mut sum = M::Accumulator::zero();
                    if !alpha.is_zero() {
                        sum = alpha * product();
                    }
                    if !beta.is_zero() {
                        sum += beta * M::output(vectors.z.unwrap_or(y)[place]);
                    }
                    sum
                }
            };
            y[place] = M::result(value);
        }
    }
}

/// `alpha d (b - A x) + beta x + gamma y`; a zero `gamma` does not read `y`.
fn relaxed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    sweep: &SweepArrays<'_, Y>,
    product: M::Accumulator,
    (row, place): (usize, usize),
    x: &[X],
    y: &[Y],
) -> M::Accumulator {
    let [alpha, beta, gamma] = [sweep.alpha, sweep.beta, sweep.gamma].map(M::Accumulator::from_f64);
    let step = alpha * (M::output(sweep.d[row]) * (M::output(sweep.b[place]) - product));
    let value = step + beta * M::input(x[place]);
    match gamma.is_zero() {
        true => value,
        false => value + gamma * M::output(y[place]),
    }
}

/// `y = A^T x`, or `A^H x` where `conjugate` is set.
pub fn apply_transposed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    conjugate: bool,
    a: CsrArrays<'_, M>,
    x: &[X],
    y: &mut [Y],
    cols: usize,
    sums: &mut [M::Accumulator],
) {
    sum_transposed::<M, X, Y>(conjugate, a, x, 0, cols, sums);
    for (y, sum) in y.iter_mut().zip(sums) {
        *y = M::result(*sum);
    }
}

/// `sums = A^T x`, or `A^H x`, where `sums` begins with column `first` of the matrix.
pub fn sum_transposed<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    conjugate: bool,
    a: CsrArrays<'_, M>,
    x: &[X],
    first: usize,
    cols: usize,
    sums: &mut [M::Accumulator],
) {
    sums.fill(Zero::zero());
    for row in 0..a.offsets.len() - 1 {
        let x = &x[row * cols..(row + 1) * cols];
        add_transposed::<M, X, Y>(conjugate, a.row(row), x, first, sums);
    }
}
