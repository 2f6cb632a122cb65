//! Incomplete LU factorisation.

use std::sync::Arc;

use super::registration::SmootherRegistration;
use crate::host_stages;
use crate::precond::Ilu0;
use crate::registration::{Need, Symmetry};

/// [`Ilu0`].
pub(super) const ILU0: SmootherRegistration<usize> = SmootherRegistration {
    names: &["ilu0"],
    summary: "for anisotropy and convection; a few sweeps on a device",
    parameter: "sweeps in place of a triangular solve, 0 for none",
    default: 0,
    writes_default: false,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::Diagonal],
    over_ranks: false,
    on_host: &[host_stages::ILU0],
    factory: |sweeps, _| Arc::new(Ilu0 { sweeps, isai: 0 }),
};
