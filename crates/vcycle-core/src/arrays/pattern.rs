//! Where the entries of a matrix stand.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::cut::Slice;
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
    #[doc(hidden)]
    pub fn new(executor: &Executor, size: Size, offsets: Vec<usize>, columns: Vec<u32>) -> Self {
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
