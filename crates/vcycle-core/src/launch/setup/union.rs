//! Unions of patterns.

use super::{Queue, number, read, write};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::gpu::{File, kernel_file};

pub(super) const FILE: File = kernel_file!("union.c");

impl Queue<'_> {
    /// The positions of either of two patterns of equal size.
    pub(crate) fn union(&self, a: &Pattern, b: &Pattern) -> Result<Pattern> {
        let rows = a.size().rows;
        let ((a_offsets, a_columns), (b_offsets, b_columns)) = (a.buffers(), b.buffers());
        let both = [
            number(rows),
            read(a_offsets)?,
            read(a_columns)?,
            read(b_offsets)?,
            read(b_columns)?,
        ];
        let mut counts = self.room(rows)?;
        let arguments = [&both[..], &[write(&mut counts)?]].concat();
        self.items(FILE, "union_count", &[], rows, &arguments)?;
        let (offsets, entries) = self.offsets(&counts)?;
        let mut columns = self.room(entries)?;
        let arguments = [&both[..], &[read(&offsets)?, write(&mut columns)?]].concat();
        self.items(FILE, "union_fill", &[], rows, &arguments)?;
        Ok(Pattern::of_buffers(a.size(), offsets, columns))
    }
}
