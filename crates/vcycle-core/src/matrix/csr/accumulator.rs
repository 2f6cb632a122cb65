//! One row of a sparse product under construction.

use std::ops::Range;

use super::build::{Value, zeroed};
use crate::prelude::*;

/// Columns in the order they were met, each with a sum.
///
/// A table as wide as the row says where a column stands. It is never cleared: `base` grows by
/// the length of every row, and places below it are those of earlier rows.
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
        let place = &mut self.places[column as usize];
        let mut index = place.wrapping_sub(self.base) as usize;
        if index >= self.len {
            index = self.len;
            *place = self.base + index as u32;
            self.columns[index] = column;
            self.values[index] = V::default();
            self.len += 1;
        }
        &mut self.values[index]
    }

    /// Adds `factor` times a row of another matrix.
    #[inline(always)]
    pub(super) fn add_row(&mut self, row: &[u32], numbers: impl Numbers<V>, factor: V) {
        let (columns, values) = (&mut self.columns[..], &mut self.values[..]);
        let (places, base, mut len) = (&mut self.places[..], self.base, self.len);
        for (at, &column) in row.iter().enumerate() {
            let place = &mut places[column as usize];
            let mut index = place.wrapping_sub(base) as usize;
            if index >= len {
                index = len;
                *place = base + index as u32;
                columns[index] = column;
                values[index] = V::default();
                len += 1;
            }
            numbers.add_to(&mut values[index], factor, at);
        }
        self.len = len;
    }

    /// The columns met so far and their sums, in the order they were met.
    #[inline]
    pub fn entries(&self) -> (&[u32], &[V]) {
        (&self.columns[..self.len], &self.values[..self.len])
    }

    /// The columns in order and the sum of each; nothing may be added to the row any more.
    #[inline(always)]
    pub fn sorted(&mut self) -> (&[u32], impl Fn(u32) -> V) {
        self.columns[..self.len].sort_unstable();
        let (places, values, base) = (&self.places[..], &self.values[..], self.base);
        let sum = move |column: u32| values[(places[column as usize] - base) as usize];
        (&self.columns[..self.len], sum)
    }
}

/// The numbers of a factor of a product. Functions of a trait, which are inlined by their mark: closures that are
/// passed on are not, and then a call a multiplication is what most of the time goes into.
pub(super) trait Numbers<V>: Copy + Sync + Send {
    /// Some of them.
    fn part(self, places: Range<usize>) -> Self;
    /// The number at a place.
    fn at(self, place: usize) -> V;
    /// Adds `factor` times the number at a place.
    fn add_to(self, sum: &mut V, factor: V, place: usize);
}

/// Those of a matrix.
#[derive(Clone, Copy)]
pub(super) struct Values<'a, T>(pub &'a [T]);

impl<T: Scalar> Numbers<T::Arith> for Values<'_, T> {
    #[inline(always)]
    fn part(self, places: Range<usize>) -> Self {
        Self(&self.0[places])
    }

    #[inline(always)]
    fn at(self, place: usize) -> T::Arith {
        self.0[place].load()
    }

    #[inline(always)]
    fn add_to(self, sum: &mut T::Arith, factor: T::Arith, place: usize) {
        *sum += factor * self.0[place].load();
    }
}

/// None, where only positions matter.
#[derive(Clone, Copy)]
pub(super) struct Positions;

impl Numbers<()> for Positions {
    #[inline(always)]
    fn part(self, _places: Range<usize>) -> Self {
        self
    }

    #[inline(always)]
    fn at(self, _place: usize) {}

    #[inline(always)]
    fn add_to(self, _sum: &mut (), _factor: (), _place: usize) {}
}

/// A row of few columns with their sums, always in order: a search from the end is quicker than a
/// table, as what is added next mostly belongs to a column met just before.
#[derive(Default)]
pub struct ShortRow<V> {
    columns: [u32; LONGEST],
    values: [V; LONGEST],
    len: usize,
}

/// Of a [`ShortRow`].
const LONGEST: usize = 32;

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
            let (columns, sum) = row.sorted();
            assert_eq!(columns, [0, 4]);
            assert_eq!([sum(0), sum(4)], sums);
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
            let (columns, sum) = row.sorted();
            assert_eq!((columns, sum(1), sum(2)), (&[1, 2][..], 1.0, 1.0));
        }
    }
}
