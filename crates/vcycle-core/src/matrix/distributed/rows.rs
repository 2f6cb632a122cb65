//! Rows of matrices on their way between ranks.

use std::ops::Range;

use crate::communicator::Communicator;
use crate::prelude::*;
use crate::scalar::{Element, bytes, bytes_mut};

/// The values of bytes of a message, which may lie anywhere.
pub(super) fn numbers<T: Element>(message: &[u8]) -> impl Iterator<Item = T> + use<'_, T> {
    message.chunks_exact(size_of::<T>()).map(|one| {
        let mut value = [T::default()];
        bytes_mut(&mut value).copy_from_slice(one);
        value[0]
    })
}

/// Takes so many values from the front of a message.
fn take<'m, T: Element>(
    message: &mut &'m [u8],
    count: usize,
) -> impl Iterator<Item = T> + use<'m, T> {
    let (now, later) = message.split_at(count * size_of::<T>());
    *message = later;
    numbers::<T>(now)
}

/// Rows with global columns, or with local ones.
#[derive(Debug)]
pub(super) struct Rows<T, C = u64> {
    pub offsets: Vec<usize>,
    pub columns: Vec<C>,
    pub values: Vec<T>,
}

impl<T: Copy, C> Rows<T, C> {
    /// None.
    pub fn new() -> Self {
        Self {
            offsets: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, columns: impl IntoIterator<Item = C>, values: &[T]) {
        self.columns.extend(columns);
        self.values.extend_from_slice(values);
        self.offsets.push(self.columns.len());
    }
}

impl<T: Scalar> Rows<T> {
    /// Adds the rows that a rank has [sent](packed).
    pub fn read(&mut self, mut message: &[u8]) {
        let any = usize::from(!message.is_empty());
        let rows = take::<u64>(&mut message, any).sum::<u64>();
        let first = self.columns.len();
        let mut last = first;
        let lengths = take::<u64>(&mut message, rows as usize);
        self.offsets.extend(lengths.map(|length| {
            last += length as usize;
            last
        }));
        self.columns.extend(take::<u64>(&mut message, last - first));
        self.values.extend(take::<T>(&mut message, last - first));
    }
}

/// Rows as bytes of a message: how many there are, their lengths, all columns and all values.
pub(super) fn packed<'r, T: Scalar, C: Copy + 'r>(
    rows: impl Iterator<Item = (&'r [C], &'r [T])> + Clone,
    global: impl Fn(C) -> u64,
) -> Vec<u8> {
    let lengths: Vec<u64> = rows.clone().map(|row| row.0.len() as u64).collect();
    if lengths.is_empty() {
        return Vec::new();
    }
    let entries = lengths.iter().sum::<u64>() as usize;
    let numbers = 1 + lengths.len() + entries;
    let mut message = bytes(&[lengths.len() as u64]).to_vec();
    message.reserve(numbers * size_of::<u64>() + entries * size_of::<T>());
    message.extend_from_slice(bytes(&lengths));
    for &column in rows.clone().flat_map(|row| row.0) {
        message.extend_from_slice(bytes(&[global(column)]));
    }
    rows.for_each(|(_, values)| message.extend_from_slice(bytes(values)));
    message
}

/// Rows of other ranks, or pieces of rows for them, with their global numbers. Those that were [fetched](super::Distributed::fetch) have
/// increasing numbers.
#[derive(Debug)]
pub(super) struct Fetched<T> {
    pub numbers: Vec<u64>,
    pub rows: Rows<T>,
}

/// Sends rows to every rank, and returns what each has sent.
pub(super) fn send_rows<T: Scalar>(
    team: &dyn Communicator,
    sent: &[Fetched<T>],
) -> Result<Vec<Fetched<T>>> {
    let received = team.all_to_all(sent.iter().map(Fetched::message).collect())?;
    Ok(received
        .iter()
        .map(|bytes| Fetched::of_message(bytes))
        .collect())
}

/// The rows of a range, each made of its pieces in their order.
pub(super) fn assembled<T: Scalar>(pieces: &[Fetched<T>], own: &Range<u64>) -> Rows<T> {
    let mut offsets = vec![0; (own.end - own.start) as usize + 1];
    let place = |row: u64| (row - own.start) as usize;
    for piece in pieces {
        for (at, &row) in piece.numbers.iter().enumerate() {
            offsets[place(row) + 1] += piece.range(at).len();
        }
    }
    for row in 1..offsets.len() {
        offsets[row] += offsets[row - 1];
    }
    let (mut next, count) = (offsets.clone(), offsets[offsets.len() - 1]);
    let (mut columns, mut values) = (vec![0; count], vec![T::default(); count]);
    for piece in pieces {
        for (at, &row) in piece.numbers.iter().enumerate() {
            let (from_columns, from_values) = piece.row(at);
            let next = &mut next[place(row)];
            let to = *next..*next + from_values.len();
            *next = to.end;
            columns[to.clone()].copy_from_slice(from_columns);
            values[to].copy_from_slice(from_values);
        }
    }
    Rows {
        offsets,
        columns,
        values,
    }
}

impl<T: Scalar> Fetched<T> {
    /// None.
    pub fn new() -> Self {
        Self {
            numbers: Vec::new(),
            rows: Rows::new(),
        }
    }

    /// None for each of so many ranks.
    pub fn for_ranks(ranks: usize) -> Vec<Self> {
        (0..ranks).map(|_| Self::new()).collect()
    }

    /// All of them, none of which is in another.
    pub fn joined(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let places = parts.iter().enumerate().flat_map(|(part, of)| {
            let numbers = of.numbers.iter().enumerate();
            numbers.map(move |(place, &number)| (number, part, place))
        });
        let mut places: Vec<(u64, usize, usize)> = places.collect();
        // Of each part they are in order already.
        places.sort();
        let entries = parts.iter().map(|of| of.rows.columns.len()).sum();
        let mut all = Self::new();
        all.numbers.reserve(places.len());
        all.rows.offsets.reserve(places.len());
        all.rows.columns.reserve(entries);
        all.rows.values.reserve(entries);
        for (number, part, place) in places {
            let (columns, values) = parts[part].row(place);
            all.push(number, columns.iter().copied(), values);
        }
        all
    }

    /// Adds a row with its number.
    pub fn push(&mut self, number: u64, columns: impl IntoIterator<Item = u64>, values: &[T]) {
        self.numbers.push(number);
        self.rows.push(columns, values);
    }

    /// Adds an entry, to the last row if that has its number.
    pub fn push_entry(&mut self, number: u64, column: u64, value: T) {
        match (self.numbers.last(), self.rows.offsets.last_mut()) {
            (Some(last), Some(end)) if *last == number => {
                self.rows.columns.push(column);
                self.rows.values.push(value);
                *end += 1;
            }
            _ => self.push(number, [column], &[value]),
        }
    }

    fn message(&self) -> Vec<u8> {
        if self.numbers.is_empty() {
            return Vec::new();
        }
        let rows = (0..self.numbers.len()).map(|place| self.row(place));
        let count = [self.numbers.len() as u64];
        let numbers = [bytes(&count), bytes(&self.numbers)].concat();
        [numbers, packed(rows, |column: u64| column)].concat()
    }

    fn of_message(mut message: &[u8]) -> Self {
        let mut made = Self::new();
        let any = usize::from(!message.is_empty());
        let count = take::<u64>(&mut message, any).sum::<u64>();
        made.numbers
            .extend(take::<u64>(&mut message, count as usize));
        made.rows.read(message);
        made
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
