//! One row of a sparse product under construction.

use super::build::{Value, zeroed};
use crate::error::Result;
use crate::executor::Executor;

/// Columns in the order they were met, each with a sum.
///
/// A table as wide as the row says where a column stands. It is never cleared: `base` grows by
/// the length of every row, and places below it are those of earlier rows. Whether a column is new
/// is as good as random, so that [`sum`](Self::sum) does without a branch on it.
pub struct Accumulator<V> {
    columns: Vec<u32>,
    values: Vec<V>,
    len: usize,
    /// For every column its place in the row plus `base`; less where it has none.
    places: Vec<u32>,
    base: u32,
}

impl<V> Default for Accumulator<V> {
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            values: Vec::new(),
            len: 0,
            places: Vec::new(),
            base: 1,
        }
    }
}

impl<V: Value> Accumulator<V> {
    /// Forgets the last row; the next one has `cols` columns and at most `entries` entries.
    #[inline]
    pub fn start(&mut self, executor: &Executor, cols: usize, entries: usize) -> Result<()> {
        if self.places.is_empty() {
            self.places = zeroed(executor, cols)?;
        }
        let entries = entries.min(cols);
        if self.base as usize + self.len + entries >= u32::MAX as usize {
            self.places.fill(0);
            (self.base, self.len) = (1, 0);
        }
        self.base += self.len as u32;
        self.len = 0;
        if self.columns.len() < entries {
            self.columns.resize(entries, 0);
            self.values.resize(entries, V::default());
        }
        Ok(())
    }

    /// The sum of `column`, zero where it is met for the first time.
    #[inline(always)]
    pub fn sum(&mut self, column: u32) -> &mut V {
        let index = self.with(|open| open.place(column));
        &mut self.values[index]
    }

    /// What `work` returns, which has the row in registers.
    #[inline(always)]
    pub(super) fn with<R>(&mut self, work: impl FnOnce(&mut Open<'_, V>) -> R) -> R {
        let mut open = Open {
            columns: &mut self.columns,
            values: &mut self.values,
            places: &mut self.places,
            base: self.base,
            len: self.len,
        };
        let result = work(&mut open);
        self.len = open.len;
        result
    }

    /// The columns met so far and their sums, in the order they were met.
    #[inline]
    pub fn entries(&self) -> (&[u32], &[V]) {
        (&self.columns[..self.len], &self.values[..self.len])
    }

    /// The entries by increasing column; nothing may be added to the row any more.
    pub fn sorted(&mut self) -> impl Iterator<Item = (u32, V)> {
        self.columns[..self.len].sort_unstable();
        self.columns[..self.len].iter().map(|&column| {
            let place = (self.places[column as usize] - self.base) as usize;
            (column, self.values[place])
        })
    }
}

/// An [`Accumulator`] at work.
pub(super) struct Open<'a, V> {
    columns: &'a mut [u32],
    values: &'a mut [V],
    places: &'a mut [u32],
    base: u32,
    len: usize,
}

impl<V: Value> Open<'_, V> {
    /// The sum of `column`, zero where it is met for the first time.
    #[inline(always)]
    pub(super) fn sum(&mut self, column: u32) -> &mut V {
        let index = self.place(column);
        &mut self.values[index]
    }

    #[inline(always)]
    fn place(&mut self, column: u32) -> usize {
        let place = &mut self.places[column as usize];
        let known = place.wrapping_sub(self.base) as usize;
        let new = known >= self.len;
        let index = if new { self.len } else { known };
        *place = self.base + index as u32;
        self.len += usize::from(new);
        self.columns[index] = column;
        let value = &mut self.values[index];
        *value = if new { V::default() } else { *value };
        index
    }
}

/// A row of few columns with their sums, always in order: a search from the end is quicker than a
/// table, as what is added next mostly belongs to a column met just before.
pub struct ShortRow<V> {
    columns: [u32; LONGEST],
    values: [V; LONGEST],
    len: usize,
}

/// Of a [`ShortRow`].
const LONGEST: usize = 32;

impl<V: Value> Default for ShortRow<V> {
    fn default() -> Self {
        Self {
            columns: [0; LONGEST],
            values: [V::default(); LONGEST],
            len: 0,
        }
    }
}

impl<V: Value + std::ops::AddAssign> ShortRow<V> {
    /// How many columns it can have.
    pub const LONGEST: usize = LONGEST;

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds to the sum of `column`.
    #[inline(always)]
    pub fn add(&mut self, column: u32, value: V) {
        let mut place = self.len;
        while place > 0 && self.columns[place - 1] > column {
            place -= 1;
        }
        if place > 0 && self.columns[place - 1] == column {
            self.values[place - 1] += value;
            return;
        }
        for later in (place..self.len).rev() {
            self.columns[later + 1] = self.columns[later];
            self.values[later + 1] = self.values[later];
        }
        (self.columns[place], self.values[place]) = (column, value);
        self.len += 1;
    }

    /// The columns and their sums.
    pub fn entries(&self) -> (&[u32], &[V]) {
        (&self.columns[..self.len], &self.values[..self.len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_rows_are_in_order() {
        let mut row = ShortRow::<f64>::default();
        for (column, value) in [(4, 1.0), (0, 2.0), (4, 3.0), (2, 0.5), (0, 1.0), (9, 1.0)] {
            row.add(column, value);
        }
        let expected: (&[u32], &[f64]) = (&[0, 2, 4, 9], &[3.0, 0.5, 4.0, 1.0]);
        assert_eq!(row.entries(), expected);
    }

    #[test]
    fn rows_do_not_mix() {
        let mut row = Accumulator::<f64>::default();
        let host = Executor::reference();
        for round in 1..4 {
            row.start(&host, 5, 9).unwrap();
            for (column, value) in [(4, 1.0), (0, 2.0), (4, 3.0)] {
                *row.sum(column) += value * f64::from(round);
            }
            assert_eq!(row.entries().0, [4, 0]);
            let sums = [2.0, 4.0].map(|sum| sum * f64::from(round));
            assert!(row.sorted().eq([(0, sums[0]), (4, sums[1])]));
        }
    }

    #[test]
    fn the_table_is_cleared_before_places_run_out() {
        let mut row = Accumulator::<f64>::default();
        let host = Executor::reference();
        row.start(&host, 3, 3).unwrap();
        row.base = u32::MAX - 4;
        for _ in 0..3 {
            row.start(&host, 3, 3).unwrap();
            *row.sum(2) += 1.0;
            *row.sum(1) += 1.0;
            assert!(row.sorted().eq([(1, 1.0), (2, 1.0)]));
        }
    }
}
