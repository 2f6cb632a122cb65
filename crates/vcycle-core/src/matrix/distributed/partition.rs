//! Which rank has which rows.

use std::ops::Range;

use crate::communicator::Communicator;
use crate::prelude::*;

/// The rows of every rank: consecutive ones, in the order of the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// For every rank its first row, and at the end the number of rows.
    starts: Vec<u64>,
}

impl Partition {
    /// About as many rows for every rank. Rows that belong to one node, `block` of them, stay together.
    pub fn even(rows: u64, block: u64, ranks: usize) -> Self {
        let nodes = u128::from(rows / block.max(1));
        let first = |rank: usize| (nodes * rank as u128 / ranks as u128) as u64 * block.max(1);
        let mut starts: Vec<u64> = (0..=ranks).map(first).collect();
        starts[ranks] = rows;
        Self { starts }
    }

    /// As many rows for every rank as it says it has.
    pub fn of_counts(team: &dyn Communicator, own: usize) -> Result<Self> {
        let mut starts = vec![0];
        for count in team.all_numbers(own as u64)? {
            starts.push(starts[starts.len() - 1] + count);
        }
        Ok(Self { starts })
    }

    /// The nodes of these rows, `block` rows each.
    #[must_use]
    pub fn divided(&self, block: usize) -> Self {
        let starts = self.starts.iter().map(|row| row / block as u64);
        Self {
            starts: starts.collect(),
        }
    }

    /// The rows of these nodes, `block` rows each.
    #[must_use]
    pub fn multiplied(&self, block: usize) -> Self {
        let starts = self.starts.iter().map(|node| node * block as u64);
        Self {
            starts: starts.collect(),
        }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many rows there are.
    pub fn total(&self) -> u64 {
        self.starts[self.ranks()]
    }

    /// The rows of a rank.
    pub fn range(&self, rank: usize) -> Range<u64> {
        self.starts[rank]..self.starts[rank + 1]
    }

    /// How many rows a rank has.
    pub fn count(&self, rank: usize) -> usize {
        (self.starts[rank + 1] - self.starts[rank]) as usize
    }

    /// Rows that increase, cut into those of every rank.
    pub(super) fn by_rank(&self, mut rows: &[u64]) -> Vec<Vec<u64>> {
        let of_rank = |&end: &u64| {
            let (now, later) = rows.split_at(rows.partition_point(|&row| row < end));
            rows = later;
            now.to_vec()
        };
        self.starts[1..].iter().map(of_rank).collect()
    }

    /// The rank that has a row.
    pub fn rank_of(&self, row: u64) -> usize {
        self.starts.partition_point(|&start| start <= row) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_rank() {
        for (rows, ranks) in [(0, 3), (2, 5), (100, 7), (10, 1)] {
            let even = Partition::even(rows, 1, ranks);
            assert_eq!((even.ranks(), even.total()), (ranks, rows));
            for row in 0..rows {
                assert!(even.range(even.rank_of(row)).contains(&row));
            }
        }
        let nodes = Partition::even(30, 3, 4);
        assert!((0..4).all(|rank| nodes.range(rank).start.is_multiple_of(3)));
    }
}
