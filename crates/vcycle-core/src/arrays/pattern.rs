//! Where the entries of a matrix stand.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::cut::{Slice, balance};
use crate::executor::{Buffer, Executor};
use crate::runs::Runs;
use crate::size::Size;

/// What a device has made of a pattern, for whoever made it.
pub(crate) type Derived = Arc<dyn Any + Send + Sync>;

/// The positions of a sparse matrix's entries, row after row.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(crate) size: Size,
    pub(crate) offsets: Buffer<usize>,
    pub(crate) columns: Buffer<u32>,
    pub(crate) pieces: OnceLock<Vec<usize>>,
    pub(crate) slices: OnceLock<Vec<Slice>>,
    pub(crate) runs: OnceLock<Box<Runs>>,
    /// How a device stores matrices of this pattern, and its rows by length: `launch` makes both.
    pub(crate) layouts: OnceLock<Derived>,
    pub(crate) groups: OnceLock<Derived>,
    /// Whether every row has one entry, where that is known.
    pub(crate) single_entries: OnceLock<bool>,
    /// Whether any row is empty, where that is known.
    pub(crate) empty_rows: OnceLock<bool>,
}

impl Pattern {
    /// A pattern whose rows are sorted.
    ///
    /// # Panics
    /// When offsets or columns are out of range: kernels look entries up without a check of each.
    #[doc(hidden)]
    pub fn new(executor: &Executor, size: Size, offsets: Vec<usize>, columns: Vec<u32>) -> Self {
        assert_eq!(offsets.len(), size.rows + 1, "an offset for every row");
        let ends = (offsets[0], offsets[size.rows]);
        assert_eq!(ends, (0, columns.len()), "offsets of all entries");
        let pieces = balance(size.rows, |row| offsets[row].saturating_add(row));
        let bytes = size_of_val(&*offsets) + size_of_val(&*columns);
        let fits = executor.run(bytes, pieces.windows(2).collect(), |rows| {
            in_range(&offsets[rows[0]..=rows[1]], &columns, size.cols)
        });
        assert!(fits.iter().all(|fits| *fits), "entries out of range");
        let offsets = Buffer::from_vec(executor, offsets);
        Self::of_buffers(size, offsets, Buffer::from_vec(executor, columns))
    }

    /// Takes over arrays of any executor, known to be in range, sorted and without duplicates.
    pub(crate) fn of_buffers(size: Size, offsets: Buffer<usize>, columns: Buffer<u32>) -> Self {
        debug_assert_eq!(offsets.len(), size.rows + 1);
        Self {
            size,
            offsets,
            columns,
            pieces: OnceLock::new(),
            slices: OnceLock::new(),
            runs: OnceLock::new(),
            layouts: OnceLock::new(),
            groups: OnceLock::new(),
            single_entries: OnceLock::new(),
            empty_rows: OnceLock::new(),
        }
    }
}

/// Whether the offsets of some rows increase, and all columns between them are below a limit.
fn in_range(offsets: &[usize], columns: &[u32], limit: usize) -> bool {
    let columns = match offsets {
        [first, .., last] => columns.get(*first..*last),
        _ => Some(&[][..]),
    };
    // Folds over everything are vectorised, searches that may end anywhere are not.
    let largest = |columns: &[u32]| columns.iter().fold(0, |a, &b| a.max(b)) as usize;
    let increase = |all: bool, pair: &[usize]| all & (pair[0] <= pair[1]);
    columns.is_some_and(|columns| columns.is_empty() || largest(columns) < limit)
        && offsets.windows(2).fold(true, increase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_outside_are_refused() {
        let made = |rows: usize, offsets: &[usize], columns: &[u32]| {
            let (offsets, columns) = (offsets.to_vec(), columns.to_vec());
            let host = Executor::reference();
            let new = || Pattern::new(&host, Size::new(rows, 3), offsets, columns);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(new)).is_ok()
        };
        assert!(made(2, &[0, 1, 3], &[2, 0, 1]) && made(0, &[0], &[]));
        assert!(!made(2, &[0, 1, 3], &[2, 0, 3]), "a column");
        assert!(!made(2, &[0, 3, 2], &[2, 0]), "an offset");
        assert!(!made(3, &[0, 2, 1, 2], &[2, 0]), "offsets that decrease");
        assert!(!made(2, &[0, 2], &[2, 0]), "too few offsets");
        assert!(!made(1, &[1, 2], &[2, 0]), "an entry before all rows");
        assert!(!made(0, &[], &[]), "no offset");
    }
}
