//! What coarsenings look at, find, and say of themselves.

use std::fmt::Debug;
use std::sync::Arc;

use super::{Aggregates, Aggressive, NONE, Splitting};
use crate::error::{Error, Result};
use crate::matrix::{Csr, Pattern};
use crate::multigrid::own::named_stage;

/// What a coarsening looks at.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Graph<'g> {
    /// The matrix of the level, or that of its nodes.
    pub a: &'g Csr<f64>,
    /// Its strong couplings.
    pub strength: &'g Arc<Pattern>,
    /// Members of a group, where that can be chosen.
    pub aggregate_size: usize,
    /// Whether weak couplings make pairs, too, where groups are made of pairs.
    pub weak_pairs: bool,
    /// Of random numbers that break ties.
    pub seed: u64,
}

/// What a coarsening finds.
#[derive(Clone, Debug)]
pub enum CoarseUnknowns {
    /// Some unknowns, those of the next level.
    Chosen(Splitting),
    /// The same, chosen twice.
    Twice(Aggressive),
    /// Groups, each one unknown (or node) of the next level.
    Grouped(Aggregates),
}

impl CoarseUnknowns {
    /// Fails, naming `coarsening`, unless every one of `rows` unknowns has a number that is there.
    pub(super) fn check(&self, coarsening: &'static str, rows: usize) -> Result<()> {
        let (numbers, count) = match self {
            Self::Chosen(splitting) => (&splitting.coarse_index, splitting.coarse_count),
            Self::Twice(both) => (&both.second.coarse_index, both.second.coarse_count),
            Self::Grouped(groups) => (&groups.aggregate, groups.count),
        };
        let wrong = |reason: String| {
            Err(Error::InvalidStructure {
                format: coarsening,
                reason,
            })
        };
        if numbers.len() != rows {
            return wrong(format!("{} numbers for {rows} unknowns", numbers.len()));
        }
        let there = |&number: &u32| number == NONE || (number as usize) < count;
        match numbers.iter().position(|number| !there(number)) {
            None => Ok(()),
            Some(row) => wrong(format!(
                "unknown {row} has number {} of {count}",
                numbers[row]
            )),
        }
    }
}

/// A coarsening of one's own: [`Coarsening::own`](super::Coarsening::own) and
/// [`Coarsening::register`](super::Coarsening::register) take it.
pub trait Coarsen: Debug + Send + Sync {
    /// Its name in reports, and in options and files once it is registered.
    fn name(&self) -> &'static str;

    /// Whether it groups unknowns, and does not choose among them.
    fn groups(&self) -> bool;

    /// Chooses or groups the unknowns of a level.
    ///
    /// # Errors
    /// When that fails; the set-up ends with it.
    fn coarsen(&self, graph: &Graph<'_>) -> Result<CoarseUnknowns>;
}

named_stage!(Coarsen);

/// What a coarsening says of itself, in its own file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CoarseningRegistration {
    /// The name in options and files.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Whether it groups unknowns, and does not choose among them.
    pub groups: bool,
    /// Whether it goes by the matrix alone, not by strong couplings.
    pub(in crate::multigrid) weighs: bool,
    /// Finds the unknowns of the next level.
    pub(in crate::multigrid) coarsen: fn(&Graph<'_>) -> Result<CoarseUnknowns>,
}
