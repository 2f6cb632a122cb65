//! The names of scalings, matchings and orders.

use crate::error::ConfigError;
use crate::text;

/// In which order unknowns are numbered before a preconditioner is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reorder {
    /// As they are given.
    #[default]
    None,
    /// Reverse Cuthill-McKee: neighbours in the graph become neighbours in the numbering, which helps incomplete
    /// factorisations to be accurate.
    Rcm,
    /// Nested dissection: separators last. Little fill, and triangular solves of few levels.
    Nd,
    /// Approximate minimum degree, as the direct solver orders: little fill. Needs a build with the direct solver.
    Amd,
}

impl Reorder {
    /// Every order.
    pub const ALL: [Self; 4] = [Self::None, Self::Rcm, Self::Nd, Self::Amd];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rcm => "rcm",
            Self::Nd => "nd",
            Self::Amd => "amd",
        }
    }
}

text::named!(Reorder, "reorder");

/// Which entries come to the diagonal before a preconditioner is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MatchingKind {
    /// Those that are there.
    #[default]
    None,
    /// Those with the largest product, by moving rows; rows and columns are scaled so that they become 1 and no other
    /// entry is larger (Duff and Koster 2001).
    Mc64,
}

impl MatchingKind {
    /// Every matching.
    pub const ALL: [Self; 2] = [Self::None, Self::Mc64];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Mc64 => "mc64",
        }
    }
}

text::named!(MatchingKind, "match");

/// How rows and columns are scaled before a preconditioner is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Equilibration {
    /// Not at all.
    #[default]
    None,
    /// By the roots of their largest entries, ten times (Ruiz 2001): these approach 1, and a symmetric matrix stays
    /// symmetric.
    Ruiz,
}

impl Equilibration {
    /// Every scaling.
    pub const ALL: [Self; 2] = [Self::None, Self::Ruiz];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ruiz => "ruiz",
        }
    }
}

text::named!(Equilibration, "equilibrate");
