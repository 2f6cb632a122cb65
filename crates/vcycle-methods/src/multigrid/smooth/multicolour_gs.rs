//! Gauss-Seidel colour by colour.

use std::sync::Arc;

use super::registration::SmootherRegistration;
use crate::host_stages::COLOURS;
use crate::precond::MulticolourGs;
use crate::registration::{Need, Symmetry};

/// [`MulticolourGs`].
pub(super) const MULTICOLOUR_GS: SmootherRegistration<f64> = SmootherRegistration {
    names: &["mcgs"],
    summary: "in place of `gs` on many threads, where blocks are too few",
    parameter: "omega",
    default: 1.0,
    writes_default: true,
    symmetry: Symmetry::OneSided,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::Diagonal],
    over_ranks: false,
    on_host: &[COLOURS],
    factory: |omega, _| {
        Arc::new(MulticolourGs {
            omega,
            symmetric: false,
            ..MulticolourGs::default()
        })
    },
};

/// [`MulticolourGs`], forward and backward.
pub(super) const MULTICOLOUR_SGS: SmootherRegistration<f64> = SmootherRegistration {
    names: &["mcsgs"],
    summary: "in place of `sgs` on many threads, where blocks are too few",
    symmetry: Symmetry::Symmetric,
    factory: |omega, _| {
        Arc::new(MulticolourGs {
            omega,
            symmetric: true,
            ..MulticolourGs::default()
        })
    },
    ..MULTICOLOUR_GS
};
