//! The smoothers of the other levels.

use super::registration::{CoarsestMethod, CoarsestRegistration};
use crate::registration::Symmetry;

/// What it says of itself.
pub(super) const SMOOTHER: CoarsestRegistration = CoarsestRegistration {
    name: "smoother",
    summary: "The sweeps of the other levels, before and after.",
    needs: &[],
    symmetry: Symmetry::Symmetric,
    on_host: &[],
    method: CoarsestMethod::Smoother,
};
