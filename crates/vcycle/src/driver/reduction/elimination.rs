//! Which rows and columns have one entry, one after the other.

use super::super::Wide;
use crate::error::Result;
use crate::matrix::Csr;

/// Whether a row has at most one entry other than zero, or no row refers back to a row that it refers to, which a column with
/// one entry needs.
pub(super) fn has_single_entries<T: Wide>(a: &Csr<T>) -> bool {
    (0..a.size().rows).any(|row| {
        let is_entry = |value: &T| *value != T::default();
        let (columns, values) = a.row(row);
        let mut entries = columns
            .iter()
            .zip(values)
            .filter(|(_, value)| is_entry(value));
        let others = entries
            .by_ref()
            .filter(|(column, _)| **column as usize != row);
        let mut others = others.peekable();
        let is_single = others.peek().is_none();
        let mutual = |column: u32| {
            a.entry(column as usize, row)
                .is_some_and(|value| is_entry(&value))
        };
        is_single || !others.any(|(&column, _)| mutual(column))
    })
}

/// The entries that are left while rows and columns are removed.
pub(super) struct Elimination<'a, T> {
    a: &'a Csr<T>,
    transposed: Csr<T>,
    /// Entries left in every row and every column.
    counts: [Vec<u32>; 2],
    pub removed: Vec<bool>,
    left: usize,
    pub first: Vec<u32>,
    pub last: Vec<u32>,
    pub free: Vec<u32>,
}

impl<'a, T: Wide> Elimination<'a, T> {
    pub fn new(a: &'a Csr<T>) -> Result<Self> {
        let transposed = a.transpose()?;
        let count = |a: &Csr<T>| -> Vec<u32> {
            let rows = 0..a.size().rows;
            rows.map(|row| entries(a, row).count() as u32).collect()
        };
        Ok(Self {
            counts: [count(a), count(&transposed)],
            removed: vec![false; a.size().rows],
            left: a.size().rows,
            a,
            transposed,
            first: Vec::new(),
            last: Vec::new(),
            free: Vec::new(),
        })
    }

    pub fn run(&mut self) {
        let mut waiting: Vec<u32> = (0..self.a.size().rows as u32).rev().collect();
        while let Some(row) = waiting.pop() {
            if self.left > 1 && !self.removed[row as usize] {
                self.look_at(row, &mut waiting);
            }
        }
    }

    /// Removes a row and its column if it can be, and lists those that may be next.
    fn look_at(&mut self, row: u32, waiting: &mut Vec<u32>) {
        let place = row as usize;
        let of_row = [&self.a, &&self.transposed].map(|a| entries(a, place).collect::<Vec<u32>>());
        let has_pivot = of_row[0].binary_search(&row).is_ok();
        match [self.counts[0][place], self.counts[1][place]] {
            [0, 0] => self.free.push(row),
            [1, _] if has_pivot => self.first.push(row),
            [_, 1] if has_pivot => self.last.push(row),
            _ => return,
        }
        self.removed[place] = true;
        self.left -= 1;
        // A column of the row loses an entry, and so does a row of the column.
        for (others, counts) in of_row.iter().zip([1, 0]) {
            for &other in others {
                self.counts[counts][other as usize] -= 1;
                if self.counts[counts][other as usize] <= 1 && !self.removed[other as usize] {
                    waiting.push(other);
                }
            }
        }
    }
}

/// The columns of the entries of a row that are not zero.
fn entries<T: Wide>(a: &Csr<T>, row: usize) -> impl Iterator<Item = u32> {
    let (columns, values) = a.row(row);
    let entries = columns.iter().zip(values);
    entries
        .filter(|(_, value)| **value != T::default())
        .map(|(&column, _)| column)
}
