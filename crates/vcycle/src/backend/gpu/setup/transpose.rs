//! Rows and columns exchanged.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::groups::{Groups, TEAM_BLOCK};
use super::{Queue, number, read, write};
use crate::backend::gpu::{Define, File, kernel_file};
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::matrix::{Csr, Pattern};
use crate::scalar::Scalar;

const FILE: File = kernel_file!("transpose.c", TEAM_BLOCK, "teams.h");
/// Lengths of rows that are sorted in local memory.
const LOCAL: usize = 2048;
/// Entries for every thread of a team, and most threads, measured on an H200.
const TEAMS: (usize, usize) = (2, 32);
/// Kernels that have no teams are compiled with these.
const PLAIN: [Define; 4] = [
    ("THREADS", "1"),
    ("SIZE", "0"),
    ("SLOTS", "0"),
    ("WORD", "u32"),
];

impl Queue<'_> {
    /// The transpose of a matrix.
    pub(crate) fn transpose<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>> {
        let (pattern, values) = self.transposed(a.pattern(), Some(a.values_buffer()))?;
        Ok(Csr::of_buffers(&Arc::new(pattern), values))
    }

    /// The transpose of a pattern.
    pub(crate) fn transpose_pattern(&self, a: &Pattern) -> Result<Pattern> {
        Ok(self.transposed::<u32>(a, None)?.0)
    }

    fn transposed<T: Element>(
        &self,
        a: &Pattern,
        values: Option<&Buffer<T>>,
    ) -> Result<(Pattern, Buffer<T>)> {
        let (size, entries) = (a.size().transposed(), a.nonzeros());
        let (offsets, columns) = a.buffers();
        let mut counts = self.zeros::<u32>(size.rows)?;
        let arguments = [number(entries), read(columns)?, write(&mut counts)?];
        self.items(FILE, "count_columns", &PLAIN, entries, &arguments)?;
        let (t_offsets, _) = self.scan(&counts)?;
        let groups = Groups::new(self, &counts)?;
        let mut taken = counts;
        self.clear(&mut taken)?;
        let mut t_columns = self.room(entries)?;
        let given = [read(offsets)?, read(columns)?];
        let arguments = [
            number(size.cols),
            given[0],
            given[1],
            read(&t_offsets)?,
            write(&mut taken)?,
            write(&mut t_columns)?,
        ];
        self.items(FILE, "put_down", &PLAIN, size.cols, &arguments)?;
        let mut t_values = self.room(values.map_or(0, Buffer::len))?;
        for group in groups.each(LOCAL, TEAMS)? {
            let word = [("WORD", word::<T>())];
            let defines = [&group.defines(group.size)[..], &word].concat();
            let arguments = [
                number(group.count),
                group.rows,
                given[0],
                given[1],
                values.map_or(Ok(Argument::Address(0)), read)?,
                read(&t_offsets)?,
                write(&mut t_columns)?,
                write(&mut t_values)?,
            ];
            let blocks = group.blocks(self, 0);
            self.blocks(FILE, "finish_rows", &defines, blocks, &arguments)?;
        }
        Ok((Pattern::of_buffers(size, t_offsets, t_columns), t_values))
    }
}

/// The type in which values of so many bytes are moved.
pub(super) fn word<T>() -> &'static str {
    match size_of::<T>() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    }
}
