//! Launches of products with blocks in slices.

use vcycle_gpu::Argument;

use super::rows::{Columns, Inputs, Operand, power};
use super::setup::{Strips, digit, vector_of};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{BLOCK, Define, File};
use crate::scalar::{Kind, Scalar};

pub(super) const FILE: File = File {
    name: "sliced_blocks.c",
    text: concat!(
        include_str!("../gpu/kernels/rows.h"),
        include_str!("../gpu/kernels/row_columns.h"),
        include_str!("../gpu/kernels/block_place.h"),
        include_str!("../gpu/kernels/sliced_blocks.c")
    ),
    block: 128,
};
/// A block of threads has a slice, eight threads each of its lanes.
pub(super) const TENSORS: File = File {
    name: "block_tensors.c",
    text: concat!(
        include_str!("../gpu/kernels/rows.h"),
        include_str!("../gpu/kernels/row_columns.h"),
        include_str!("../gpu/kernels/block_place.h"),
        include_str!("../gpu/kernels/tensors.h"),
        include_str!("../gpu/kernels/block_tensors.c")
    ),
    block: BLOCK,
};
/// Columns of a product of tensor cores.
const TENSOR_COLUMNS: usize = 8;

impl Strips {
    /// A matrix with values that [`place`](Self::place) has put in order, for vectors of so many columns.
    pub(super) fn operand<T: Scalar>(&self, values: &Buffer<T>, cols: usize) -> Result<Operand> {
        let columns = Columns::new(cols, size_of::<T>());
        let (threads, block) = (self.slices.threads, FILE.block as usize);
        let shared = columns.shared_lanes(block, self.slices.rows, threads);
        let strips_of_block = block / columns.spread / shared;
        let mut operand = self.operand_in(FILE, "sliced_blocks", values, [cols, shared])?;
        operand.defines.extend([
            ("THREADS", power(threads)),
            ("COLUMNS", power(columns.each)),
            ("SHARED", flag(columns.spread > 1)),
        ]);
        operand.blocks = self.slices.rows.div_ceil(strips_of_block) * columns.groups(cols);
        Ok(operand)
    }

    /// The type in which tensor cores multiply a matrix of `values` with such vectors; none where they cannot.
    pub(super) fn tensor(&self, values: Kind, inputs: Inputs) -> Option<Kind> {
        let halves = [Kind::F16, Kind::Bf16].contains(&values) && inputs.sums == Kind::F32;
        let kind = match inputs.kind {
            Kind::F64 => values == Kind::F64,
            Kind::F32 => halves,
            kind => halves && kind == values,
        };
        let shape = self.block.rows <= 4 && self.slices.threads == 1;
        let whole = inputs.cols.is_multiple_of(TENSOR_COLUMNS);
        (kind && shape && whole).then_some(inputs.kind)
    }

    /// The same for products by tensor cores, in a type that [`tensor`](Self::tensor) has found.
    pub(super) fn operand_by_tensors<T: Scalar>(
        &self,
        values: &Buffer<T>,
        cols: usize,
        tensor: Kind,
    ) -> Result<Operand> {
        let groups = cols / TENSOR_COLUMNS;
        let each = 1 << groups.trailing_zeros().min(2);
        let mut operand = self.operand_in(TENSORS, "block_tensors", values, [cols, 1])?;
        let columns: [Define; 2] = [("TENSOR", tensor.name()), ("COLUMNS", power(each))];
        operand.defines.extend(columns);
        operand.blocks = self.slices.slice_count() * (groups / each);
        Ok(operand)
    }

    /// What both have in common, for vectors of so many columns and so many lanes of a strip that threads share.
    fn operand_in<T: Scalar>(
        &self,
        file: File,
        kernel: &'static str,
        values: &Buffer<T>,
        [cols, shared]: [usize; 2],
    ) -> Result<Operand> {
        let (own, block) = (&self.slices, self.block);
        let (mark, marks) = own.marks.argument()?;
        let slices = own.slice_count();
        let (size, blocks) = (self.size, self.pattern.size());
        let numbers = [
            own.rows,
            blocks.cols,
            cols,
            shared,
            slices,
            size.rows,
            size.cols,
        ];
        let mut arguments = numbers.map(|number| Argument::U32(number as u32)).to_vec();
        let order = own.order.as_ref().map_or(Ok(0), Buffer::device)?;
        arguments.extend([own.starts.device()?, order].map(Argument::Address));
        arguments.push(marks);
        arguments.extend([own.bases.device()?, own.codes.device()?].map(Argument::Address));
        Ok(Operand {
            file,
            kernel,
            defines: vec![
                ("HEIGHT", digit(block.rows)),
                ("BREADTH", digit(block.cols)),
                ("VECTOR", power(vector_of(size_of::<T>(), block))),
                mark,
                ("CODED", flag(!own.codes.is_empty())),
                ("RAGGED", flag(!self.is_whole())),
            ],
            blocks: 0,
            arguments,
            values: values.device()?,
        })
    }
}

fn flag(is_set: bool) -> &'static str {
    if is_set { "1" } else { "0" }
}
