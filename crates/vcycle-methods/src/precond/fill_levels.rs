//! Patterns of incomplete factors by levels of fill.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use num_traits::Zero;

use super::make_room;
use crate::error::Result;
use crate::matrix::{Csr, Pattern, fill_rows};
use crate::scalar::Scalar;

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
    let mut row_of_levels = RowOfLevels::new(a.size().cols);
    for row in 0..a.size().rows {
        row_of_levels.start(row as u32, &a.columns()[a.range(row)]);
        while let Some((above, of_entry)) = row_of_levels.next() {
            for &(column, other) in &upper[ends[above]..ends[above + 1]] {
                let of_fill = of_entry + other + 1;
                if of_fill <= level {
                    row_of_levels.meet(column, of_fill);
                }
            }
        }
        let found = row_of_levels.finish();
        make_room(a.executor(), &mut columns, found.len())?;
        for &mut (column, of_entry) in found {
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

/// The levels of the entries of one row while it is eliminated.
struct RowOfLevels {
    row: u32,
    /// The level of every column, `u32::MAX` where there is no entry.
    levels: Vec<u32>,
    found: Vec<(u32, u32)>,
    /// Columns before the diagonal that are still to be eliminated.
    left: BinaryHeap<Reverse<u32>>,
}

impl RowOfLevels {
    fn new(columns: usize) -> Self {
        Self {
            row: 0,
            levels: vec![u32::MAX; columns],
            found: Vec::new(),
            left: BinaryHeap::new(),
        }
    }

    fn start(&mut self, row: u32, columns: &[u32]) {
        self.row = row;
        self.found.clear();
        columns.iter().for_each(|&column| self.meet(column, 0));
    }

    fn meet(&mut self, column: u32, level: u32) {
        let known = &mut self.levels[column as usize];
        if *known == u32::MAX {
            self.found.push((column, 0));
            if column < self.row {
                self.left.push(Reverse(column));
            }
        }
        *known = level.min(*known);
    }

    /// The next column to be eliminated and the level of its entry.
    fn next(&mut self) -> Option<(usize, u32)> {
        let Reverse(column) = self.left.pop()?;
        Some((column as usize, self.levels[column as usize]))
    }

    /// The entries in order of their columns.
    fn finish(&mut self) -> &mut [(u32, u32)] {
        for (column, level) in &mut self.found {
            *level = std::mem::replace(&mut self.levels[*column as usize], u32::MAX);
        }
        self.found.sort_unstable();
        &mut self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
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
