//! Small dense algebra on the host: what methods, set-ups and interpolations leave of a problem in the end. Matrices are real or
//! complex, and stored row after row unless stated otherwise.

mod cholesky;
mod elimination;
mod independent;
mod jacobi;
mod least_squares;

pub(crate) use cholesky::Cholesky;
pub(crate) use elimination::{Lu, invert, norm_1, solve};
pub(crate) use independent::{Independent, diagonal};
pub(crate) use jacobi::{eigenpairs, singular_triplets};
pub(crate) use least_squares::{BlockLeastSquares, LeastSquares};

use crate::prelude::*;

/// The Euclidean norm.
pub(crate) fn norm<A: Field>(x: &[A]) -> f64 {
    let squares = x.iter().map(|x| x.modulus_squared().to_f64());
    squares.sum::<f64>().sqrt()
}
