//! What coarsenings look at, find, and say of themselves.

use std::fmt::Debug;
use std::sync::Arc;

use super::choice::Choice;
use super::nearby::Nearby;
use super::{Aggregates, Aggressive, NONE, Numbers, Splitting};
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::matrix::{Csr, Pattern};
use crate::multigrid::own::limits;
use crate::operations::HostStage;

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
    /// Which of the rows are those of other ranks.
    pub(in crate::multigrid) near: &'g Nearby,
    /// Where the matrix of all ranks is.
    pub(in crate::multigrid) rank: &'g Executor,
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
    /// For every unknown (or node) its number, or that of its group, on the next level; and how many there are.
    fn numbers(&self) -> (&Numbers, usize) {
        match self {
            Self::Chosen(splitting) => (&splitting.coarse_index, splitting.coarse_count),
            Self::Twice(both) => (&both.second.coarse_index, both.second.coarse_count),
            Self::Grouped(groups) => (&groups.aggregate, groups.count),
        }
    }

    /// Unknowns (or nodes) of the next level.
    pub(in crate::multigrid) fn count(&self) -> usize {
        self.numbers().1
    }

    /// For every unknown (or node) its number, or that of its group, on the next level.
    pub(in crate::multigrid) fn map(&self) -> Numbers {
        self.numbers().0.clone()
    }

    /// Whether unknowns are grouped.
    pub(in crate::multigrid) fn is_grouped(&self) -> bool {
        matches!(self, Self::Grouped(_))
    }

    /// All unknowns of the nodes that were chosen.
    pub(in crate::multigrid) fn of_nodes(&self, block_size: usize) -> Self {
        match self {
            Self::Chosen(splitting) => Self::Chosen(splitting.of_nodes(block_size)),
            Self::Twice(both) => Self::Twice(Aggressive {
                first: both.first.of_nodes(block_size),
                second: both.second.of_nodes(block_size),
            }),
            Self::Grouped(groups) => Self::Grouped(groups.clone()),
        }
    }

    /// Fails, naming `coarsening`, unless every one of `rows` unknowns has a number that is there.
    pub(super) fn check(&self, coarsening: &'static str, rows: usize) -> Result<()> {
        let (numbers, count) = self.numbers();
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

/// What a coarsening says of itself, in its own file. Every field is asked for: options, help, refusals and messages are
/// made of them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CoarseningRegistration {
    /// The name in options and files.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Whether it groups unknowns, and does not choose among them.
    pub groups: bool,
    /// The options of multigrid that it reads.
    pub reads: &'static [&'static str],
    /// Whether interpolation of complex matrices can go by it.
    pub complex: bool,
    /// Whether it passes over the diagonal of the graph, which may be there then.
    pub(in crate::multigrid) skips_diagonal: bool,
    /// Members of groups by the numbering that take its place where it leaves too many unknowns.
    pub(in crate::multigrid) or_uniform: Option<usize>,
    /// What of it the host does for matrices of a device.
    pub on_host: &'static [HostStage],
    /// Whether it is for own rows of a matrix that ranks share, which call it together.
    pub over_ranks: bool,
    /// Finds the unknowns of the next level.
    pub(in crate::multigrid) coarsen: fn(&Graph<'_>) -> Result<Choice>,
}

impl CoarseningRegistration {
    /// What it does not declare to be for, in words for help.
    pub fn limits(&self) -> String {
        limits(self.over_ranks, self.complex, self.on_host)
    }
}
