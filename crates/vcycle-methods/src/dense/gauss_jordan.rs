//! Systems and inverses by elimination.

use super::{largest, swap_rows};
use crate::scalar::{Field, Real};

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
