//! Blocks on the diagonal, damped.

use std::sync::Arc;

use super::registration::SmootherRegistration;
use crate::precond::BlockJacobi;
use crate::registration::{Need, Symmetry};

/// Undamped, blocks overcorrect as points do.
const BLOCK_WEIGHT: f64 = 2.0 / 3.0;

/// [`BlockJacobi`].
pub(super) const BLOCK_JACOBI: SmootherRegistration<usize> = SmootherRegistration {
    names: &["block-jacobi"],
    summary: "for several unknowns a node; damped by 2/3",
    parameter: "block size",
    default: 8,
    writes_default: true,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: false,
    needs: &[Need::Entries],
    over_ranks: false,
    on_host: &[],
    factory: |block_size, _| {
        Arc::new(BlockJacobi {
            block_size,
            weight: BLOCK_WEIGHT,
            ..BlockJacobi::default()
        })
    },
};
