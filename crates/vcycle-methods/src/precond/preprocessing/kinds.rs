//! The names of scalings, matchings and orders.

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

text::named!(Reorder, "reorder": None = "none", Rcm = "rcm", Nd = "nd", Amd = "amd");

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

text::named!(MatchingKind, "match": None = "none", Mc64 = "mc64");

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

text::named!(Equilibration, "equilibrate": None = "none", Ruiz = "ruiz");
