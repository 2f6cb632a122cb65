//! The diagonal, damped.

use std::sync::Arc;

use super::registration::SmootherRegistration;
use crate::precond::Jacobi;
use crate::registration::{Need, Symmetry};

/// [`Jacobi`].
pub(super) const JACOBI: SmootherRegistration<f64> = SmootherRegistration {
    names: &["jacobi"],
    summary: "for Poisson-like problems, where it is a little faster",
    parameter: "weight",
    default: 2.0 / 3.0,
    writes_default: true,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: true,
    needs: &[Need::Diagonal],
    over_ranks: true,
    on_host: &[],
    factory: |weight, _| Arc::new(Jacobi { weight }),
};
