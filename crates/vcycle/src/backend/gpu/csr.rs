//! Launches of products with compressed sparse rows.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::layout::{CHUNK, Entries, LANES, Slices};
use super::rows::{Operand, columns_for, power, product_file};
use super::{Define, File, Gpu};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::scalar::Scalar;

/// Threads of a block: small ones make room for others sooner.
const BLOCK: u32 = 64;
const FILE: File = product_file!(BLOCK, "sliced.c");

/// What a device needs to know of a pattern to multiply with matrices that have it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    executor: Executor,
    /// Columns of the matrix.
    inputs: usize,
    /// The codes are on the device alone.
    slices: Slices,
    order: Option<Buffer<u32>>,
    starts: Buffer<u32>,
    marks: Marks,
    bases: Buffer<u32>,
    codes: Buffer<u8>,
    parts: Option<Parts>,
}

/// Row lengths and masks of as few bytes as can be.
#[derive(Clone, Debug)]
enum Marks {
    Short(Buffer<u8>),
    Long(Buffer<u32>),
}

/// What parts of long rows need.
#[derive(Clone, Debug)]
struct Parts {
    table: Buffer<u32>,
    columns: Buffer<u32>,
    sums: Buffer<f64>,
    counters: Buffer<u32>,
}

impl Layout {
    /// The layout for a pattern with so many columns given by the host's arrays.
    ///
    /// # Errors
    /// When the device has no memory for it or cannot number the rows.
    pub(crate) fn new(
        gpu: &Arc<Gpu>,
        inputs: usize,
        offsets: &[usize],
        columns: &[u32],
    ) -> Result<Self> {
        if offsets.len() > u32::MAX as usize {
            return Err(gpu.lacks("csr", "matrices of so many rows"));
        }
        let executor = Executor::Gpu(Arc::clone(gpu));
        let a = Entries { offsets, columns };
        let mut slices = Slices::new(&executor, a, gpu.width());
        let numbers = |all: &[usize; 2]| all.map(|number| number as u32);
        let order = (!slices.in_order).then(|| slices.rows.clone());
        let starts = slices.starts.iter().flat_map(numbers).collect();
        let (bases, codes) = (
            std::mem::take(&mut slices.bases),
            std::mem::take(&mut slices.codes),
        );
        Ok(Self {
            order: order.map(|order| Buffer::from_vec(&executor, order)),
            starts: Buffer::from_vec(&executor, starts),
            marks: Marks::new(&executor, &slices.marks),
            bases: Buffer::from_vec(&executor, bases),
            codes: to_device(&executor, codes)?,
            parts: Parts::new(&executor, &slices, columns)?,
            slices,
            inputs,
            executor,
        })
    }

    /// The values of a matrix, in the order of the layout.
    ///
    /// # Errors
    /// When the device has no memory for them.
    pub(crate) fn values<T: Scalar>(
        &self,
        offsets: &[usize],
        columns: &[u32],
        values: &[T],
    ) -> Result<Buffer<T>> {
        let a = Entries { offsets, columns };
        let placed = self.slices.place(&self.executor, a, values);
        to_device(&self.executor, placed)
    }

    /// A matrix with values in the order of the layout, for vectors of so many columns.
    pub(crate) fn operand<T: Scalar>(&self, values: &Buffer<T>, cols: usize) -> Result<Operand> {
        const { assert!(CHUNK == 2048) };
        let (mark, marks) = self.marks.argument()?;
        let slices = self.slices.count();
        let numbers = [
            self.slices.rows.len(),
            self.inputs,
            cols,
            slices,
            self.slices.parts.len(),
        ];
        let mut arguments = numbers.map(|number| Argument::U32(number as u32)).to_vec();
        let order = self.order.as_ref().map_or(Ok(0), Buffer::device)?;
        arguments.extend([self.starts.device()?, order].map(Argument::Address));
        arguments.push(marks);
        arguments.extend([self.bases.device()?, self.codes.device()?].map(Argument::Address));
        arguments.extend(
            self.parts
                .as_ref()
                .map_or(Ok([0; 4]), Parts::addresses)?
                .map(Argument::Address),
        );
        let long_values = values.device()? + (self.slices.steps() * LANES * size_of::<T>()) as u64;
        arguments.push(Argument::Address(long_values));
        let blocks = slices.div_ceil(BLOCK as usize / LANES);
        Ok(Operand {
            file: FILE,
            kernel: "sliced",
            defines: vec![
                mark,
                ("CODED", if self.codes.is_empty() { "0" } else { "1" }),
                ("THREADS", power(self.slices.threads)),
                ("COLUMNS", power(columns_for(cols))),
                ("CHUNK", "2048"),
            ],
            blocks: blocks.max(self.slices.parts.len()),
            arguments,
            values: values.device()?,
        })
    }
}

/// Copies to the device and keeps nothing here.
fn to_device<T: crate::executor::Element>(
    executor: &Executor,
    values: Vec<T>,
) -> Result<Buffer<T>> {
    Buffer::from_vec(&executor.on_host(), values).copy_to(executor)
}

impl Marks {
    fn new(executor: &Executor, marks: &[u32]) -> Self {
        let short = |&mark: &u32| u8::try_from(mark).ok();
        match marks.iter().map(short).collect() {
            Some(short) => Marks::Short(Buffer::from_vec(executor, short)),
            None => Marks::Long(Buffer::from_vec(executor, marks.to_vec())),
        }
    }

    fn argument(&self) -> Result<(Define, Argument)> {
        let (kind, address) = match self {
            Marks::Short(marks) => ("u8", marks.device()?),
            Marks::Long(marks) => ("u32", marks.device()?),
        };
        Ok((("MARK", kind), Argument::Address(address)))
    }
}

impl Parts {
    fn new(executor: &Executor, slices: &Slices, columns: &[u32]) -> Result<Option<Self>> {
        let parts = &slices.parts;
        if parts.is_empty() {
            return Ok(None);
        }
        let entry = |part: &super::layout::Part| {
            let numbers = [part.row, part.entries.len(), part.number.0, part.number.1];
            numbers.map(|number| number as u32)
        };
        let mut placed = vec![0; parts.len() * CHUNK];
        slices.place_parts(columns, &mut placed);
        Ok(Some(Self {
            table: Buffer::from_vec(executor, parts.iter().flat_map(entry).collect()),
            columns: Buffer::from_vec(executor, placed),
            sums: Buffer::filled(executor, parts.len(), 0.0)?,
            counters: Buffer::filled(executor, parts.len(), 0)?,
        }))
    }

    fn addresses(&self) -> Result<[u64; 4]> {
        let (table, columns) = (self.table.device()?, self.columns.device()?);
        Ok([table, columns, self.sums.device()?, self.counters.device()?])
    }
}
