//! Factors with pivots near the diagonal, of singular matrices too.

use super::{largest, swap_rows};
use crate::operations::factor::Pivoting;
use crate::scalar::{Field, Real};

/// `P A = L U`. Unknowns without a pivot are zero in solutions.
#[derive(Clone, Debug)]
pub(crate) struct Lu<V> {
    n: usize,
    /// `L` without its unit diagonal and `U`, row after row.
    factors: Vec<V>,
    /// The row of the matrix that became row `i`.
    pub order: Vec<usize>,
    /// The inverted pivots; zero where there is none.
    inverse_pivots: Vec<V>,
}

impl<V: Field> Lu<V> {
    /// Factorises a matrix of `n` rows, given row after row.
    pub(crate) fn new(n: usize, a: Vec<V>, pivoting: Pivoting) -> Self {
        let mut lu = Self {
            n,
            factors: a,
            order: (0..n).collect(),
            inverse_pivots: vec![V::zero(); n],
        };
        let largest = |row: &[V]| row.iter().fold(0.0, |m: f64, v| m.max(size(*v)));
        let rows = lu.factors.chunks(n.max(1));
        let tiny: Vec<f64> = rows.map(|row| pivoting.zero * largest(row)).collect();
        for step in 0..n {
            lu.eliminate(step, pivoting.factor, &tiny);
        }
        lu
    }

    /// `tiny` are the pivots that count as zero, by the row of the matrix.
    fn eliminate(&mut self, step: usize, factor: f64, tiny: &[f64]) {
        let n = self.n;
        let pivot = largest(n, &self.factors, step);
        if size(self.factors[pivot * n + step]) > factor * size(self.factors[step * n + step]) {
            self.order.swap(step, pivot);
            swap_rows(n, &mut self.factors, step, pivot);
        }
        let tiny = tiny[self.order[step]];
        let (above, below) = self.factors.split_at_mut((step + 1) * n);
        let pivot_row = &above[step * n + step..];
        if size(pivot_row[0]) <= tiny {
            below.chunks_mut(n).for_each(|row| row[step] = V::zero());
            return;
        }
        let inverse = V::one() / pivot_row[0];
        self.inverse_pivots[step] = inverse;
        for row in below.chunks_mut(n) {
            let factor = row[step] * inverse;
            if factor == V::zero() {
                continue;
            }
            row[step] = factor;
            for (value, pivot) in row[step + 1..].iter_mut().zip(&pivot_row[1..]) {
                *value -= factor * *pivot;
            }
        }
    }

    /// Solves for one column, given in the order of the factors.
    pub(crate) fn solve(&self, x: &mut [V]) {
        let product = |row: &[V], x: &[V]| row.iter().zip(x).map(|(a, x)| *a * *x).sum::<V>();
        for i in 0..self.n {
            let row = &self.factors[i * self.n..][..i];
            x[i] -= product(row, &x[..i]);
        }
        for i in (0..self.n).rev() {
            let row = &self.factors[i * self.n + i + 1..(i + 1) * self.n];
            x[i] = (x[i] - product(row, &x[i + 1..])) * self.inverse_pivots[i];
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.n
    }

    /// Bytes of the factors.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.factors[..])
    }
}

/// The absolute value.
fn size<V: Field>(value: V) -> f64 {
    value.modulus().to_f64()
}
