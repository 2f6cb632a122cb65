//! Rows that were made with padding between them.

use std::sync::Arc;

use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Passes, Read, kernels::loose as kernels};
use crate::launch::Queue;
use crate::scalar::Field;
use crate::size::Size;

impl Queue<'_> {
    /// The matrix whose rows begin at `starts` and have so many entries.
    pub(crate) fn gathered_rows<A: Field>(
        &self,
        size: Size,
        starts: impl Passes<Read<u64>>,
        (columns, values): (&Buffer<u32>, &Buffer<A>),
        lengths: &Buffer<u32>,
    ) -> Result<Csr<A>> {
        let (offsets, entries) = self.offsets(lengths)?;
        let (mut out_columns, mut out_values) = (self.room(entries)?, self.room(entries)?);
        let shape = (size.rows, entries.div_ceil(size.rows.max(1)));
        self.gpu.real(A::KIND)?;
        kernels::gather_rows(
            size.rows,
            starts,
            columns,
            values,
            &offsets,
            &mut out_columns,
            &mut out_values,
        )?
        .rows(self, shape)?;
        let pattern = Pattern::of_buffers(size, offsets, out_columns);
        Ok(Csr::of_buffers(&Arc::new(pattern), out_values))
    }
}
