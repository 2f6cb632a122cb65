//! Gauss-Seidel and over-relaxation.

use std::sync::Arc;

use super::registration::SmootherRegistration;
use crate::host_stages::TRIANGLES;
use crate::precond::{Sor, Ssor};
use crate::registration::{Need, Symmetry};

/// [`Sor`]; Gauss-Seidel for `omega = 1`.
pub(super) const SOR: SmootherRegistration<f64> = SmootherRegistration {
    names: &["gs", "sor"],
    summary: "on few threads; backward after the correction if the matrix is symmetric",
    parameter: "omega",
    default: 1.0,
    writes_default: false,
    symmetry: Symmetry::OneSided,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::Diagonal],
    over_ranks: false,
    on_host: &[TRIANGLES],
    factory: |omega, _| {
        Arc::new(Sor {
            omega,
            ..Sor::default()
        })
    },
};

/// [`Ssor`]; symmetric Gauss-Seidel for `omega = 1`.
pub(super) const SSOR: SmootherRegistration<f64> = SmootherRegistration {
    names: &["sgs", "ssor"],
    summary: "on few threads, where one sweep has to be symmetric",
    symmetry: Symmetry::Symmetric,
    factory: |omega, _| {
        Arc::new(Ssor {
            omega,
            ..Ssor::default()
        })
    },
    ..SOR
};
