//! Small dense algebra on the host: what methods, set-ups and interpolations leave of a problem in the end. Matrices are real or
//! complex, and stored row after row unless something else is said.

mod cholesky;
mod gauss_jordan;
mod hessenberg;
mod householder;
mod independent;
mod jacobi;
mod lu;

pub(crate) use cholesky::Cholesky;
pub(crate) use gauss_jordan::{invert, norm_1, solve};
pub(crate) use hessenberg::LeastSquares;
pub(crate) use householder::BlockLeastSquares;
pub(crate) use independent::{Independent, diagonal};
pub(crate) use jacobi::{eigenpairs, singular_triplets};
pub(crate) use lu::Lu;

use crate::scalar::{Field, Real};

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

/// The Euclidean norm.
pub(crate) fn norm<A: Field>(x: &[A]) -> f64 {
    let squares = x.iter().map(|x| x.modulus_squared().to_f64());
    squares.sum::<f64>().sqrt()
}
