//! Matrices of entries that any rank has.

use std::sync::Arc;

use super::partition::Partition;
use super::rows::{Fetched, assembled, send_rows};
use super::{Distributed, team_of};
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::matrix::Duplicates;
use crate::scalar::Scalar;

impl<T: Scalar> Distributed<T> {
    /// A square matrix of entries (row, column, value) in any order, of which every rank has some: they are sent to the
    /// ranks of their rows, about as many rows for each; nodes of `block` rows stay together. All ranks call it together.
    ///
    /// ```
    /// use vcycle::communicator::threads;
    /// use vcycle::executor::Executor;
    /// use vcycle::matrix::{Distributed, Duplicates};
    /// threads::run(2, |team| {
    ///     let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
    ///     // Rank 0 knows the first column of a matrix of order 2, rank 1 the second.
    ///     let entries = match team.rank() {
    ///         0 => [(0, 0, 2.0), (1, 0, -1.0)],
    ///         _ => [(1, 1, 2.0), (0, 1, -1.0)],
    ///     };
    ///     let a = Distributed::from_entries(&rank, 2, 1, entries, Duplicates::Refuse)?;
    ///     assert_eq!(a.local().nonzeros(), 2);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// For an executor without a team, rows and columns that are out of range, entries that are given twice (unless
    /// summed, in the order of the ranks); when another rank has failed.
    pub fn from_entries(
        executor: &Executor,
        rows: u64,
        block: u64,
        entries: impl IntoIterator<Item = (u64, u64, T)>,
        duplicates: Duplicates,
    ) -> Result<Self> {
        let team = team_of(executor)?;
        let rows = Arc::new(Partition::even(rows, block, team.size()));
        let sent = team.agree(sorted(&rows, entries))?;
        let received = send_rows(team.as_ref(), &sent)?;
        let own = assembled(&received, &rows.range(team.rank()));
        let arrays = (own.offsets, own.columns, own.values);
        Self::of_columns(executor, &rows, &rows, arrays, duplicates)
    }
}

/// The entries for every rank; those of one row that follow each other are a piece of it.
fn sorted<T: Scalar>(
    rows: &Partition,
    entries: impl IntoIterator<Item = (u64, u64, T)>,
) -> Result<Vec<Fetched<T>>> {
    let mut sent: Vec<Fetched<T>> = (0..rows.ranks()).map(|_| Fetched::new()).collect();
    let mut rank = 0;
    for (row, column, value) in entries {
        if row >= rows.total() {
            return Err(Error::InvalidStructure {
                format: "distributed",
                reason: format!("row {row} is outside 0..{}", rows.total()),
            });
        }
        if !rows.range(rank).contains(&row) {
            rank = rows.rank_of(row);
        }
        sent[rank].push_entry(row, column, value);
    }
    Ok(sent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;

    /// The entries of a line of nine points that a rank has, those of one row twice.
    fn own(rank: usize, ranks: usize) -> impl Iterator<Item = (u64, u64, f64)> {
        let all = (0..9_u64).flat_map(|row| {
            let near = row.saturating_sub(1)..(row + 2).min(9);
            near.map(move |column| (row, column, (10 * row + column) as f64))
        });
        let twice = [(4, 4, 0.5)].into_iter();
        let all = all.chain(twice).enumerate();
        all.filter(move |(place, _)| place % ranks == rank)
            .map(|(_, entry)| entry)
    }

    #[test]
    fn entries_go_to_the_ranks_of_their_rows() {
        for ranks in [1, 2, 3, 12] {
            threads::run(ranks, |team| {
                let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
                let entries = || own(team.rank(), ranks);
                let a = Distributed::from_entries(&rank, 9, 1, entries(), Duplicates::Sum)?;
                if let Some(whole) = a.gathered()? {
                    assert_eq!(whole.nonzeros(), 25);
                    assert_eq!(whole.entry(4, 4), Some(44.5));
                    assert_eq!(whole.entry(7, 8), Some(78.0));
                }
                let twice = Distributed::from_entries(&rank, 9, 1, entries(), Duplicates::Refuse);
                let error = twice.unwrap_err().to_string();
                assert!(error.contains("entry (4, 4)"), "{error}");
                let far = [(9, 0, 1.0)];
                let outside = Distributed::from_entries(&rank, 9, 1, far, Duplicates::Sum);
                assert!(outside.is_err());
                Ok(())
            })
            .unwrap();
        }
    }
}
