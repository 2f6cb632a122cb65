//! Groups of pairs (PGM) and of consecutive rows over ranks.

use std::sync::Arc;

use super::choice::numbered;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Distributed, Halo, LocalNumbers, Partition, galerkin_shared};
use crate::multigrid::amg::Amg;
use crate::multigrid::coarsen::{NONE, Nearby, couplings_of, matched_roots, matchings, pairs};

/// No group, among global numbers.
pub(super) const LEFT_OUT: u64 = u64::MAX;

/// Groups whose members ranks may share.
pub(super) struct Groups {
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

    /// Those of `size` consecutive rows; a group belongs to the rank of its first one.
    pub fn uniform(rows: &Halo, size: usize) -> Result<Self> {
        if size == 0 {
            let reason = "a group has at least one unknown";
            return Err(Error::bad_parameter("size", reason.to_owned()));
        }
        let (own, size) = (rows.own_rows(), size as u64);
        let count = own.end.div_ceil(size) - own.start.div_ceil(size);
        Ok(Self {
            of_own: own.map(|row| row / size).collect(),
            partition: Arc::new(Partition::of_counts(rows.team().as_ref(), count as usize)?),
        })
    }

    /// Those of the strongest couplings of a matrix of rows nearby, as
    /// [`pgm`](crate::multigrid::coarsen::pgm) makes them. All ranks call it together.
    pub fn matched(executor: &Executor, amg: &Amg, a: &Csr<f64>, rows: &Arc<Halo>) -> Result<Self> {
        let matchings = matchings(amg.aggregate_size)?;
        let partition = rows.partition();
        let own = couplings_of(a)?.row_range(rows.own())?;
        let mut weights = Distributed::of_numbered(executor, partition, partition, rows, own)?;
        let mut groups: Option<Self> = None;
        for matching in 0..matchings {
            let near = weights.surrounded(1, 1)?;
            let (of, nearby) = ((pairs(amg.weak_pairs), amg.seed), Nearby::of(&near.halo));
            let roots = matched_roots(&near.matrix, of, &nearby, matching > 0)?;
            let step = Self::of_roots(&roots, &near.halo)?;
            if matching + 1 < matchings {
                let p = step.constants(executor, weights.rows())?;
                weights = galerkin_shared(&p.transpose()?, &weights, &p)?;
            }
            groups = Some(match groups {
                None => step,
                Some(before) => before.then(rows, step)?,
            });
        }
        Ok(groups.expect("groups have two members at least"))
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
    fn then(self, rows: &Halo, next: Self) -> Result<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Duplicates;
    use crate::multigrid::coarsen::pgm;
    use vcycle_core::communicator::threads;

    /// Weights that grow along a line: a pair a round.
    fn growing(n: u32) -> Csr<f64> {
        let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
        for i in 0..n {
            for (j, value) in [(i, 500.0), (i + 1, -f64::from(i + 1))] {
                if j < n {
                    rows.extend([i, j]);
                    columns.extend([j, i]);
                    values.extend([value; 2]);
                }
            }
        }
        let (host, size) = (Executor::cpu(), Size::square(n as usize));
        Csr::from_triplets(&host, size, rows, columns, values, Duplicates::Sum).unwrap()
    }

    #[test]
    fn what_rounds_leave_is_matched_in_the_order_of_all_rows() {
        let n = 150;
        let whole = growing(n);
        let expected = pgm(&whole, 4, 1).unwrap();
        for ranks in [1, 3, 7] {
            threads::run(ranks, |team| {
                let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
                let rows = Partition::even(u64::from(n), 1, ranks);
                let a = Distributed::part_of(&rank, &whole, rows)?;
                let near = a.surrounded(1, 1)?;
                let mut amg = Amg::default();
                (amg.aggregate_size, amg.seed) = (4, 1);
                let found = Groups::matched(&rank, &amg, &near.matrix, &near.halo)?;
                assert_eq!(found.partition.total(), expected.count as u64);
                for (row, &group) in near.halo.own_rows().zip(&found.of_own) {
                    assert_eq!(group, u64::from(expected.aggregate[row as usize]));
                }
                Ok(())
            })
            .unwrap();
        }
    }
}
