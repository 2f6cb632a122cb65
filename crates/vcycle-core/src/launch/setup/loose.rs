//! Rows that were made with padding between them.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::tiles::tile_file;
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File};
use crate::scalar::Field;
use crate::size::Size;

pub(super) const FILE: File = tile_file!("loose.c");

impl Queue<'_> {
    /// The matrix whose rows begin at `starts` and have so many entries.
    pub(super) fn gathered_rows<A: Field>(
        &self,
        size: Size,
        starts: Argument,
        (columns, values): (&Buffer<u32>, &Buffer<A>),
        lengths: &Buffer<u32>,
    ) -> Result<Csr<A>> {
        let (offsets, entries) = self.offsets(lengths)?;
        let (mut out_columns, mut out_values) = (self.room(entries)?, self.room(entries)?);
        let arguments = [
            number(size.rows),
            starts,
            read(columns)?,
            read(values)?,
            read(&offsets)?,
            write(&mut out_columns)?,
            write(&mut out_values)?,
        ];
        let shape = (size.rows, entries.div_ceil(size.rows.max(1)));
        let defines: [Define; 1] = [("ACC", self.gpu.real(A::KIND)?)];
        self.rows(FILE, "gather_rows", &defines, shape, &arguments)?;
        let pattern = Pattern::of_buffers(size, offsets, out_columns);
        Ok(Csr::of_buffers(&Arc::new(pattern), out_values))
    }
}
