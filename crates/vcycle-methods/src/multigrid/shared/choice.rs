//! The unknowns of the next level over ranks.

use std::sync::Arc;

use super::blocks::hmis_shared;
use super::matching::{Groups, LEFT_OUT};
use super::twice::twice;
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::{Halo, LocalNumbers, Partition};
use crate::multigrid::amg::Amg;
use crate::multigrid::coarsen::{
    Aggregates, Aggressive, Coarsening, NONE, Nearby, Splitting, block_rows, mis2_roots,
    pmis_shared,
};
use crate::multigrid::coarsened::Coarsened;
use crate::multigrid::systems::View;

/// Which of the unknowns (or nodes) nearby are coarse, or what groups they belong to; with the numbers of these on the
/// next level.
pub(super) struct Choice {
    /// In local numbers.
    pub coarsened: Coarsened,
    pub next: NextNumbers,
    /// Those of the first choice, where unknowns are chosen twice.
    pub first: Option<NextNumbers>,
}

/// The numbers of unknowns (or nodes) that are chosen, or of groups.
#[derive(Clone, Debug)]
pub(super) struct NextNumbers {
    /// Which local number is which of all ranks.
    pub numbers: LocalNumbers,
    /// Which rank has which of them.
    pub partition: Arc<Partition>,
}

impl NextNumbers {
    /// Those of the unknowns of these nodes, `width` each.
    pub fn multiplied(&self, width: usize) -> Self {
        Self {
            numbers: self.numbers.multiplied(width),
            partition: Arc::new(self.partition.multiplied(width)),
        }
    }
}

impl Choice {
    /// Decides on the rows of a view, which lie as a halo says.
    pub fn new(executor: &Executor, amg: &Amg, view: &View<'_>, rows: &Arc<Halo>) -> Result<Self> {
        let (strength, seed) = (view.strength(), amg.seed);
        if let Some(found) = Self::by_devices(amg, strength, rows)? {
            return Ok(found);
        }
        let near = Nearby::of(rows);
        let chosen =
            |found: Splitting| Ok(Chosen::new(rows, |row| found.coarse_index[row] != NONE)?.into());
        match amg.coarsening {
            Coarsening::Mis2 => {
                let roots = mis2_roots(strength, seed, &near)?;
                Self::grouped(Groups::of_roots(&roots, rows)?, rows)
            }
            Coarsening::Pgm => {
                let groups = Groups::matched(executor, amg, view.matrix(), rows)?;
                Self::grouped(groups, rows)
            }
            Coarsening::Uniform => Self::grouped(Groups::uniform(rows, amg.aggregate_size)?, rows),
            Coarsening::Hmis => {
                let length = block_rows(rows.partition().total());
                chosen(hmis_shared(executor, strength, seed, rows, length)?)
            }
            Coarsening::PmisAggressive => {
                let [first, second] = twice(executor, strength, seed, rows)?;
                Ok(Self {
                    coarsened: Coarsened::Twice(Aggressive {
                        first: first.splitting,
                        second: second.splitting,
                    }),
                    next: second.next,
                    first: Some(first.next),
                })
            }
            _ => chosen(pmis_shared(strength, seed, &near)?),
        }
    }

    /// Groups of own rows, told to other ranks.
    pub fn grouped(groups: Groups, rows: &Halo) -> Result<Self> {
        let mut all = vec![LEFT_OUT; rows.len()];
        all[rows.own()].copy_from_slice(&groups.of_own);
        rows.refresh(&mut all)?;
        let known = all.iter().copied().filter(|&group| group != LEFT_OUT);
        let own = groups.partition.range(rows.team().rank());
        let numbers = LocalNumbers::new(own, known.collect());
        let local = |&group: &u64| match group {
            LEFT_OUT => NONE,
            group => numbers.local(group).unwrap_or(NONE),
        };
        let aggregates = Aggregates {
            aggregate: all.iter().map(local).collect(),
            count: numbers.len(),
        };
        Ok(Self {
            coarsened: Coarsened::Grouped(aggregates),
            next: NextNumbers {
                numbers,
                partition: groups.partition,
            },
            first: None,
        })
    }
}

/// Own ones are numbered from the first of this rank on, and told to others.
pub(super) fn numbered(
    rows: &Halo,
    is_coarse: impl Fn(usize) -> bool,
) -> Result<(Partition, Vec<u64>)> {
    let own = rows.own();
    let count = own.clone().filter(|&row| is_coarse(row)).count();
    let partition = Partition::of_counts(rows.team().as_ref(), count)?;
    let mut numbers = vec![LEFT_OUT; rows.len()];
    let own_numbers = partition.range(rows.team().rank());
    for (number, row) in own_numbers.zip(own.filter(|&row| is_coarse(row))) {
        numbers[row] = number;
    }
    rows.refresh(&mut numbers)?;
    Ok((partition, numbers))
}

/// Unknowns that are chosen among those nearby.
pub(super) struct Chosen {
    pub splitting: Splitting,
    pub next: NextNumbers,
}

impl Chosen {
    /// Those for which it holds on the rank that has them. All ranks call it together.
    pub fn new(rows: &Halo, is_coarse: impl Fn(usize) -> bool) -> Result<Self> {
        let (partition, of_all) = numbered(rows, is_coarse)?;
        // Both are numbered in the order of the rows.
        let splitting = Splitting::of(rows.len(), |row| of_all[row] != LEFT_OUT);
        let known = of_all.into_iter().filter(|&number| number != LEFT_OUT);
        let own = partition.range(rows.team().rank());
        Ok(Self {
            splitting,
            next: NextNumbers {
                numbers: LocalNumbers::new(own, known.collect()),
                partition: Arc::new(partition),
            },
        })
    }
}

impl From<Chosen> for Choice {
    fn from(chosen: Chosen) -> Self {
        Self {
            coarsened: Coarsened::Chosen(chosen.splitting),
            next: chosen.next,
            first: None,
        }
    }
}
