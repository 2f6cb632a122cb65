//! Factorised sparse approximate inverse, damped so that it converges.

use std::sync::Arc;

use super::damped::Damped;
use super::registration::SmootherRegistration;
use crate::precond::Fsai;
use crate::registration::{Need, Symmetry};

/// [`Fsai`], damped so that it converges.
pub(super) const FSAI: SmootherRegistration<usize> = SmootherRegistration {
    names: &["fsai"],
    summary: "for ill-conditioned symmetric positive definite matrices on many threads; damped by itself",
    parameter: "steps",
    default: 10,
    writes_default: true,
    symmetry: Symmetry::Symmetric,
    multiplies_alone: false,
    needs: &[Need::Entries, Need::DefiniteMatrix],
    factory: |steps, _| {
        Arc::new(Damped(Fsai {
            steps,
            ..Fsai::default()
        }))
    },
};
