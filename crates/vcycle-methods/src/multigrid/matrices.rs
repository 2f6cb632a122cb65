//! The matrices that a set-up makes.

use std::sync::Arc;

use crate::matrix::Csr;

/// The matrices of one level, in double precision.
#[derive(Debug)]
pub(super) struct Matrices {
    /// Of this level.
    pub a: Arc<Csr<f64>>,
    /// To and from the next one; none on the coarsest level.
    pub transfer: Option<Transfer>,
    /// The spectral radius of `D^-1 A` with the diagonal `D`, if it is known. No scaling of rows
    /// and columns changes it.
    pub radius: Option<f64>,
}

impl Matrices {
    /// A level without a next one yet.
    pub fn new(a: Arc<Csr<f64>>) -> Self {
        Self {
            a,
            transfer: None,
            radius: None,
        }
    }
}

/// The ways to the next level and back.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub restriction: Arc<Csr<f64>>,
    pub prolongation: Arc<Csr<f64>>,
}
