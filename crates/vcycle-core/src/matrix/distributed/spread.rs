//! From entries of any rank or a matrix of one to the rows of all, and back.

use vcycle_kernels::compiled;

use super::exchange::{Exchange, nothing};
use super::local_numbers::mapped;
use super::partition::Partition;
use super::rows::{Fetched, Rows, assembled, send_rows};
use super::{Distributed, team_of};
use crate::error::check_square;
use crate::matrix::Duplicates;
use crate::prelude::*;
use crate::scalar::{Element, bytes, bytes_mut};

impl<T: Scalar> Distributed<T> {
    /// The own rows of a square matrix that every rank has as a whole.
    ///
    /// # Errors
    /// For an executor without a team and a matrix that is not square, and when another rank has failed.
    pub fn part_of(executor: &Executor, whole: &Csr<T>, rows: Partition) -> Result<Self> {
        let rows = Arc::new(rows);
        Self::part_of_both(executor, whole, &rows, &rows)
    }

    /// The same of a matrix whose columns have a partition of their own.
    pub(super) fn part_of_both(
        executor: &Executor,
        whole: &Csr<T>,
        rows: &Arc<Partition>,
        of_columns: &Arc<Partition>,
    ) -> Result<Self> {
        let own = rows.range(team_of(executor)?.rank());
        let own = whole.row_range(own.start as usize..own.end as usize)?;
        let (offsets, columns, values) = own.into_arrays();
        let columns = columns.into_iter().map(u64::from).collect();
        let arrays = (offsets, columns, values);
        Self::of_columns(executor, rows, of_columns, arrays, Duplicates::Refuse)
    }

    /// A square matrix of pieces of its rows that ranks have sent.
    pub(super) fn of_pieces(
        executor: &Executor,
        rows: &Arc<Partition>,
        pieces: &[Fetched<T>],
        duplicates: Duplicates,
    ) -> Result<Self> {
        let own = assembled(pieces, &rows.range(team_of(executor)?.rank()));
        let arrays = (own.offsets, own.columns, own.values);
        Self::of_columns(executor, rows, rows, arrays, duplicates)
    }

    /// Spreads a square matrix that rank 0 has over all ranks, about as many rows for each; nodes of `block` rows stay
    /// together.
    ///
    /// # Errors
    /// For an executor without a team and a matrix that is not square, and when another rank has failed.
    pub fn spread(executor: &Executor, whole: Option<&Csr<T>>, block: usize) -> Result<Self> {
        let team = team_of(executor)?;
        let size = whole.map_or(Size::square(0), Csr::size);
        team.agree(check_square("a distributed matrix", size))?;
        let rows = team.all_numbers(size.rows as u64)?[0];
        let rows = Arc::new(Partition::even(rows, block as u64, team.size()));
        let mut sent = Fetched::for_ranks(team.size());
        if let Some(whole) = whole {
            for (rank, sent) in sent.iter_mut().enumerate() {
                for row in rows.range(rank) {
                    let (columns, values) = whole.row(row as usize);
                    sent.push(row, columns.iter().copied().map(u64::from), values);
                }
            }
        }
        let pieces = send_rows(team.as_ref(), &sent)?;
        Self::of_pieces(executor, &rows, &pieces, Duplicates::Refuse)
    }

    /// The whole matrix, on rank 0 and its executor without a team; none on the others.
    ///
    /// # Errors
    /// When it is too large for one rank, or another rank has failed.
    pub fn gathered(&self) -> Result<Option<Csr<T>>> {
        compiled!(any T: fn(&Distributed<T>) -> Result<Option<Csr<T>>> = Distributed::gather_rows)(
            self,
        )
    }

    fn gather_rows(&self) -> Result<Option<Csr<T>>> {
        let (team, total) = (self.team(), self.columns.partition().total());
        if u32::try_from(total).is_err() {
            return Err(Error::Team("too many columns for one rank".to_owned()));
        }
        let leads = team.rank() == 0;
        let is_of_first = |of: &Partition| of.range(0).end == of.total();
        if is_of_first(&self.rows) && is_of_first(self.columns.partition()) {
            return Ok(leads.then(|| self.lent()));
        }
        let counts = self.counts(self.local.nonzeros())?;
        let ends = self.local.offsets()[1..].iter();
        let ends: Vec<u64> = ends.map(|&end| end as u64).collect();
        let rows: Vec<usize> = (0..team.size()).map(|rank| self.rows.count(rank)).collect();
        let ends = self.to_first(&ends, &rows)?;
        let columns = self.to_first(&self.narrow_columns(), &counts)?;
        let values = self.to_first(self.local.values(), &counts)?;
        if !leads {
            return Ok(None);
        }
        let (mut offsets, mut first) = (Vec::with_capacity(ends.len() + 1), 0);
        offsets.push(0);
        let mut rest = ends.as_slice();
        for (rows, count) in rows.into_iter().zip(counts) {
            let (own, later) = rest.split_at(rows);
            offsets.extend(own.iter().map(|&end| first + end as usize));
            (rest, first) = (later, first + count);
        }
        let size = Size::new(offsets.len() - 1, total as usize);
        let alone = self.executor.alone();
        let whole = Csr::from_canonical(&alone, size, offsets, columns, values);
        Ok(Some(whole))
    }

    /// A count of every rank.
    fn counts(&self, own: usize) -> Result<Vec<usize>> {
        let all = self.team().all_numbers(own as u64)?;
        Ok(all.into_iter().map(|count| count as usize).collect())
    }

    /// So many values of every rank one after the other, on rank 0; none on the others. They arrive where they stay.
    fn to_first<E: Element>(&self, own: &[E], counts: &[usize]) -> Result<Vec<E>> {
        let gather = Exchange::to_first(self.team(), |rank| counts[rank]);
        if self.team().rank() > 0 {
            gather.run(size_of::<E>(), bytes(own), &mut [], &mut nothing)?;
            return Ok(Vec::new());
        }
        let mut all = vec![E::default(); counts.iter().sum()];
        let (mine, others) = all.split_at_mut(own.len());
        gather.run(size_of::<E>(), &[], bytes_mut(others), &mut || {
            mine.copy_from_slice(own);
            Ok(())
        })?;
        Ok(all)
    }

    /// The columns of all entries in the whole matrix, which has less than 2^32.
    fn narrow_columns(&self) -> Vec<u32> {
        let global = |column: u32| self.columns.global(column as usize) as u32;
        mapped(self.local.executor(), self.local.columns(), global)
    }

    /// The first rows of the whole matrix, on rank 0 and its executor without a team; none on the others.
    ///
    /// # Errors
    /// When they are too large for one rank, or another rank has failed.
    pub fn first_rows(&self, count: u64) -> Result<Option<Csr<T>>> {
        let team = self.team();
        let own = self.rows.range(team.rank());
        let requested = own.end.min(count).saturating_sub(own.start);
        let mut requested = vec![(0..requested as u32).collect()];
        requested.resize(team.size(), Vec::new());
        let sent = self.packed_rows(requested)?;
        let received = team.all_to_all(sent)?;
        let leads = team.rank() == 0;
        let first = leads.then(|| self.of_rows(&received)).transpose();
        team.agree(first)
    }

    /// A matrix of rows that ranks have sent.
    fn of_rows(&self, received: &[Vec<u8>]) -> Result<Csr<T>> {
        let mut all = Rows::new();
        received.iter().for_each(|bytes| all.read(bytes));
        let too_large = |_| Error::Team("too many columns for one rank".to_owned());
        let columns = all.columns.iter().map(|&column| u32::try_from(column));
        let columns: std::result::Result<Vec<u32>, _> = columns.collect();
        let columns_of_all = self.columns.partition().total() as usize;
        let size = Size::new(all.offsets.len() - 1, columns_of_all);
        let (alone, columns) = (self.executor.alone(), columns.map_err(too_large)?);
        Ok(Csr::from_canonical(
            &alone,
            size,
            all.offsets,
            columns,
            all.values,
        ))
    }

    /// The own ones of values that rank 0 has for all rows, `cols` for each.
    pub fn spread_values<E: Element>(&self, whole: Option<&[E]>, cols: usize) -> Result<Vec<E>> {
        let (team, width) = (self.team(), cols * size_of::<E>());
        let mut own = vec![E::default(); self.rows.count(team.rank()) * cols];
        let spread = Exchange::rows_to_first(team, &self.rows).reversed();
        if team.rank() > 0 {
            spread.run(width, &[], bytes_mut(&mut own), &mut nothing)?;
            return Ok(own);
        }
        let (mine, others) = whole.expect("rank 0 has the values").split_at(own.len());
        own.copy_from_slice(mine);
        spread.run(width, bytes(others), &mut [], &mut nothing)?;
        Ok(own)
    }

    /// The values that all ranks have for their rows, on rank 0; none on the others.
    pub fn gathered_values<E: Element>(&self, own: &[E]) -> Result<Vec<E>> {
        let counts = self.counts(own.len())?;
        self.to_first(own, &counts)
    }
}

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
        let pieces = send_rows(team.as_ref(), &sent)?;
        Self::of_pieces(executor, &rows, &pieces, duplicates)
    }
}

/// The entries for every rank; those of one row that follow each other are a piece of it.
fn sorted<T: Scalar>(
    rows: &Partition,
    entries: impl IntoIterator<Item = (u64, u64, T)>,
) -> Result<Vec<Fetched<T>>> {
    let mut sent = Fetched::for_ranks(rows.ranks());
    let mut rank = 0;
    for (row, column, value) in entries {
        if row >= rows.total() {
            return Err(Error::structure(
                "distributed",
                format!("row {row} is outside 0..{}", rows.total()),
            ));
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
    use crate::testing::on_ranks;

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
            on_ranks(ranks, |rank, team| {
                let entries = || own(team.rank(), ranks);
                let a = Distributed::from_entries(rank, 9, 1, entries(), Duplicates::Sum)?;
                if let Some(whole) = a.gathered()? {
                    assert_eq!(whole.nonzeros(), 25);
                    assert_eq!(whole.entry(4, 4), Some(44.5));
                    assert_eq!(whole.entry(7, 8), Some(78.0));
                }
                let twice = Distributed::from_entries(rank, 9, 1, entries(), Duplicates::Refuse);
                let error = twice.unwrap_err().to_string();
                assert!(error.contains("entry (4, 4)"), "{error}");
                let far = [(9, 0, 1.0)];
                let outside = Distributed::from_entries(rank, 9, 1, far, Duplicates::Sum);
                assert!(outside.is_err());
                Ok(())
            });
        }
    }
}
