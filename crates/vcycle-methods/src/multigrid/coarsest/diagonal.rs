//! The inverse of the diagonal.

use std::sync::Arc;

use super::registration::{CoarsestMethod, CoarsestRegistration};
use crate::precond::Jacobi;
use crate::registration::{Need, Symmetry};

/// What it says of itself.
pub(super) const DIAGONAL: CoarsestRegistration = CoarsestRegistration {
    name: "diagonal",
    summary: "The inverse of the diagonal, exact for a diagonal matrix.",
    needs: &[Need::Diagonal],
    symmetry: Symmetry::Symmetric,
    on_host: &[],
    method: CoarsestMethod::Factory(|| Arc::new(Jacobi::default())),
};
