//! Rows of which it is known how long they are before a kernel fills them.

use super::Queue;
use crate::executor::Element;
use crate::gpu::{Bits, Passes, Read, Write};
use crate::prelude::*;

/// The arrays of a matrix; `NEW_CSR` of the kernels.
#[derive(Debug)]
pub(crate) struct NewRows<T> {
    pub offsets: Buffer<usize>,
    pub columns: Buffer<u32>,
    pub values: Buffer<T>,
}

impl Queue<'_> {
    /// Room for rows of these lengths.
    pub(crate) fn new_rows<T: Element>(&self, lengths: &Buffer<u32>) -> Result<NewRows<T>> {
        let (offsets, entries) = self.offsets(lengths)?;
        self.rows_at(offsets, entries)
    }

    /// Room for rows that begin at some places, with so many entries in all.
    pub(crate) fn rows_at<T: Element>(
        &self,
        offsets: Buffer<usize>,
        entries: usize,
    ) -> Result<NewRows<T>> {
        Ok(NewRows {
            offsets,
            columns: self.uninit(entries)?,
            values: self.uninit(entries)?,
        })
    }

    /// The pattern whose rows have these lengths, with columns that `fill` writes.
    pub(crate) fn new_pattern(
        &self,
        size: Size,
        lengths: &Buffer<u32>,
        fill: impl FnOnce((&Buffer<usize>, &mut Buffer<u32>)) -> Result<()>,
    ) -> Result<Pattern> {
        let (offsets, entries) = self.offsets(lengths)?;
        let mut columns = self.uninit(entries)?;
        fill((&offsets, &mut columns))?;
        Ok(Pattern::of_buffers(size, offsets, columns))
    }
}

impl<T: Scalar> NewRows<T> {
    /// The matrix, once its rows are filled.
    pub(crate) fn matrix(self, size: Size) -> Csr<T> {
        let pattern = Pattern::of_buffers(size, self.offsets, self.columns);
        Csr::of_buffers(&Arc::new(pattern), self.values)
    }

    /// For kernels that move values as words.
    pub(crate) fn bits(&mut self) -> Result<(Read<u64>, Write<u32>, Write<Bits>)> {
        let (offsets, columns, values) = self.pass()?;
        Ok((offsets, columns, Write::bits(values)))
    }
}

impl<T: Element> Passes<(Read<u64>, Write<u32>, Write<T>)> for &mut NewRows<T> {
    fn pass(self) -> Result<(Read<u64>, Write<u32>, Write<T>)> {
        let columns = self.columns.pointer_mut()?;
        Ok(((&self.offsets).pass()?, columns, self.values.pointer_mut()?))
    }
}
