//! Gauss-Seidel within blocks of rows.

use std::sync::Arc;

use super::registration::SmootherRegistration;
use crate::precond::HybridGs;
use crate::registration::{Need, Symmetry};

/// [`HybridGs`].
pub(super) const HYBRID_GS: SmootherRegistration<usize> = SmootherRegistration {
    names: &["hgs"],
    summary: "in place of `gs` on more threads; converges as `l1-jacobi` does",
    parameter: "rows of a block",
    default: 4096,
    writes_default: true,
    symmetry: Symmetry::OneSided,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::Diagonal],
    over_ranks: false,
    on_host: &[],
    factory: |block_rows, _| {
        Arc::new(HybridGs {
            block_rows,
            symmetric: false,
            ..HybridGs::default()
        })
    },
};

/// [`HybridGs`], forward and backward.
pub(super) const HYBRID_SGS: SmootherRegistration<usize> = SmootherRegistration {
    names: &["hsgs"],
    summary: "in place of `sgs` on more threads",
    symmetry: Symmetry::Symmetric,
    factory: |block_rows, _| {
        Arc::new(HybridGs {
            block_rows,
            symmetric: true,
            ..HybridGs::default()
        })
    },
    ..HYBRID_GS
};
