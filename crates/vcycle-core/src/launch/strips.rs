//! Launches of products with blocks in slices.

use vcycle_gpu::Argument;

use super::rows::{Columns, Operand, power};
use super::setup::{Queue, Strips, digit, vector_of};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::File;
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = File {
    name: "sliced_blocks.c",
    text: concat!(
        include_str!("../gpu/kernels/rows.h"),
        include_str!("../gpu/kernels/block_place.h"),
        include_str!("../gpu/kernels/sliced_blocks.c")
    ),
    block: 128,
};

/// What a device needs to know of the blocks of a pattern to multiply with matrices that have it.
#[derive(Clone, Debug)]
pub(crate) struct SlicedBlocks(Strips);

impl SlicedBlocks {
    /// As [`Strips::new`].
    pub(crate) fn new(
        queue: &Queue<'_>,
        pattern: &Pattern,
        block: Size,
        least_filled: usize,
    ) -> Result<Option<Self>> {
        Ok(Strips::new(queue, pattern, block, least_filled)?.map(Self))
    }

    /// Rows and columns of a block.
    pub(crate) fn block(&self) -> Size {
        self.0.block
    }

    pub(super) fn values<T: Scalar>(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        self.0.place(queue, pattern, values)
    }

    pub(super) fn operand<T: Scalar>(&self, values: &Buffer<T>, cols: usize) -> Result<Operand> {
        let (own, block) = (&self.0.slices, self.0.block);
        let (mark, marks) = own.marks.argument()?;
        let slices = own.slice_count();
        let numbers = [own.rows, self.0.pattern.size().cols, cols, slices];
        let mut arguments = numbers.map(|number| Argument::U32(number as u32)).to_vec();
        let order = own.order.as_ref().map_or(Ok(0), Buffer::device)?;
        arguments.extend([own.starts.device()?, order].map(Argument::Address));
        arguments.push(marks);
        arguments.extend([own.bases.device()?, own.codes.device()?].map(Argument::Address));
        let columns = Columns::new(cols, size_of::<T>());
        let strips_of_block = match columns.spread {
            1 => FILE.block as usize / own.threads,
            spread => FILE.block as usize / spread,
        };
        Ok(Operand {
            file: FILE,
            kernel: "sliced_blocks",
            defines: vec![
                ("HEIGHT", digit(block.rows)),
                ("BREADTH", digit(block.cols)),
                ("VECTOR", power(vector_of(size_of::<T>(), block))),
                mark,
                ("CODED", if own.codes.is_empty() { "0" } else { "1" }),
                ("THREADS", power(own.threads)),
                ("COLUMNS", power(columns.each)),
                ("SPREAD", power(columns.spread)),
            ],
            blocks: own.rows.div_ceil(strips_of_block) * columns.groups(cols),
            arguments,
            values: values.device()?,
        })
    }
}
