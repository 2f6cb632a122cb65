//! The unknowns of the next level, with their numbers where ranks share it.

use super::groups::{Groups, LEFT_OUT, numbered};
use super::{Aggregates, CoarseUnknowns, NONE, Nearby, Numbers, Splitting};
use crate::matrix::{DeviceHalo, Halo, LocalNumbers, Partition};
use crate::operations::coarsen::{FOREIGN, renumbered};
use crate::prelude::*;

/// Which of the unknowns (or nodes) nearby are coarse, or what groups they belong to, in local numbers.
pub(in crate::multigrid) struct Choice {
    pub coarse: CoarseUnknowns,
    /// Their numbers on the next level, where ranks share it.
    pub ranks: Option<NextOfRanks>,
}

#[derive(Clone, Debug)]
pub(in crate::multigrid) struct NextOfRanks {
    pub next: NextNumbers,
    /// Those of the first choice, where unknowns are chosen twice.
    pub first: Option<NextNumbers>,
}

/// The numbers of unknowns (or nodes) that are chosen, or of groups.
#[derive(Clone, Debug)]
pub(in crate::multigrid) struct NextNumbers {
    /// Which local number is which of all ranks.
    pub numbers: LocalNumbers,
    /// Which rank has which of them.
    pub partition: Arc<Partition>,
}

impl NextNumbers {
    fn multiplied(&self, width: usize) -> Self {
        Self {
            numbers: self.numbers.multiplied(width),
            partition: Arc::new(self.partition.multiplied(width)),
        }
    }
}

impl NextOfRanks {
    /// Those of the unknowns of these nodes, `width` each.
    pub fn multiplied(&self, width: usize) -> Self {
        Self {
            next: self.next.multiplied(width),
            first: self.first.as_ref().map(|first| first.multiplied(width)),
        }
    }
}

impl Choice {
    /// Of a graph that is here as a whole.
    pub fn here(coarse: CoarseUnknowns) -> Self {
        Self {
            coarse,
            ranks: None,
        }
    }

    /// Unknowns (or nodes) of the next level.
    pub fn count(&self) -> usize {
        match &self.ranks {
            None => self.coarse.count(),
            Some(ranks) => ranks.next.partition.total() as usize,
        }
    }

    /// What was chosen among the rows of a graph, by every rank among its own where several share it. All ranks call it
    /// together.
    pub fn chosen(near: &Nearby, found: Splitting) -> Result<Self> {
        match near.halo() {
            None => Ok(Self::here(CoarseUnknowns::Chosen(found))),
            Some(rows) => Ok(Chosen::new(rows, |row| found.coarse_index[row] != NONE)?.into()),
        }
    }

    /// Groups of own rows, shown to other ranks where there are some. All ranks call it together.
    pub fn grouped(near: &Nearby, groups: Groups) -> Result<Self> {
        let Some(rows) = near.halo() else {
            return Ok(Self::here(CoarseUnknowns::Grouped(groups.aggregates())));
        };
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
        let partition = groups.partition;
        let next = NextNumbers { numbers, partition };
        Ok(Self::of(CoarseUnknowns::Grouped(aggregates), next))
    }

    /// What the devices of ranks have found: for every own row its number among the unknowns (or roots) `chosen` or [`NONE`],
    /// and how many these are; and the one that it belongs to: one of those, another row's ([`FOREIGN`]), or [`NONE`].
    pub fn of_devices(
        near: &DeviceHalo<'_>,
        rows: &Halo,
        (chosen, count): (&Buffer<u32>, usize),
        groups: Option<&Buffer<u32>>,
    ) -> Result<Self> {
        let team = rows.team();
        let partition = Partition::of_counts(team.as_ref(), count)?;
        let own = partition.range(team.rank());
        let of_own = |number: u32| match number {
            NONE => LEFT_OUT,
            number => own.start + u64::from(number),
        };
        let of_others = near.others(chosen, 0, of_own)?;
        let of_others = match groups {
            None => of_others,
            Some(groups) => near.others(groups, 0, |group| match group {
                group if group != NONE && group & FOREIGN != 0 => {
                    of_others[(group ^ FOREIGN) as usize]
                }
                group => of_own(group),
            })?,
        };
        // What own rows belong to besides own groups are roots among the other rows.
        let known = of_others.iter().copied().filter(|&group| group != LEFT_OUT);
        let numbers = LocalNumbers::new(own.clone(), known.collect());
        let local = |&group: &u64| numbers.local(group).unwrap_or(NONE);
        let of_others = (numbers.before(), of_others.iter().map(local).collect());
        let all = renumbered(groups.unwrap_or(chosen), &rows.own(), of_others)?;
        let (all, count) = (Numbers::of_buffer(all), numbers.len());
        let coarse = match groups {
            None => CoarseUnknowns::Chosen(Splitting {
                coarse_index: all,
                coarse_count: count,
            }),
            Some(_) => CoarseUnknowns::Grouped(Aggregates {
                aggregate: all,
                count,
            }),
        };
        let partition = Arc::new(partition);
        Ok(Self::of(coarse, NextNumbers { numbers, partition }))
    }

    fn of(coarse: CoarseUnknowns, next: NextNumbers) -> Self {
        let ranks = Some(NextOfRanks { next, first: None });
        Self { coarse, ranks }
    }
}

/// Unknowns that are chosen among those nearby.
pub(in crate::multigrid) struct Chosen {
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
        Self::of(CoarseUnknowns::Chosen(chosen.splitting), chosen.next)
    }
}

impl From<[Chosen; 2]> for Choice {
    /// A choice, and another one among what it has chosen.
    fn from([first, second]: [Chosen; 2]) -> Self {
        let coarse = CoarseUnknowns::Twice(super::Aggressive {
            first: first.splitting,
            second: second.splitting,
        });
        let ranks = NextOfRanks {
            next: second.next,
            first: Some(first.next),
        };
        Self {
            coarse,
            ranks: Some(ranks),
        }
    }
}
