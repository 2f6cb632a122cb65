//! The unknowns of the next level: a choice among those of this one, or groups of them.
//!
//! - A choice, for classical interpolation, of the graph of strong couplings: [`pmis`], [`hmis`],
//!   [`ruge_stueben`], [`aggressive`].
//! - Groups, for interpolation by aggregation: [`pgm`] of the matrix, [`mis2`] and [`greedy`] of
//!   the graph of strong couplings, [`uniform`] of the numbering alone.
//!
//! All are the same for any number of threads; those with a seed change with nothing but it.

mod aggressive;
mod choice;
#[cfg(test)]
mod every_third;
mod greedy;
mod groups;
mod hmis;
mod kind;
mod mis2;
mod nearby;
mod numbers;
mod pgm;
mod pmis;
mod registration;
mod rounds;
mod ruge_stueben;
#[cfg(test)]
mod tests;
mod uniform;

pub use aggressive::aggressive;
pub(in crate::multigrid) use choice::{Choice, Chosen, NextNumbers, NextOfRanks};
pub use greedy::greedy;
pub(crate) use greedy::most_common;
pub(in crate::multigrid) use groups::{Groups, LEFT_OUT};
pub use hmis::hmis;
pub use kind::Coarsening;
pub use mis2::mis2;
pub(in crate::multigrid) use nearby::{Nearby, spread_over};
pub use numbers::Numbers;
pub use pgm::pgm;
pub use pmis::pmis;
pub use registration::{Coarsen, CoarseningRegistration, Graph};
pub use ruge_stueben::ruge_stueben;
pub use uniform::uniform;
pub(in crate::multigrid) use uniform::uniform_near;

use std::ops::Range;

use crate::error::check_square;
use crate::prelude::*;

/// Marks an unknown that has no number on the next level.
pub const NONE: u32 = u32::MAX;

/// A choice of coarse unknowns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splitting {
    /// For every unknown its number on the next level, or [`NONE`] if it is fine.
    pub coarse_index: Numbers,
    /// Number of coarse unknowns.
    pub coarse_count: usize,
}

/// Groups of unknowns, each one unknown (or node) of the next level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregates {
    /// For every unknown (or node) its group, or [`NONE`] if it is left out.
    pub aggregate: Numbers,
    /// Number of groups.
    pub count: usize,
}

/// Both choices of an [`aggressive`] coarsening; interpolation in two stages needs the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggressive {
    /// The choice among all unknowns.
    pub first: Splitting,
    /// The choice among those of the first, told for all unknowns.
    pub second: Splitting,
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

    pub(in crate::multigrid) fn count(&self) -> usize {
        self.numbers().1
    }

    /// For every unknown (or node) its number, or that of its group, on the next level.
    pub(in crate::multigrid) fn map(&self) -> Numbers {
        self.numbers().0.clone()
    }

    pub(in crate::multigrid) fn is_grouped(&self) -> bool {
        matches!(self, Self::Grouped(_))
    }

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
    fn check(&self, coarsening: &'static str, rows: usize) -> Result<()> {
        let (numbers, count) = self.numbers();
        let wrong = |reason: String| Err(Error::structure(coarsening, reason));
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

impl Splitting {
    /// Numbers that a device has found, and how many are coarse.
    pub(super) fn of_device((numbers, coarse_count): (Buffer<u32>, usize)) -> Self {
        Self {
            coarse_index: Numbers::of_buffer(numbers),
            coarse_count,
        }
    }

    /// Numbers those of `n` unknowns that are coarse, in their order.
    pub(super) fn of(n: usize, is_coarse: impl Fn(usize) -> bool) -> Self {
        let (coarse_index, coarse_count) = number(n, is_coarse);
        Self {
            coarse_index: coarse_index.into(),
            coarse_count,
        }
    }

    /// What vectors are at the coarse unknowns.
    pub(in crate::multigrid) fn of_coarse(&self, vectors: &[Vec<f64>]) -> Arc<[Vec<f64>]> {
        let numbers = self.coarse_index.iter().enumerate();
        let coarse: Vec<usize> = numbers
            .filter(|&(_, &number)| number != NONE)
            .map(|(unknown, _)| unknown)
            .collect();
        let chosen = |vector: &Vec<f64>| coarse.iter().map(|&unknown| vector[unknown]).collect();
        vectors.iter().map(chosen).collect()
    }

    /// Those among some rows, numbered from 0 on.
    pub(in crate::multigrid) fn of_rows(&self, rows: Range<usize>) -> Self {
        Self::of(self.coarse_index.len(), |row| {
            rows.contains(&row) && self.coarse_index[row] != NONE
        })
    }

    pub(in crate::multigrid) fn of_nodes(&self, block_size: usize) -> Self {
        let size = block_size as u32;
        let of_node = |&index: &u32| {
            let part = move |part| match index {
                NONE => NONE,
                index => index * size + part,
            };
            (0..size).map(part)
        };
        Self {
            coarse_index: self.coarse_index.iter().flat_map(of_node).collect(),
            coarse_count: self.coarse_count * block_size,
        }
    }
}

impl Aggregates {
    /// Groups by their roots, numbered in the order of these.
    fn of_roots(roots: &[u32]) -> Self {
        let (numbers, count) = number(roots.len(), |row| roots[row] as usize == row);
        let group = |&root: &u32| match root {
            NONE => NONE,
            root => numbers[root as usize],
        };
        Self {
            aggregate: roots.iter().map(group).collect(),
            count,
        }
    }

    /// Groups that a device has found, and how many there are.
    fn of_device((groups, count): (Buffer<u32>, usize)) -> Self {
        Self {
            aggregate: Numbers::of_buffer(groups),
            count,
        }
    }
}

/// Numbers those of `0..n` that are `chosen`; the others get [`NONE`].
pub(in crate::multigrid) fn number(n: usize, chosen: impl Fn(usize) -> bool) -> (Vec<u32>, usize) {
    let mut next = 0;
    let number = |index| {
        if !chosen(index) {
            return NONE;
        }
        next += 1;
        next - 1
    };
    let numbers = (0..n).map(number).collect();
    (numbers, next as usize)
}
