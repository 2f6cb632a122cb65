//! Groups whose members ranks may share.

use super::nearby::Nearby;
use super::{Aggregates, NONE};
use crate::matrix::{Halo, LocalNumbers, Partition};
use crate::prelude::*;

/// No group, among global numbers.
pub(in crate::multigrid) const LEFT_OUT: u64 = u64::MAX;

/// Groups whose members ranks may share; without ranks one has them all.
pub(in crate::multigrid) struct Groups {
    /// For every own row the number of its group among all, or [`LEFT_OUT`].
    pub of_own: Vec<u64>,
    /// Which rank has which of them.
    pub partition: Arc<Partition>,
}

impl Groups {
    /// Those of roots among rows nearby; a group belongs to the rank of its root. All ranks call it together.
    pub fn of_roots(roots: &[u32], near: &Nearby) -> Result<Self> {
        let Some(rows) = near.halo() else {
            return Ok(Self::of_one(&Aggregates::of_roots(roots)));
        };
        let (partition, of_root) = numbered(rows, |row| roots[row] as usize == row)?;
        let group = |&root: &u32| match root {
            NONE => LEFT_OUT,
            root => of_root[root as usize],
        };
        Ok(Self {
            of_own: roots[rows.own()].iter().map(group).collect(),
            partition: Arc::new(partition),
        })
    }

    /// Groups of rows that are all here.
    fn of_one(groups: &Aggregates) -> Self {
        let group = |&group: &u32| match group {
            NONE => LEFT_OUT,
            group => group.into(),
        };
        Self {
            of_own: groups.aggregate.iter().map(group).collect(),
            partition: Arc::new(Partition::even(groups.count as u64, 1, 1)),
        }
    }

    /// The same in local numbers, where all rows are here.
    pub fn aggregates(&self) -> Aggregates {
        let group = |&group: &u64| match group {
            LEFT_OUT => NONE,
            group => group as u32,
        };
        Aggregates {
            aggregate: self.of_own.iter().map(group).collect(),
            count: self.partition.total() as usize,
        }
    }

    /// The groups of own rows that a rank does not have itself.
    fn foreign(&self, rank: usize) -> Vec<u64> {
        let own = self.partition.range(rank);
        let groups = self.of_own.iter().copied();
        groups
            .filter(|group| *group != LEFT_OUT && !own.contains(group))
            .collect()
    }

    /// Ones from each group to its members among own rows, and the numbers of its columns.
    pub fn ones(&self, executor: &Executor, rank: usize) -> (Csr<f64>, LocalNumbers) {
        let numbers = LocalNumbers::new(self.partition.range(rank), self.foreign(rank));
        let local = |&group: &u64| numbers.local(group);
        let columns: Vec<u32> = self.of_own.iter().filter_map(local).collect();
        let mut end = 0;
        let ends = self.of_own.iter().map(|&group| {
            end += usize::from(group != LEFT_OUT);
            end
        });
        let offsets = [0].into_iter().chain(ends).collect();
        let size = Size::new(self.of_own.len(), numbers.len());
        let ones = vec![1.0; columns.len()];
        let own = Csr::from_canonical(executor, size, offsets, columns, ones);
        (own, numbers)
    }

    /// The same as a matrix that ranks share.
    pub fn constants(
        &self,
        executor: &Executor,
        rows: &Arc<Partition>,
    ) -> Result<Distributed<f64>> {
        let rank = executor.team().map_or(0, |team| team.rank());
        let (own, numbers) = self.ones(&executor.gathering(), rank);
        Distributed::of_numbered(executor, rows, &self.partition, &numbers, own)
    }

    /// The groups of groups, for the rows of these.
    pub fn then(self, near: &Nearby, next: Self) -> Result<Self> {
        let (of_group, local): (Vec<u64>, Option<Halo>) = match near.halo() {
            None => (next.of_own, None),
            Some(rows) => {
                let others = self.foreign(rows.team().rank());
                let groups = Halo::new(rows.team(), &self.partition, others)?;
                let mut of_group = vec![LEFT_OUT; groups.len()];
                of_group[groups.own()].copy_from_slice(&next.of_own);
                groups.refresh(&mut of_group)?;
                (of_group, Some(groups))
            }
        };
        let group = |&group: &u64| match (group, &local) {
            (LEFT_OUT, _) => LEFT_OUT,
            (group, None) => of_group[group as usize],
            (group, Some(groups)) => {
                let place = groups.local(group);
                place.map_or(LEFT_OUT, |place| of_group[place as usize])
            }
        };
        Ok(Self {
            of_own: self.of_own.iter().map(group).collect(),
            partition: next.partition,
        })
    }
}

/// Own ones are numbered from the first of this rank on, and shown to others.
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
