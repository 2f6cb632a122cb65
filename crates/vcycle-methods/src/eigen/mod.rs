//! A few eigenvectors: what a matrix nearly annihilates, or grows most.
//!
//! | | finds | needs |
//! |---|---|---|
//! | [`radius_with`] | the largest eigenvalue of `M A` | products |
//! | [`Srqcg`] | the smallest eigenpairs, roughly and cheaply | a preconditioner |
//!
//! The matrices are symmetric. Results are the same for any number of threads.

mod block;
mod radius;
mod srqcg;

pub(crate) use block::are_independent;
pub use block::orthonormalise;
pub use radius::radius_with;
pub(crate) use radius::{radius_by, radius_from, row_sum_bound, row_sum_bound_of, spectral_radius};
pub(crate) use radius::{rounded, scattered};
pub use srqcg::Srqcg;

use crate::prelude::*;

/// Approximate eigenvalues, smallest first, and their vectors, orthonormal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eigenpairs {
    /// The Rayleigh quotients of the vectors.
    pub values: Vec<f64>,
    /// The vectors.
    pub vectors: Vec<Vector<f64>>,
}
