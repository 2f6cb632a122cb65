//! The matrices that a set-up makes.

use std::sync::Arc;

use super::coarsest::KeptFactors;
use crate::matrix::Csr;
use crate::scalar::Scalar;

/// The matrices of one level, in double precision, real or complex.
#[derive(Debug)]
pub(super) struct Matrices<V: Scalar = f64> {
    /// Of this level.
    pub a: Arc<Csr<V>>,
    /// To and from the next one; none on the coarsest level.
    pub transfer: Option<Transfer<V>>,
    /// The spectral radius of `D^-1 A` with the diagonal `D`, if it is known. No scaling of rows
    /// and columns changes it.
    pub radius: Option<f64>,
    /// What a factorisation of the level can take over from others.
    pub factors: KeptFactors,
}

impl<V: Scalar> Matrices<V> {
    /// A level without a next one yet.
    pub fn new(a: Arc<Csr<V>>) -> Self {
        Self {
            a,
            transfer: None,
            radius: None,
            factors: KeptFactors::default(),
        }
    }
}

/// The ways to the next level and back.
#[derive(Clone, Debug)]
pub(super) struct Transfer<V: Scalar = f64> {
    pub restriction: Arc<Csr<V>>,
    pub prolongation: Arc<Csr<V>>,
}
