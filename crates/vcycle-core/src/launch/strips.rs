//! Launches of products with blocks in slices.

use vcycle_gpu::Argument;

use super::rows::{Columns, Inputs, Operand, power};
use super::setup::{Strips, digit, vector_of};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::gpu::File;
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
/// A block of threads has a strip; where sub-groups are wider, it is one of these.
pub(super) const TENSORS: File = File {
    name: "block_tensors.c",
    text: concat!(
        include_str!("../gpu/kernels/rows.h"),
        include_str!("../gpu/kernels/row_columns.h"),
        include_str!("../gpu/kernels/block_place.h"),
        include_str!("../gpu/kernels/mma.h"),
        include_str!("../gpu/kernels/block_tensors.c")
    ),
    block: 32,
};
/// Columns of a product of tensor cores.
const TENSOR_COLUMNS: usize = 8;

impl Strips {
    /// A matrix with values that [`place`](Self::place) has put in order, for such vectors.
    pub(super) fn operand<T: Scalar>(&self, values: &Buffer<T>, inputs: Inputs) -> Result<Operand> {
        if let Some(tensor) = self.tensor(T::KIND, inputs) {
            return self.operand_by_tensors(values, inputs.cols, tensor);
        }
        let (own, block) = (&self.slices, FILE.block as usize);
        let columns = Columns::new(inputs.cols, size_of::<T>());
        let shared = columns.shared_lanes(block, own.rows, own.threads);
        let strips_of_block = block / columns.spread / shared;
        let mut operand = self.operand_in(FILE, "sliced_blocks", values, [inputs.cols, shared])?;
        operand.defines.extend([
            ("COLUMNS", power(columns.each)),
            ("SHARED", flag(columns.spread > 1)),
        ]);
        if let Some(packed) = &self.packed {
            operand.defines.push(("PACKED", "1"));
            let arrays = [packed.maps.device()?, packed.firsts.device()?];
            operand.arguments.extend(arrays.map(Argument::Address));
        }
        if let Some(listed) = &self.listed {
            operand.defines.push(("LISTED", "1"));
            operand.arguments.push(Argument::Address(listed.device()?));
        }
        operand.blocks = own.rows.div_ceil(strips_of_block) * columns.groups(inputs.cols);
        Ok(operand)
    }

    /// The name in `kernels/mma.h` of what tensor cores multiply a matrix of `values` with; none where they do not.
    fn tensor(&self, values: Kind, inputs: Inputs) -> Option<&'static str> {
        let is_half = [Kind::F16, Kind::Bf16].contains(&values);
        let name = match (inputs.kind, inputs.sums) {
            (kind, Kind::F32) if kind == values => kind.name(),
            (Kind::F32, Kind::F32) if is_half => "mixed",
            (Kind::F64, Kind::F64) if values == Kind::F64 => "f64",
            _ => return None,
        };
        let fits = self.block.rows.max(self.block.cols) <= 4;
        let is_whole = inputs.cols.is_multiple_of(TENSOR_COLUMNS);
        (self.for_tensors && fits && is_whole).then_some(name)
    }

    fn operand_by_tensors<T: Scalar>(
        &self,
        values: &Buffer<T>,
        cols: usize,
        tensor: &'static str,
    ) -> Result<Operand> {
        let groups = cols / TENSOR_COLUMNS;
        let each = 1 << groups.trailing_zeros().min(2);
        let width = match values.executor() {
            Executor::Gpu(gpu) => gpu.width() as u32,
            _ => TENSORS.block,
        };
        let block = TENSORS.block.max(width);
        let file = File { block, ..TENSORS };
        let mut operand = self.operand_in(file, "block_tensors", values, [cols, 1])?;
        operand
            .defines
            .extend([("TENSOR", tensor), ("COLUMNS", power(each))]);
        let rounds = (groups / each).div_ceil((block / TENSORS.block) as usize);
        operand.blocks = self.slices.rows * rounds;
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
            file,
            kernel,
            defines: vec![
                ("HEIGHT", digit(block.rows)),
                ("BREADTH", digit(block.cols)),
                ("VECTOR", power(vector_of(size_of::<T>(), block))),
                mark,
                ("CODED", flag(!own.codes.is_empty())),
                ("RAGGED", flag(self.is_ragged())),
                ("THREADS", power(own.threads)),
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
