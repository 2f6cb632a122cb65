//! Groups whose members ranks may share.

use std::sync::Arc;

use super::NONE;
use super::choice::{LEFT_OUT, numbered};
use crate::error::Result;
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Distributed, Halo, LocalNumbers, Partition};

/// Groups whose members ranks may share.
pub(in crate::multigrid) struct Groups {
    /// For every own row the number of its group among all, or [`LEFT_OUT`].
    pub of_own: Vec<u64>,
    /// Which rank has which of them.
    pub partition: Arc<Partition>,
}

impl Groups {
    /// Those of roots that are numbered by a halo; a group belongs to the rank of its root. All ranks call it together.
    pub fn of_roots(roots: &[u32], rows: &Halo) -> Result<Self> {
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

    /// Ones from each group to its members.
    pub fn constants(
        &self,
        executor: &Executor,
        rows: &Arc<Partition>,
    ) -> Result<Distributed<f64>> {
        let rank = executor.team().map_or(0, |team| team.rank());
        let kept = self.of_own.iter().filter(|&&group| group != LEFT_OUT);
        let numbers = LocalNumbers::new(self.partition.range(rank), kept.copied().collect());
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
        let own = Csr::from_canonical(&executor.gathering(), size, offsets, columns, ones);
        Distributed::of_numbered(executor, rows, &self.partition, &numbers, own)
    }

    /// The groups of groups, for the rows of these.
    pub fn then(self, rows: &Halo, next: Self) -> Result<Self> {
        let kept = self.of_own.iter().filter(|&&group| group != LEFT_OUT);
        let groups = Halo::new(rows.team(), &self.partition, kept.copied().collect())?;
        let mut of_group = vec![LEFT_OUT; groups.len()];
        of_group[groups.own()].copy_from_slice(&next.of_own);
        groups.refresh(&mut of_group)?;
        let group = |group: &u64| match groups.local(*group) {
            Some(place) if *group != LEFT_OUT => of_group[place as usize],
            _ => LEFT_OUT,
        };
        Ok(Self {
            of_own: self.of_own.iter().map(group).collect(),
            partition: next.partition,
        })
    }
}
