//! Launches of products with blocks in slices.

use vcycle_gpu::Argument;

use super::rows::{Columns, Operand, power};
use super::setup::{Strips, digit, vector_of};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{File, kernels};
use crate::scalar::Scalar;

pub(super) const FILE: File = kernels::sliced_blocks::FILE;

impl Strips {
    /// A matrix with values that [`place`](Self::place) has put in order, for vectors of so many columns.
    pub(super) fn operand<T: Scalar>(&self, values: &Buffer<T>, cols: usize) -> Result<Operand> {
        let (own, block, threads) = (&self.slices, self.block, FILE.block as usize);
        let columns = Columns::new(cols, size_of::<T>());
        let shared = columns.shared_lanes(threads, own.rows, own.threads);
        let strips_of_block = threads / columns.spread / shared;
        let (mark, marks) = own.marks.argument()?;
        let (size, blocks) = (self.size, self.pattern.size());
        let numbers = [
            own.rows,
            blocks.cols,
            cols,
            shared,
            own.slice_count(),
            size.rows,
            size.cols,
        ];
        let mut arguments = numbers.map(|number| Argument::U32(number as u32)).to_vec();
        let order = own.order.as_ref().map_or(Ok(0), Buffer::device)?;
        arguments.extend([own.starts.device()?, order].map(Argument::Address));
        arguments.push(marks);
        arguments.extend([own.bases.device()?, own.codes.device()?].map(Argument::Address));
        Ok(Operand {
            file: FILE,
            kernel: "sliced_blocks",
            defines: vec![
                ("HEIGHT", digit(block.rows)),
                ("BREADTH", digit(block.cols)),
                ("VECTOR", power(vector_of(size_of::<T>(), block))),
                mark,
                ("CODED", flag(!own.codes.is_empty())),
                ("RAGGED", flag(self.is_ragged())),
                ("THREADS", power(own.threads)),
                ("COLUMNS", power(columns.each)),
                ("SHARED", flag(columns.spread > 1)),
            ],
            blocks: own.rows.div_ceil(strips_of_block) * columns.groups(cols),
            arguments,
            values: values.device()?,
        })
    }
}

fn flag(is_set: bool) -> &'static str {
    if is_set { "1" } else { "0" }
}
