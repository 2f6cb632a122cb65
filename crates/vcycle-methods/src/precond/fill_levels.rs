//! Patterns of incomplete factors by levels of fill.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use num_traits::Zero;

use super::reserve;
use crate::matrix::fill_rows;
use crate::prelude::*;

/// `a` on the pattern of its incomplete factors with fill up to a level (Saad 2003, section 10.3.3): entries have level
/// 0, and elimination of `k` makes one of level `lev(i, k) + lev(k, j) + 1` at `(i, j)`. Fill is zero.
pub(super) fn with_fill<T: Scalar>(a: &Csr<T>, level: usize) -> Result<Csr<T>> {
    if level == 0 {
        return Ok(a.clone());
    }
    let (offsets, columns) = filled(a.pattern(), level)?;
    Ok(spread(a, offsets, columns))
}

/// Row offsets and columns of that pattern.
fn filled(a: &Pattern, level: usize) -> Result<(Vec<usize>, Vec<u32>)> {
    let level = u32::try_from(level).unwrap_or(u32::MAX - 1);
    let (mut offsets, mut columns) = (vec![0], Vec::<u32>::with_capacity(a.nonzeros()));
    // Columns and levels behind the diagonal, for the rows above.
    let mut upper: Vec<(u32, u32)> = Vec::new();
    let mut ends = vec![0];
    let mut working = WorkingRow::new(a.size().cols);
    let mut found = Vec::new();
    for row in 0..a.size().rows {
        working.start(row);
        for &column in &a.columns()[a.range(row)] {
            working.entry(column, 0);
        }
        while let Some(above) = working.next() {
            let (of_entry, above) = (*working.entry(above, 0), above as usize);
            for &(column, other) in &upper[ends[above]..ends[above + 1]] {
                let of_fill = of_entry + other + 1;
                if of_fill <= level {
                    let known = working.entry(column, of_fill);
                    *known = of_fill.min(*known);
                }
            }
        }
        working.take_entries(&mut found);
        found.sort_unstable();
        reserve(a.executor(), &mut columns, found.len())?;
        for &(column, of_entry) in &found {
            columns.push(column);
            if column as usize > row {
                upper.push((column, of_entry));
            }
        }
        ends.push(upper.len());
        offsets.push(columns.len());
    }
    Ok((offsets, columns))
}

/// `a` on another pattern: zero where it has no entry, and without those that are not on the pattern.
pub(super) fn spread<T: Scalar>(a: &Csr<T>, offsets: Vec<usize>, columns: Vec<u32>) -> Csr<T> {
    let pattern = Pattern::new(a.executor(), a.size(), offsets, columns);
    let zeros = vec![T::store(T::Arith::zero()); pattern.nonzeros()];
    let mut spread = Csr::with_pattern(&Arc::new(pattern), zeros).expect("a value for every place");
    write_entries(a, &mut spread);
    spread
}

/// Writes the entries of `a` to a matrix, where that has entries.
pub(super) fn write_entries<T: Scalar>(a: &Csr<T>, to: &mut Csr<T>) {
    let pattern = Arc::clone(to.pattern());
    let of_row = |row: usize, values: &mut [T]| {
        let (columns, given) = a.row(row);
        let mut given = columns.iter().zip(given).peekable();
        for (place, value) in pattern.range(row).zip(values) {
            let column = pattern.columns()[place];
            while given.next_if(|entry| *entry.0 < column).is_some() {}
            if let Some((_, &own)) = given.next_if(|entry| *entry.0 == column) {
                *value = own;
            }
        }
    };
    fill_rows(a.executor(), pattern.offsets(), to.values_mut(), of_row);
}

/// A sparse row while it is eliminated: what it has in each column, and the columns it has entries in.
pub(super) struct WorkingRow<V> {
    row: u32,
    entries: Vec<Option<V>>,
    columns: Vec<u32>,
    /// Columns before the diagonal that are still to be eliminated.
    left: BinaryHeap<Reverse<u32>>,
}

impl<V: Copy> WorkingRow<V> {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            row: 0,
            entries: vec![None; columns],
            columns: Vec::new(),
            left: BinaryHeap::new(),
        }
    }

    /// Begins an empty row.
    pub(super) fn start(&mut self, row: usize) {
        self.row = row as u32;
    }

    /// The entry of a column; `initial` where there was none.
    pub(super) fn entry(&mut self, column: u32, initial: V) -> &mut V {
        let entry = &mut self.entries[column as usize];
        if entry.is_none() {
            self.columns.push(column);
            if column < self.row {
                self.left.push(Reverse(column));
            }
        }
        entry.get_or_insert(initial)
    }

    /// The next column to be eliminated.
    pub(super) fn next(&mut self) -> Option<u32> {
        self.left.pop().map(|Reverse(column)| column)
    }

    /// Moves the entries out, in the order they were found.
    pub(super) fn take_entries(&mut self, to: &mut Vec<(u32, V)>) {
        let entries = &mut self.entries;
        let taken = self.columns.drain(..);
        to.clear();
        to.extend(taken.filter_map(|column| Some((column, entries[column as usize].take()?))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::laplacian;

    #[test]
    fn levels_of_a_grid_are_known_and_enough_of_them_are_the_whole_band() {
        let a: Csr<f64> = laplacian(&Executor::reference(), 6);
        let [none, one, two, all] = [0, 1, 2, 100].map(|level| with_fill(&a, level).unwrap());
        // Seven points: north-west and south-east come in.
        assert_eq!(one.row(14).0, [8, 9, 13, 14, 15, 19, 20]);
        assert_eq!(one.entry(14, 9), Some(0.0));
        assert_eq!(one.entry(14, 8), a.entry(14, 8));
        assert!(two.nonzeros() > one.nonzeros() && none.nonzeros() == a.nonzeros());
        assert_eq!(all.row(14).0, (8..21).collect::<Vec<u32>>());
    }
}
