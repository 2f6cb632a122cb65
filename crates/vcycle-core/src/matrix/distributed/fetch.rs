//! Rows of other ranks.

use std::ops::Range;

use super::Distributed;
use super::local_numbers::{Finder, LocalNumbers, NOT_HERE};
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

    /// Adds the rows that a rank has [sent](packed).
    pub fn read(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut reader = Reader { bytes };
        let rows = reader.number() as usize;
        let first = self.columns.len();
        let mut last = first;
        self.offsets
            .extend(reader.numbers::<u64>(rows).map(|count| {
                last += count as usize;
                last
            }));
        reader.take(last - first, &mut self.columns);
        reader.take(last - first, &mut self.values);
    }
}

/// Rows as bytes of a message: how many there are, their lengths, all columns and all values.
pub(super) fn packed<'r, T: Scalar>(
    rows: impl Iterator<Item = (&'r [u32], &'r [T])> + Clone,
    global: impl Fn(u32) -> u64,
) -> Vec<u8> {
    let mut writer = Writer::default();
    let lengths: Vec<u64> = rows.clone().map(|row| row.0.len() as u64).collect();
    if lengths.is_empty() {
        return writer.bytes;
    }
    writer.put(&[lengths.len() as u64]);
    writer.put(&lengths);
    for (columns, _) in rows.clone() {
        writer.put_all(columns.iter().map(|&column| global(column)));
    }
    rows.for_each(|(_, values)| writer.put(values));
    writer.bytes
}

/// Rows of other ranks, by increasing number.
#[derive(Debug)]
pub(super) struct Fetched<T> {
    /// Their global numbers.
    pub numbers: Vec<u64>,
    pub rows: Rows<T>,
}

impl<T: Scalar> Fetched<T> {
    /// None.
    pub fn new() -> Self {
        Self {
            numbers: Vec::new(),
            rows: Rows::new(),
        }
    }

    /// Both, none of which is in the other.
    pub fn and(&self, other: &Self) -> Self {
        let mut both = Self::new();
        let (mut mine, mut theirs) = (0, 0);
        while mine < self.numbers.len() || theirs < other.numbers.len() {
            let first = |of: &Self, place: usize| of.numbers.get(place).copied();
            let is_mine = match (first(self, mine), first(other, theirs)) {
                (Some(a), Some(b)) => a < b,
                (a, _) => a.is_some(),
            };
            match is_mine {
                true => both.push(self, mine),
                false => both.push(other, theirs),
            }
            mine += usize::from(is_mine);
            theirs += usize::from(!is_mine);
        }
        both
    }

    fn push(&mut self, of: &Self, place: usize) {
        let range = of.range(place);
        self.numbers.push(of.numbers[place]);
        let columns = &of.rows.columns[range.clone()];
        self.rows.columns.extend_from_slice(columns);
        self.rows.values.extend_from_slice(&of.rows.values[range]);
        self.rows.offsets.push(self.rows.columns.len());
    }

    /// The columns and values of the row at a place.
    pub fn row(&self, place: usize) -> (&[u64], &[T]) {
        let range = self.range(place);
        (&self.rows.columns[range.clone()], &self.rows.values[range])
    }

    fn range(&self, place: usize) -> Range<usize> {
        self.rows.offsets[place]..self.rows.offsets[place + 1]
    }
}

impl<T: Scalar> Distributed<T> {
    /// The rows of other ranks with these global numbers, which increase. All ranks call it together.
    pub(super) fn fetch(&self, wanted: &[u64]) -> Result<Fetched<T>> {
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
            let asked: Vec<u64> = numbers(&asked).collect();
            self.packed_rows(asked.iter().map(|row| (row - first) as usize))
        };
        let answers = team.all_to_all(asked)?.into_iter().map(answer).collect();
        let mut rows = Rows::new();
        for bytes in team.all_to_all(answers)? {
            rows.read(&bytes);
        }
        Ok(Fetched {
            numbers: wanted.to_vec(),
            rows,
        })
    }

    /// Own rows as bytes of a message, with global columns.
    pub(super) fn packed_rows(&self, rows: impl Iterator<Item = usize> + Clone) -> Vec<u8> {
        let rows = rows.map(|row| self.local.row(row));
        packed(rows, |column| self.columns.global(column as usize))
    }

    /// Own rows between those of other ranks, in the order of a numbering, as a matrix of this rank alone. A row that
    /// was not fetched is empty; columns that are not numbered are left out.
    pub(super) fn between(
        &self,
        others: &Fetched<T>,
        rows: &LocalNumbers,
        columns: &LocalNumbers,
    ) -> Csr<T> {
        let own = columns.of_all(&self.columns);
        let room = others.rows.columns.len() + self.local.nonzeros();
        let mut made = Made::with_room(room, rows.len() + 1);
        let mut finder = columns.finder();
        let mut next = 0;
        let (before, after) = rows.others().split_at(rows.before());
        let mut foreign = |made: &mut Made<T>, numbers: &[u64]| {
            for number in numbers {
                if others.numbers.get(next) == Some(number) {
                    let range = others.range(next);
                    let columns = &others.rows.columns[range.clone()];
                    made.foreign(columns, &others.rows.values[range], &mut finder);
                    next += 1;
                }
                made.offsets.push(made.columns.len());
            }
        };
        foreign(&mut made, before);
        made.own(&self.local, &own);
        foreign(&mut made, after);
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
    fn own(&mut self, a: &Csr<T>, numbers: &[u32]) {
        let (offsets, columns, values) = (a.offsets(), a.columns(), a.values());
        let first = self.columns.len();
        if !numbers.contains(&NOT_HERE) {
            let here = columns.iter().map(|&column| numbers[column as usize]);
            self.columns.extend(here);
            self.values.extend_from_slice(values);
            self.offsets
                .extend(offsets[1..].iter().map(|end| first + end));
            return;
        }
        for range in offsets.windows(2).map(|ends| ends[0]..ends[1]) {
            for (&column, &value) in columns[range.clone()].iter().zip(&values[range]) {
                self.entry(numbers[column as usize], value);
            }
            self.offsets.push(self.columns.len());
        }
    }

    /// Adds the entries of a row of another rank.
    fn foreign(&mut self, columns: &[u64], values: &[T], finder: &mut Finder<'_>) {
        for (place, (&column, &value)) in columns.iter().zip(values).enumerate() {
            self.entry(finder.find(place, column), value);
        }
    }

    #[inline]
    fn entry(&mut self, column: u32, value: T) {
        if column != NOT_HERE {
            self.columns.push(column);
            self.values.push(value);
        }
    }
}
