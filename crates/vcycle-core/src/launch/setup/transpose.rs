//! Rows and columns exchanged.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::groups::{Group, Groups, TEAM_BLOCK};
use super::tiles::NOTHING;
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::gpu::{Define, File, kernel_file};
use crate::scalar::Scalar;

pub(super) const FILE: File = kernel_file!("transpose.c", TEAM_BLOCK, "teams.h");
/// Lengths of rows that are sorted in local memory.
const LOCAL: usize = 2048;
/// Entries for every thread of a team, and most threads, measured on an H200.
const TEAMS: (usize, usize) = (2, 32);
/// Entries of a row in the mean, up to which most rows are expected to be short.
const MEAN_SHORT: usize = 4;
/// Blocks for those that are not.
const LONGER: usize = 256;
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
        let transposed = Csr::of_buffers(&Arc::new(pattern), values);
        Ok(match a.has_ones() {
            true => transposed.of_ones(),
            false => transposed,
        })
    }

    /// The conjugate transpose of a matrix.
    pub(crate) fn adjoint<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<T>> {
        let (pattern, values) = self.transposed(a.pattern(), Some(a.values_buffer()))?;
        let values = self.conjugated(values)?;
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
        let mut total = self.room::<u64>(1)?;
        let t_offsets = self.scan(&counts, write(&mut total)?)?;
        // Of short rows nobody has to know which are longer.
        let groups = match entries <= MEAN_SHORT * size.rows {
            true => None,
            false => Some(Groups::new(self, &counts)?),
        };
        let mut t_columns = self.room(entries)?;
        let given = [read(offsets)?, read(columns)?];
        let arguments = [
            number(size.cols),
            given[0],
            given[1],
            read(&t_offsets)?,
            write(&mut counts)?,
            write(&mut t_columns)?,
        ];
        self.items(FILE, "put_down", &PLAIN, size.cols, &arguments)?;
        let mut t_values = self.room(values.map_or(0, Buffer::len))?;
        let transpose = [
            given[0],
            given[1],
            values.map_or(Ok(NOTHING), read)?,
            read(&t_offsets)?,
            write(&mut t_columns)?,
            write(&mut t_values)?,
        ];
        match groups {
            Some(groups) => self.finish::<T>(&groups, &transpose)?,
            None => self.finish_short::<T>(size.rows, counts, &transpose)?,
        }
        Ok((Pattern::of_buffers(size, t_offsets, t_columns), t_values))
    }

    /// Sorts the rows of all groups.
    fn finish<T>(&self, groups: &Groups, transpose: &[Argument]) -> Result<()> {
        let word = [("WORD", word::<T>())];
        for group in groups.each(LOCAL, TEAMS)? {
            let defines = [&group.defines(group.size)[..], &word].concat();
            let rows = [number(group.count), NOTHING, group.rows];
            let arguments = [&rows[..], transpose].concat();
            let blocks = group.blocks(self, 0);
            self.blocks(FILE, "finish_rows", &defines, blocks, &arguments)?;
        }
        Ok(())
    }

    /// Sorts rows most of which are short, without waiting for how many are not; `longer` is room for
    /// their list.
    fn finish_short<T>(
        &self,
        rows: usize,
        mut longer: Buffer<u32>,
        transpose: &[Argument],
    ) -> Result<()> {
        let mut count = self.zeros::<u32>(1)?;
        let listed = [write(&mut longer)?, write(&mut count)?];
        let arguments = [&[number(rows)], transpose, &listed].concat();
        let word = ("WORD", word::<T>());
        let plain = [PLAIN[0], PLAIN[1], PLAIN[2], word];
        self.items(FILE, "finish_short", &plain, rows, &arguments)?;
        let group = Group::long(rows.min(LONGER), &longer, LOCAL)?;
        let defines = [&group.defines(0)[..], &[word]].concat();
        let arguments = [&[number(0), read(&count)?, group.rows], transpose].concat();
        self.blocks(FILE, "finish_rows", &defines, group.count, &arguments)
    }
}

/// The type in which values of so many bytes are moved.
pub(super) fn word<T>() -> &'static str {
    match size_of::<T>() {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        _ => "c64",
    }
}
