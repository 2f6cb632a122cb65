//! Rows that were made with padding between them.

use crate::executor::Element;
use crate::gpu::kernels::loose as kernels;
use crate::launch::prelude::*;

/// Rows stored with padding between them.
pub(crate) struct LooseRows<'a, A> {
    /// Where each begins; without, they are a `room` apart.
    pub starts: Option<&'a Buffer<usize>>,
    pub room: usize,
    pub columns: Buffer<u32>,
    pub values: Buffer<A>,
    pub lengths: Buffer<u32>,
}

/// Rows of coarse unknowns, which are one entry each.
#[derive(Clone, Copy)]
pub(crate) struct Alone<'a> {
    /// The unknowns of the rows, if there is not a row for all.
    pub points: Option<&'a Buffer<u32>>,
    /// Numbers or `NONE` for all unknowns.
    pub coarse: &'a Buffer<u32>,
    /// Whether the columns of the other rows are unknowns, whose numbers are wanted.
    pub renumbers: bool,
}

impl Queue<'_> {
    /// Room for the entries of rows that begin at some places, or so far from each other.
    pub(crate) fn loose_rows<'a, A: Element>(
        &self,
        (starts, room): (Option<&'a Buffer<usize>>, usize),
        entries: usize,
        lengths: Buffer<u32>,
    ) -> Result<LooseRows<'a, A>> {
        Ok(LooseRows {
            starts,
            room,
            columns: self.uninit(entries)?,
            values: self.uninit(entries)?,
            lengths,
        })
    }

    /// The matrix of rows that lie apart.
    pub(crate) fn gathered_rows<A: Scalar>(
        &self,
        size: Size,
        loose: &LooseRows<'_, A>,
        alone: Option<Alone<'_>>,
    ) -> Result<Csr<A>> {
        let mut rows = self.new_rows(&loose.lengths)?;
        let shape = (size.rows, rows.columns.len().div_ceil(size.rows.max(1)));
        kernels::gather_rows(
            size.rows,
            alone.and_then(|alone| alone.points),
            alone.map(|alone| alone.coarse),
            alone.is_some_and(|alone| alone.renumbers),
            loose.room,
            loose.starts,
            &loose.columns,
            &loose.values,
            &mut rows,
        )?
        .rows(self, shape)?;
        Ok(rows.matrix(size))
    }
}
