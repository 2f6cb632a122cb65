//! The unknowns of the next level: a choice among those of this one, or groups of them.

/// Marks an unknown that has no number on the next level.
pub const NONE: u32 = u32::MAX;

/// A choice of coarse unknowns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splitting {
    /// For every unknown its number on the next level, or [`NONE`] if it is fine.
    pub coarse_index: Vec<u32>,
    /// Number of coarse unknowns.
    pub coarse_count: usize,
}

/// Groups of unknowns, each one unknown (or node) of the next level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregates {
    /// For every unknown (or node) its group, or [`NONE`] if it is left out.
    pub aggregate: Vec<u32>,
    /// Number of groups.
    pub count: usize,
}
