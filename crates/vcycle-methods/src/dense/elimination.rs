//! Elimination: systems, inverses, and factors with pivots near the diagonal, of singular matrices too.

use crate::operations::factor::Pivoting;
use crate::prelude::*;

/// Solves `A X = B` by Gauss-Jordan elimination with partial pivoting, leaving `X` in `b`.
/// `a` (`n` by `n`) and `b` (`n` by `m`) are stored row by row; `a` is destroyed. Says whether `A`
/// is regular and `X` finite.
pub(crate) fn solve<A: Field>(n: usize, a: &mut [A], m: usize, b: &mut [A]) -> bool {
    for step in 0..n {
        let pivot = largest(n, a, step);
        swap_rows(n, a, step, pivot);
        swap_rows(m, b, step, pivot);
        let value = a[step * n + step];
        if value.is_zero() {
            return false;
        }
        let inverse = A::one() / value;
        scale_row(n, a, step, inverse);
        scale_row(m, b, step, inverse);
        for row in (0..n).filter(|&row| row != step) {
            let factor = a[row * n + step];
            subtract_row(n, a, row, factor, step);
            subtract_row(m, b, row, factor, step);
        }
    }
    b.iter().all(|value| Field::is_finite(*value))
}

/// The inverse of `a`, which is destroyed; `None` if it is singular.
pub(crate) fn invert<A: Field>(n: usize, a: &mut [A]) -> Option<Vec<A>> {
    let mut inverse = vec![A::zero(); n * n];
    for row in 0..n {
        inverse[row * n + row] = A::one();
    }
    solve(n, a, n, &mut inverse).then_some(inverse)
}

/// The largest absolute column sum.
pub(crate) fn norm_1<A: Field>(n: usize, a: &[A]) -> f64 {
    let sum = |column: usize| {
        let column = a.iter().skip(column).step_by(n);
        column.map(|value| value.modulus().to_f64()).sum::<f64>()
    };
    (0..n).map(sum).fold(0.0, f64::max)
}

fn scale_row<A: Field>(width: usize, a: &mut [A], row: usize, factor: A) {
    for value in &mut a[row * width..(row + 1) * width] {
        *value *= factor;
    }
}

fn subtract_row<A: Field>(width: usize, a: &mut [A], row: usize, factor: A, other: usize) {
    for column in 0..width {
        let value = a[other * width + column];
        a[row * width + column] -= factor * value;
    }
}

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

/// The row, from `step` on, with the largest entry in column `step`.
fn largest<A: Field>(n: usize, a: &[A], step: usize) -> usize {
    let modulus = |row: usize| a[row * n + step].modulus();
    (step..n).fold(step, |best, row| {
        if modulus(row) > modulus(best) {
            row
        } else {
            best
        }
    })
}

fn swap_rows<A>(width: usize, a: &mut [A], first: usize, second: usize) {
    if first != second {
        for column in 0..width {
            a.swap(first * width + column, second * width + column);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_on_the_diagonal_is_pivoted_away() {
        let mut a = [0.0, 2.0, 1.0, 0.0];
        assert_eq!(invert(2, &mut a), Some(vec![0.0, 1.0, 0.5, 0.0]));
    }

    #[test]
    fn a_singular_matrix_has_no_inverse() {
        assert_eq!(invert(2, &mut [1.0, 2.0, 2.0, 4.0]), None);
    }

    #[test]
    fn norm_is_the_largest_column_sum() {
        assert_eq!(norm_1(2, &[1.0, -5.0, 2.0, 1.0]), 6.0);
    }
}
