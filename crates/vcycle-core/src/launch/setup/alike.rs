//! Rows of like patterns, which may stand far apart, one after the other.

use std::cmp::Reverse;

use super::{Queue, number, read, write};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{File, kernel_file};

pub(super) const FILE: File = kernel_file!("alike.c");

/// A pattern whose rows are in another order.
#[derive(Clone, Debug)]
pub(crate) struct Alike {
    /// Which row stands where.
    pub order: Buffer<u32>,
    /// The rows in that order.
    pub pattern: Pattern,
}

impl Queue<'_> {
    /// The rows of a pattern, those with the same columns one after the other.
    ///
    /// # Errors
    /// When the device has no memory for them.
    pub(crate) fn alike(&self, pattern: &Pattern) -> Result<Alike> {
        let rows = pattern.size().rows;
        let (offsets, columns) = pattern.buffers();
        let given = [number(rows), read(offsets)?, read(columns)?];
        let mut hashes = self.room::<u32>(rows)?;
        let arguments = [&given[..], &[write(&mut hashes)?]].concat();
        self.items(FILE, "row_hashes", &[], rows, &arguments)?;
        let order = Buffer::from_vec(self.executor, like_rows(hashes.host()?));
        let listed = [number(rows), read(&order)?];
        let mut lengths = self.room::<u32>(rows)?;
        let arguments = [&listed[..], &[read(offsets)?, write(&mut lengths)?]].concat();
        self.items(FILE, "listed_lengths", &[], rows, &arguments)?;
        let (to_offsets, entries) = self.offsets(&lengths)?;
        let mut to = self.room(entries)?;
        let out = [read(&to_offsets)?, write(&mut to)?];
        let arguments = [&listed[..], &given[1..], &out].concat();
        self.items(FILE, "listed_columns", &[], rows, &arguments)?;
        Ok(Alike {
            order,
            pattern: Pattern::of_buffers(pattern.size(), to_offsets, to),
        })
    }
}

/// The rows in groups that have a number in common: large groups first, so that blocks of rows begin where groups begin, and of equal ones that with the
/// first row.
fn like_rows(hashes: &[u32]) -> Vec<u32> {
    let hash = |row: u32| hashes[row as usize];
    let mut rows: Vec<u32> = (0..hashes.len() as u32).collect();
    rows.sort_unstable_by_key(|&row| (hash(row), row));
    let groups = rows.chunk_by(|&one, &other| hash(one) == hash(other));
    let mut groups: Vec<&[u32]> = groups.collect();
    groups.sort_unstable_by_key(|group| (Reverse(group.len()), group[0]));
    groups.concat()
}

#[cfg(test)]
mod tests {
    use super::like_rows;

    #[test]
    fn large_groups_come_first() {
        assert_eq!(
            like_rows(&[9, 5, 7, 5, 9, 7, 5, 1]),
            [1, 3, 6, 0, 4, 2, 5, 7]
        );
        assert!(like_rows(&[]).is_empty());
    }
}
