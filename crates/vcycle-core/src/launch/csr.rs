//! Launches of products with compressed sparse rows.

use vcycle_gpu::Argument;

use super::layout::Purpose;
use super::rows::{Columns, Finish, Operand, by_rows, multiply, power};
use super::setup::{CHUNK, LANES, Queue, Slices, Survey};
use crate::arrays::{Csr, Pattern, Vector};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, Given, Gpu, kernels};
use crate::scalar::{Mixes, Scalar};

/// With few threads in a block: it makes room for the next one sooner.
pub(super) const FILE: File = kernels::sliced::FILE;
/// For slices with codes: neighbours of one block find more of `x` in the cache they share. For pairs
/// of 16 bits, too.
const WIDE: File = File { block: 128, ..FILE };
/// Threads that a multiprocessor has at once, at most.
const THREADS_OF_UNIT: usize = 2048;
/// Lanes with more steps than this have the registers of two.
const SHORT: usize = 8;

/// What a device needs to know of a pattern to multiply with matrices that have it, row by row.
#[derive(Clone, Debug)]
pub(crate) struct SlicedRows {
    slices: Slices,
    /// Columns of the matrix.
    inputs: usize,
    /// Where parts of long rows leave their sums, and who has come.
    sums: Buffer<f64>,
    counters: Buffer<u32>,
}

/// How a product is launched.
struct Shape {
    file: File,
    kernel: &'static str,
    /// How threads share columns.
    columns: Vec<Define>,
    /// Lanes of a row that threads share where they have several columns.
    shared: usize,
    /// Blocks of threads that fit a multiprocessor.
    resident: usize,
    blocks: usize,
}

impl SlicedRows {
    /// The layout for a pattern of the device, made there.
    ///
    /// # Errors
    /// When the device has no memory for it or cannot number the rows.
    pub(crate) fn new(queue: &Queue<'_>, pattern: &Pattern, survey: &Survey) -> Result<Self> {
        let slices = Slices::new(queue, pattern, survey)?;
        let parts = slices.parts.as_ref().map_or(0, |parts| parts.count);
        Ok(Self {
            inputs: pattern.size().cols,
            sums: queue.zeros(parts)?,
            counters: queue.zeros(parts)?,
            slices,
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
        self.slices.place(queue, pattern, values)
    }

    /// A matrix with values in the order of the layout, for vectors of so many columns.
    pub(crate) fn operand<T: Scalar>(&self, values: &Buffer<T>, cols: usize) -> Result<Operand> {
        const { assert!(CHUNK == 2048) };
        let own = &self.slices;
        let (mark, marks) = own.marks.argument()?;
        let slices = own.slice_count();
        let parts = own.parts.as_ref().map_or(0, |parts| parts.count);
        let shape = match cols {
            1 => self.one_column(size_of::<T>()),
            _ => self.several_columns(Columns::new(cols, size_of::<T>()), cols),
        };
        let numbers = [own.rows, self.inputs, cols, shape.shared, slices, parts];
        let mut arguments = numbers.map(|number| Argument::U32(number as u32)).to_vec();
        let order = own.order.as_ref().map_or(Ok(0), Buffer::device)?;
        arguments.extend([own.starts.device()?, order].map(Argument::Address));
        arguments.push(marks);
        arguments.extend([own.bases.device()?, own.codes.device()?].map(Argument::Address));
        arguments.extend(self.long_rows()?.map(Argument::Address));
        let long_values = values.device()? + (own.step_count * LANES * size_of::<T>()) as u64;
        arguments.push(Argument::Address(long_values));
        let coded = !own.codes.is_empty();
        let mut defines = vec![
            mark,
            ("CODED", if coded { "1" } else { "0" }),
            ("THREADS", power(own.threads)),
        ];
        defines.extend(shape.columns);
        defines.extend([("CHUNK", "2048"), ("BLOCKS", power(shape.resident))]);
        Ok(Operand {
            file: shape.file,
            kernel: shape.kernel,
            defines,
            blocks: shape.blocks.max(parts),
            arguments,
            values: values.device()?,
        })
    }

    /// How products with one column are launched, for values of so many bytes.
    fn one_column(&self, bytes: usize) -> Shape {
        let (own, slices) = (&self.slices, self.slices.slice_count());
        let coded = !own.codes.is_empty();
        let (kernel, rows_of_lane) = match own.is_aligned() {
            true => ("sliced_pairs", 2),
            false => ("sliced", 1),
        };
        let file = match coded || rows_of_lane == 2 && bytes == 2 {
            true => WIDE,
            false => FILE,
        };
        let many = THREADS_OF_UNIT / file.block as usize;
        let steps = own.step_count / slices.max(1);
        let is_long = coded && steps > SHORT;
        let slices_of_block = rows_of_lane * file.block as usize / LANES;
        Shape {
            file,
            kernel,
            columns: vec![("COLUMNS", "1")],
            shared: self.slices.threads,
            resident: if is_long { many / 2 } else { many },
            blocks: slices.div_ceil(slices_of_block),
        }
    }

    /// How products with several columns are launched.
    fn several_columns(&self, columns: Columns, cols: usize) -> Shape {
        let (own, block) = (&self.slices, WIDE.block as usize);
        let shared = columns.shared_lanes(block, own.rows, own.threads);
        let rows_of_block = block / columns.spread / shared;
        Shape {
            file: WIDE,
            kernel: "sliced_columns",
            columns: vec![("COLUMNS", power(columns.each)), ("SEVERAL", "1")],
            shared,
            resident: THREADS_OF_UNIT / WIDE.block as usize / 2,
            blocks: own.rows.div_ceil(rows_of_block) * columns.groups(cols),
        }
    }

    /// The table of parts, their columns, sums and counters.
    fn long_rows(&self) -> Result<[u64; 4]> {
        let Some(parts) = &self.slices.parts else {
            return Ok([0; 4]);
        };
        let (table, columns) = (parts.table.device()?, parts.columns.device()?);
        Ok([table, columns, self.sums.device()?, self.counters.device()?])
    }
}

impl<T: Scalar> Csr<T> {
    /// The matrix as kernels of its device take it, for vectors of so many columns.
    pub(crate) fn operand(&self, cols: usize) -> Result<Operand> {
        let purpose = self.pattern.served(Purpose::new(size_of::<T>(), cols))?;
        let layout = self.pattern.layout(purpose)?;
        let known = match purpose.is_wide {
            true => self.copies.placed_wide.get().map(Box::as_ref),
            false => self.copies.placed.get(),
        };
        if let Some(values) = known {
            return layout.operand(values, cols);
        }
        let queue = Queue::of(self.executor()).expect("only devices have a layout");
        let values = layout.values(&queue, &self.pattern, &self.values)?;
        // Where two threads come here at once both have made the same.
        let placed = match purpose.is_wide {
            true => &**self.copies.placed_wide.get_or_init(|| Box::new(values)),
            false => self.copies.placed.get_or_init(|| values),
        };
        layout.operand(placed, cols)
    }

    /// A product on the device that has the matrix, or its conjugate.
    pub(crate) fn multiply_on<X: Scalar, Y: Scalar>(
        &self,
        gpu: &Gpu,
        conjugate: bool,
        x: &Vector<X>,
        finish: &Finish<'_, Y>,
        y: &mut Vector<Y>,
    ) -> Result<()>
    where
        T: Mixes<X, Y>,
    {
        // Complex numbers are multiplied row by row: the layouts are for real ones.
        if self.copies.plain || X::KIND.is_complex() {
            let (rows, cols) = (self.size().rows, x.cols());
            let shape = (rows, self.nonzeros() / rows.max(1));
            let (defines, blocks) = by_rows::<T, X, Y>(gpu, shape, cols, finish);
            let mut defines = defines.to_vec();
            defines.extend((conjugate && T::KIND.is_complex()).then_some(("CONJUGATED", "1")));
            let (offsets, columns) = self.pattern.buffers();
            let (a, to) = ((1_u32, 1_u32, offsets, columns), Given(finish.parts(y)?));
            return kernels::bsr::by_rows(rows, cols, a, &self.values, x, to)?
                .with(&defines)
                .run(gpu, blocks);
        }
        let operand = self.operand(x.cols())?;
        multiply::<T, X, Y>(gpu, operand, x, finish, y)
    }
}
