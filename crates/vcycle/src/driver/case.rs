//! A matrix and a configuration as the rules see them.

use super::facts::Findings;
use crate::configuration::{Config, MatchingKind};
use crate::matrix::Facts;
use crate::multigrid::NearNullspace;

/// This part of the rows has to be diagonally dominant for multigrid without symmetry.
const DOMINANT: f64 = 0.9;
/// This part of the rows has to be strongly dominant for its diagonal to be preconditioner enough.
const NEARLY_ALL: f64 = 0.99;
/// Up to this many rows a factorisation is quicker than any analysis.
pub(super) const SMALL: usize = 2_000;
/// Up to this many rows a matrix that looks ill-conditioned is factorised.
pub(super) const DOUBTFUL: usize = 10_000;
/// Entries so many times others make a matrix look ill-conditioned.
const RANGE: f64 = 1e6;
/// Up to this many rows a factorisation is worth its memory when the first choice has failed.
pub(super) const MEDIUM: usize = 50_000;

/// What a rule looks at.
pub(super) struct Case<'c> {
    pub config: &'c Config,
    pub known: Option<&'c NearNullspace>,
    pub found: &'c Findings,
}

impl Case<'_> {
    pub fn facts(&self) -> &Facts {
        &self.found.facts
    }

    pub fn is_any(&self) -> bool {
        true
    }

    pub fn can_factorise(&self, rows: usize) -> bool {
        cfg!(feature = "direct") && !self.found.ranks && self.facts().rows <= rows
    }

    /// Whether an incomplete factorisation is worth a try before the matrix is factorised.
    pub fn is_expensive_to_factorise(&self) -> bool {
        self.can_factorise(MEDIUM) && self.facts().rows > DOUBTFUL && self.has_full_diagonal()
    }

    /// Whether structured multigrid is to be had: in double precision, for a matrix that is regular.
    pub fn has_stencil(&self) -> bool {
        let config = self.config;
        let in_double = config
            .precision
            .is_none_or(|precision| precision.is_double());
        let found = self.found;
        found.stencil && !found.singular && in_double
    }

    /// Whether the matrix may be positive definite.
    pub fn is_definite(&self) -> bool {
        self.facts().hermitian && self.facts().positive_diagonal()
    }

    pub fn is_real_definite(&self) -> bool {
        self.is_definite() && !self.facts().complex
    }

    pub fn is_general(&self) -> bool {
        !self.facts().hermitian && self.has_full_diagonal()
    }

    /// Whether no preconditioner divides by zero.
    pub fn has_full_diagonal(&self) -> bool {
        let asked = self.config.matching.unwrap_or_default();
        self.facts().full_diagonal() || asked != MatchingKind::None
    }

    pub fn is_dominant(&self) -> bool {
        let facts = self.facts();
        facts.symmetric_pattern && facts.dominant_rows >= DOMINANT
    }

    /// Whether entries are of very different size, or rows are not dominated by their diagonal, as those of plates, shells and
    /// high order; of elasticity that is known to be harmless.
    pub fn looks_ill_conditioned(&self) -> bool {
        let facts = self.facts();
        facts.dominant_rows < DOMINANT && !self.has_rigid_bodies()
            || facts.largest > RANGE * facts.smallest
    }

    /// Whether that holds but for a few rows, which cost a few iterations more.
    pub fn is_strongly_dominant(&self) -> bool {
        self.facts().strongly_dominant_rows >= NEARLY_ALL
    }

    pub fn has_rigid_bodies(&self) -> bool {
        self.known.is_some_and(NearNullspace::has_rigid_bodies)
    }

    /// Whether several unknowns a node are all that is known.
    pub fn has_nodes(&self) -> bool {
        self.known.is_some_and(|known| known.block_size() > 1) && !self.has_rigid_bodies()
    }
}
