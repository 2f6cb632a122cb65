//! Launches of products with compressed sparse rows.

use vcycle_gpu::Argument;

use super::File;
use super::layout::{CHUNK, Entries, LANES, Slices};
use super::rows::{Operand, columns_for, groups_for, power, product_file};
use super::setup::{DeviceSlices, Marks, Queue};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::linop::Size;
use crate::matrix::Pattern;
use crate::scalar::Scalar;

/// With few threads in a block: it makes room for the next one sooner.
const FILE: File = product_file!(64, "sliced.c");
/// For slices with codes: neighbours of one block find more of `x` in the cache they share.
const CODED: File = File { block: 128, ..FILE };

/// What a device needs to know of a pattern to multiply with matrices that have it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    made: Made,
    /// Columns of the matrix.
    inputs: usize,
    /// Rows in slices.
    rows: usize,
    /// Lanes for each row.
    threads: usize,
    steps: usize,
    order: Option<Buffer<u32>>,
    starts: Buffer<u32>,
    marks: Marks,
    bases: Buffer<u32>,
    codes: Buffer<u8>,
    parts: Option<Parts>,
}

/// Who made the layout, and puts values into it.
#[derive(Clone, Debug)]
enum Made {
    /// The device: all rows are in slices.
    Device(Box<DeviceSlices>),
    /// The host; the codes are on the device alone.
    Host(Slices),
}

/// What parts of long rows need.
#[derive(Clone, Debug)]
struct Parts {
    count: usize,
    table: Buffer<u32>,
    columns: Buffer<u32>,
    sums: Buffer<f64>,
    counters: Buffer<u32>,
}

impl Layout {
    /// The layout for a pattern of the device, made there unless rows are so long that they are cut.
    ///
    /// # Errors
    /// When the device has no memory for it or cannot number the rows.
    pub(crate) fn new(queue: &Queue<'_>, pattern: &Pattern) -> Result<Self> {
        if pattern.size().rows >= u32::MAX as usize {
            return Err(queue.gpu.lacks("csr", "matrices of so many rows"));
        }
        match DeviceSlices::new(queue, pattern)? {
            Some(slices) => Ok(Self::of_device(pattern.size(), slices)),
            None => Self::of_host(queue, pattern),
        }
    }

    fn of_device(size: Size, slices: DeviceSlices) -> Self {
        Self {
            inputs: size.cols,
            rows: size.rows,
            threads: slices.threads,
            steps: slices.step_count,
            order: slices.order.clone(),
            starts: slices.starts.clone(),
            marks: slices.marks.clone(),
            bases: slices.bases.clone(),
            codes: slices.codes.clone(),
            parts: None,
            made: Made::Device(Box::new(slices)),
        }
    }

    fn of_host(queue: &Queue<'_>, pattern: &Pattern) -> Result<Self> {
        let executor = queue.executor;
        let (offsets, columns) = (pattern.offsets(), pattern.columns());
        let a = Entries { offsets, columns };
        let mut slices = Slices::new(executor, a, queue.gpu.width());
        let numbers = |all: &[usize; 2]| all.map(|number| number as u32);
        let order = (!slices.in_order).then(|| slices.rows.clone());
        let starts = slices.starts.iter().flat_map(numbers).collect();
        let (bases, codes) = (
            std::mem::take(&mut slices.bases),
            std::mem::take(&mut slices.codes),
        );
        Ok(Self {
            inputs: pattern.size().cols,
            rows: slices.rows.len(),
            threads: slices.threads,
            steps: slices.steps(),
            order: order.map(|order| Buffer::from_vec(executor, order)),
            starts: Buffer::from_vec(executor, starts),
            marks: marks(executor, &slices.marks),
            bases: Buffer::from_vec(executor, bases),
            codes: to_device(executor, codes)?,
            parts: Parts::new(executor, &slices, columns)?,
            made: Made::Host(slices),
        })
    }

    /// The values of a matrix, in the order of the layout.
    ///
    /// # Errors
    /// When the device has no memory for them.
    pub(crate) fn values<T: Scalar>(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        let slices = match &self.made {
            Made::Device(slices) => return slices.place(queue, pattern, values),
            Made::Host(slices) => slices,
        };
        let (offsets, columns) = (pattern.offsets(), pattern.columns());
        let a = Entries { offsets, columns };
        let placed = slices.place(queue.executor, a, values.host()?);
        to_device(queue.executor, placed)
    }

    /// A matrix with values in the order of the layout, for vectors of so many columns.
    pub(crate) fn operand<T: Scalar>(&self, values: &Buffer<T>, cols: usize) -> Result<Operand> {
        const { assert!(CHUNK == 2048) };
        let (mark, marks) = self.marks.argument()?;
        let slices = self.rows.div_ceil(LANES / self.threads);
        let parts = self.parts.as_ref().map_or(0, |parts| parts.count);
        let numbers = [self.rows, self.inputs, cols, slices, parts];
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
        let long_values = values.device()? + (self.steps * LANES * size_of::<T>()) as u64;
        arguments.push(Argument::Address(long_values));
        let file = if self.codes.is_empty() { FILE } else { CODED };
        let blocks = slices.div_ceil(file.block as usize / LANES) * groups_for(cols);
        Ok(Operand {
            file,
            kernel: "sliced",
            defines: vec![
                mark,
                ("CODED", if self.codes.is_empty() { "0" } else { "1" }),
                ("THREADS", power(self.threads)),
                ("COLUMNS", power(columns_for(cols))),
                ("CHUNK", "2048"),
            ],
            blocks: blocks.max(parts),
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

/// Row lengths and masks in bytes where these are enough.
fn marks(executor: &Executor, marks: &[u32]) -> Marks {
    let short = |&mark: &u32| u8::try_from(mark).ok();
    match marks.iter().map(short).collect() {
        Some(short) => Marks::Short(Buffer::from_vec(executor, short)),
        None => Marks::Long(Buffer::from_vec(executor, marks.to_vec())),
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
            count: parts.len(),
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
