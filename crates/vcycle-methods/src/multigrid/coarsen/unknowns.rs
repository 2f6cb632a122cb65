//! What coarsenings find.

use super::{Aggregates, Aggressive, NONE, Numbers, Splitting};
use crate::error::{Error, Result};

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
