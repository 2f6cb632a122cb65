//! From a matrix of one rank to the rows of all, and back.

use std::sync::Arc;

use super::columns::mapped;
use super::fetch::{Rows, packed};
use super::partition::Partition;
use super::wire::{Reader, Writer, bytes_of, numbers};
use super::{Distributed, team_of};
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::matrix::{Csr, Duplicates};
use crate::scalar::{Element, Scalar};
use crate::size::Size;

impl<T: Scalar> Distributed<T> {
    /// The own rows of a square matrix that every rank has as a whole.
    ///
    /// # Errors
    /// For an executor without a team and a matrix that is not square, and when another rank has failed.
    pub fn part_of(executor: &Executor, whole: &Csr<T>, rows: Partition) -> Result<Self> {
        let own = rows.range(team_of(executor)?.rank());
        let (first, last) = (own.start as usize, own.end as usize);
        let begin = whole.offsets()[first];
        let offsets = whole.offsets()[first..=last]
            .iter()
            .map(|place| place - begin);
        let entries = begin..whole.offsets()[last];
        let columns = whole.columns()[entries.clone()]
            .iter()
            .copied()
            .map(u64::from);
        let values = whole.values()[entries].to_vec();
        let arrays = (offsets.collect(), columns.collect(), values);
        let rows = Arc::new(rows);
        Self::of_columns(executor, &rows, &rows, arrays, Duplicates::Refuse)
    }

    /// Spreads a square matrix that rank 0 has over all ranks, about as many rows for each; nodes of `block` rows stay
    /// together.
    ///
    /// # Errors
    /// For an executor without a team and a matrix that is not square, and when another rank has failed.
    pub fn spread(executor: &Executor, whole: Option<&Csr<T>>, block: usize) -> Result<Self> {
        let team = team_of(executor)?;
        let size = whole.map_or(Size::square(0), Csr::size);
        let square = match size.rows == size.cols {
            true => Ok(()),
            false => Err(Error::NotSquare {
                component: "a distributed matrix",
                size,
            }),
        };
        team.agree(square)?;
        let rows = team.all_numbers(size.rows as u64)?[0];
        let rows = Arc::new(Partition::even(rows, block as u64, team.size()));
        let mut sent = vec![Vec::new(); team.size()];
        if let Some(whole) = whole {
            for (rank, bytes) in sent.iter_mut().enumerate() {
                let rows = rows.range(rank).map(|row| whole.row(row as usize));
                *bytes = packed(rows, u64::from);
            }
        }
        let mut own = Rows::new();
        own.read(&team.all_to_all(sent)?[0]);
        let arrays = (own.offsets, own.columns, own.values);
        Self::of_columns(executor, &rows, &rows, arrays, Duplicates::Refuse)
    }

    /// The whole matrix, on rank 0 and its executor without a team; none on the others.
    ///
    /// # Errors
    /// When it is too large for one rank, or another rank has failed.
    pub fn gathered(&self) -> Result<Option<Csr<T>>> {
        let (team, total) = (self.team(), self.columns.partition().total());
        if u32::try_from(total).is_err() {
            return Err(Error::Team("too many columns for one rank".to_owned()));
        }
        let mut sent = vec![Vec::new(); team.size()];
        let leads = team.rank() == 0;
        if !leads {
            sent[0] = self.narrow_rows();
        }
        let received = team.all_to_all(sent)?;
        if !leads {
            return Ok(None);
        }
        let (mut offsets, mut columns) = (self.local.offsets().to_vec(), self.narrow_columns());
        let mut values = self.local.values().to_vec();
        let bytes: usize = received.iter().map(Vec::len).sum();
        columns.reserve(bytes / (size_of::<u32>() + size_of::<T>()));
        values.reserve(bytes / (size_of::<u32>() + size_of::<T>()));
        for bytes in received.iter().filter(|bytes| !bytes.is_empty()) {
            let (mut reader, first) = (Reader { bytes }, columns.len());
            let rows = reader.number() as usize;
            offsets.extend(reader.numbers::<u64>(rows).map(|end| first + end as usize));
            let entries = offsets[offsets.len() - 1] - first;
            reader.take(entries, &mut columns);
            reader.take(entries, &mut values);
        }
        let size = Size::new(offsets.len() - 1, total as usize);
        let alone = self.executor.alone();
        let whole = Csr::from_canonical(&alone, size, offsets, columns, values);
        Ok(Some(whole))
    }

    /// Own rows as bytes of a message: how many there are, where they end, all columns and all values.
    fn narrow_rows(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let ends = &self.local.offsets()[1..];
        writer.put(&[ends.len() as u64]);
        writer.put_all(ends.iter().map(|&end| end as u64));
        writer.put(&self.narrow_columns());
        writer.put(self.local.values());
        writer.bytes
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
        let mut sent = vec![Vec::new(); team.size()];
        let own = self.rows.range(team.rank());
        let asked = own.end.min(count).saturating_sub(own.start);
        sent[0] = self.packed_rows(0..asked as usize);
        let received = team.all_to_all(sent)?;
        if team.rank() != 0 {
            team.agree(Ok(()))?;
            return Ok(None);
        }
        let mut all = Rows::new();
        received.iter().for_each(|bytes| all.read(bytes));
        let columns: std::result::Result<Vec<u32>, _> = all
            .columns
            .iter()
            .map(|&column| u32::try_from(column))
            .collect();
        let too_large = |_| Error::Team("too many columns for one rank".to_owned());
        let columns = team.agree(columns.map_err(too_large))?;
        let size = Size::new(
            all.offsets.len() - 1,
            self.columns.partition().total() as usize,
        );
        let alone = self.executor.alone();
        Ok(Some(Csr::from_canonical(
            &alone,
            size,
            all.offsets,
            columns,
            all.values,
        )))
    }

    /// The own ones of values that rank 0 has for all rows, `cols` for each.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn spread_values<E: Element>(&self, whole: Option<&[E]>, cols: usize) -> Result<Vec<E>> {
        let team = self.team();
        let mut sent = vec![Vec::new(); team.size()];
        if let Some(whole) = whole {
            for (rank, bytes) in sent.iter_mut().enumerate() {
                let rows = self.rows.range(rank);
                let values = &whole[rows.start as usize * cols..rows.end as usize * cols];
                *bytes = bytes_of(values).to_vec();
            }
        }
        Ok(numbers(&team.all_to_all(sent)?[0]).collect())
    }

    /// The values that all ranks have for their rows, on rank 0; none on the others.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn gathered_values<E: Element>(&self, own: &[E]) -> Result<Vec<E>> {
        let team = self.team();
        let mut sent = vec![Vec::new(); team.size()];
        sent[0] = bytes_of(own).to_vec();
        let received = team.all_to_all(sent)?;
        Ok(received.iter().flat_map(|bytes| numbers(bytes)).collect())
    }
}
