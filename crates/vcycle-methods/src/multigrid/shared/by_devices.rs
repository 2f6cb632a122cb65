//! The unknowns of the next level by the devices of ranks.

use std::sync::Arc;

use super::choice::{Choice, NextNumbers};
use super::matching::LEFT_OUT;
use crate::error::Result;
use crate::executor::Buffer;
use crate::matrix::{DeviceHalo, Halo, LocalNumbers, Partition, Pattern};
use crate::multigrid::amg::Amg;
use crate::multigrid::coarsen::{
    Aggregates, Coarsening, NONE, Numbers, Splitting, mis2_by_device, pmis_by_device,
};
use crate::multigrid::coarsened::Coarsened;
use crate::operations::coarsen::{FOREIGN, renumbered};

impl Choice {
    /// What the devices of ranks choose; none where the graph is on the host, and where they have no kernels for it. All ranks
    /// call it together.
    pub(super) fn by_devices(
        amg: &Amg,
        strength: &Arc<Pattern>,
        rows: &Halo,
    ) -> Result<Option<Self>> {
        let near = DeviceHalo::new(rows, strength.executor());
        match amg.coarsening {
            Coarsening::Mis2 => {
                let Some(found) = mis2_by_device(strength, amg.seed, &near)? else {
                    return Ok(None);
                };
                let own = OwnNumbers {
                    near,
                    chosen: &found.roots,
                    count: found.count,
                };
                let (aggregate, next) = own.of_all(rows, &found.groups)?;
                let count = next.numbers.len();
                let groups = Aggregates { aggregate, count };
                Ok(Some(Self::of(Coarsened::Grouped(groups), next)))
            }
            Coarsening::Pmis => {
                let Some((chosen, count)) = pmis_by_device(strength, amg.seed, &near)? else {
                    return Ok(None);
                };
                let own = OwnNumbers {
                    near,
                    chosen: &chosen,
                    count,
                };
                let (coarse_index, next) = own.of_all(rows, &chosen)?;
                let splitting = Splitting {
                    coarse_index,
                    coarse_count: next.numbers.len(),
                };
                Ok(Some(Self::of(Coarsened::Chosen(splitting), next)))
            }
            _ => Ok(None),
        }
    }

    fn of(coarsened: Coarsened, next: NextNumbers) -> Self {
        Self {
            coarsened,
            next,
            first: None,
        }
    }
}

/// The unknowns or roots that devices have chosen among own rows.
struct OwnNumbers<'a> {
    near: DeviceHalo<'a>,
    /// For every own row its number among them, or [`NONE`].
    chosen: &'a Buffer<u32>,
    count: usize,
}

impl OwnNumbers<'_> {
    /// The number of every row nearby on the next level, by what each own row belongs to: one of those chosen, another row's
    /// ([`FOREIGN`]), or [`NONE`].
    fn of_all(&self, rows: &Halo, groups: &Buffer<u32>) -> Result<(Numbers, NextNumbers)> {
        let team = rows.team();
        let partition = Partition::of_counts(team.as_ref(), self.count)?;
        let own = partition.range(team.rank());
        let of_own = |number: u32| match number {
            NONE => LEFT_OUT,
            number => own.start + u64::from(number),
        };
        let chosen = self.near.others(self.chosen, 0, of_own)?;
        let of_others = self.near.others(groups, 0, |group| match group {
            group if group != NONE && group & FOREIGN != 0 => chosen[(group ^ FOREIGN) as usize],
            group => of_own(group),
        })?;
        // What own rows belong to besides own groups are roots among the other rows.
        let known = of_others.iter().copied().filter(|&group| group != LEFT_OUT);
        let numbers = LocalNumbers::new(own.clone(), known.collect());
        let local = |&group: &u64| numbers.local(group).unwrap_or(NONE);
        let of_others = (numbers.before(), of_others.iter().map(local).collect());
        let all = renumbered(groups, &rows.own(), of_others)?;
        let next = NextNumbers {
            numbers,
            partition: Arc::new(partition),
        };
        Ok((Numbers::of_buffer(all), next))
    }
}
