//! The diagonal of absolute row sums.

use std::sync::Arc;

use super::registration::SmootherRegistration;
use crate::precond::L1Jacobi;
use crate::registration::{Need, Symmetry};

/// No eigenvalue of a matrix over its absolute row sums is above 1: any weight below 2 converges, and
/// this one damps those from a third on best, to a half. A sixth to a quarter fewer iterations than 1.
const L1_WEIGHT: f64 = 1.5;

/// [`L1Jacobi`].
pub(super) const L1_JACOBI: SmootherRegistration<f64> = SmootherRegistration {
    names: &["l1-jacobi"],
    summary: "for nonsymmetric and classical hierarchies: converges for every symmetric positive definite matrix",
    parameter: "weight",
    default: L1_WEIGHT,
    writes_default: false,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: true,
    needs: &[Need::Entries],
    over_ranks: true,
    on_host: &[],
    factory: |weight, _| Arc::new(L1Jacobi { weight }),
};
