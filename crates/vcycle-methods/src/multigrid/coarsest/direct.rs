//! The sparse factorisation, where the library is built with it.

use super::registration::{CoarsestMethod, CoarsestRegistration};
use crate::registration::Symmetry;

/// What it says of itself.
pub(super) const DIRECT: CoarsestRegistration = CoarsestRegistration {
    name: "direct",
    summary: "The sparse factorisation `Direct`, where the library is built with it.",
    needs: &[],
    symmetry: Symmetry::Symmetric,
    method: CoarsestMethod::Direct,
};
