//! Rows of other ranks.

use super::Distributed;
use super::local_numbers::LocalNumbers;
use super::wire::{Reader, Writer, bytes_of, numbers};
use crate::error::Result;
use crate::matrix::Csr;
use crate::scalar::Scalar;
use crate::size::Size;

/// Rows with global columns.
#[derive(Debug)]
pub(super) struct Rows<T> {
    pub offsets: Vec<usize>,
    pub columns: Vec<u64>,
    pub values: Vec<T>,
}

impl<T: Scalar> Rows<T> {
    /// None.
    pub fn new() -> Self {
        Self {
            offsets: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds the rows that a rank has sent.
    pub fn read(&mut self, bytes: &[u8]) {
        let mut reader = Reader { bytes };
        while !reader.is_empty() {
            let count = reader.number() as usize;
            reader.take(count, &mut self.columns);
            reader.take(count, &mut self.values);
            self.offsets.push(self.columns.len());
        }
    }
}

impl<T: Scalar> Distributed<T> {
    /// The rows of other ranks with these global numbers, which increase. All ranks call it together.
    pub(super) fn fetch(&self, wanted: &[u64]) -> Result<Rows<T>> {
        let team = self.team();
        let mut asked = vec![Vec::new(); team.size()];
        let mut rest = wanted;
        while let Some(&first) = rest.first() {
            let rank = self.rows.rank_of(first);
            let end = self.rows.range(rank).end;
            let (now, later) = rest.split_at(rest.partition_point(|&row| row < end));
            asked[rank].extend_from_slice(bytes_of(now));
            rest = later;
        }
        let first = self.rows.range(team.rank()).start;
        let answer = |asked: Vec<u8>| {
            let mut writer = Writer::default();
            for row in numbers::<u64>(&asked) {
                self.write_row((row - first) as usize, &mut writer);
            }
            writer.bytes
        };
        let answers = team.all_to_all(asked)?.into_iter().map(answer).collect();
        let mut rows = Rows::new();
        for bytes in team.all_to_all(answers)? {
            rows.read(&bytes);
        }
        Ok(rows)
    }

    /// Writes a row with global columns.
    pub(super) fn write_row(&self, row: usize, writer: &mut Writer) {
        let (columns, values) = self.local.row(row);
        writer.put(&[columns.len() as u64]);
        for &column in columns {
            writer.put(&[self.columns.global(column as usize)]);
        }
        writer.put(values);
    }

    /// Own rows between those of other ranks, `before` of which come before: as a matrix of this rank alone. Columns
    /// that are not numbered are left out.
    pub(super) fn between(
        &self,
        others: &Rows<T>,
        before: usize,
        columns: &LocalNumbers,
    ) -> Csr<T> {
        let own = columns.of_all(&self.columns);
        let room = others.columns.len() + self.local.nonzeros();
        let mut made = Made::with_room(room, others.offsets.len() + self.local.size().rows);
        let foreign = |made: &mut Made<T>, rows: std::ops::Range<usize>| {
            for row in rows {
                let range = others.offsets[row]..others.offsets[row + 1];
                let numbers = others.columns[range.clone()].iter();
                made.row(
                    numbers.map(|&column| columns.local(column)),
                    &others.values[range],
                );
            }
        };
        foreign(&mut made, 0..before);
        made.rows(&self.local, &own);
        foreign(&mut made, before..others.offsets.len() - 1);
        let size = Size::new(made.offsets.len() - 1, columns.len());
        let alone = self.executor.alone();
        Csr::from_canonical(&alone, size, made.offsets, made.columns, made.values)
    }
}

/// Rows as they are put together.
struct Made<T> {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Scalar> Made<T> {
    fn with_room(entries: usize, rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows);
        offsets.push(0);
        Self {
            offsets,
            columns: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries),
        }
    }

    /// Adds the rows of a matrix whose columns have these numbers here; entries without one are left out.
    fn rows(&mut self, a: &Csr<T>, numbers: &[Option<u32>]) {
        let (offsets, columns, values) = (a.offsets(), a.columns(), a.values());
        for range in offsets.windows(2).map(|ends| ends[0]..ends[1]) {
            let columns = columns[range.clone()].iter();
            self.row(
                columns.map(|&column| numbers[column as usize]),
                &values[range],
            );
        }
    }

    /// Adds a row; entries without a column are left out.
    fn row(&mut self, columns: impl Iterator<Item = Option<u32>>, values: &[T]) {
        for (column, &value) in columns.zip(values) {
            if let Some(column) = column {
                self.columns.push(column);
                self.values.push(value);
            }
        }
        self.offsets.push(self.columns.len());
    }
}
