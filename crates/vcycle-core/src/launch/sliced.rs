//! Launches of products with rows or blocks in slices.

use super::Queue;
use super::rows::{Columns, DeviceProduct};
use super::slices::{CHUNK, LANES, Slices, Survey};
use super::strips::{Strips, vector_of};
use crate::gpu::kernels::{sliced, sliced_blocks};
use crate::gpu::{Bits, Define, Given, Read, flag, literal};
use crate::prelude::*;

/// Few threads in a block: it makes room for the next one sooner.
const NARROW: usize = sliced::FILE.block as usize;
/// For slices with codes: neighbours of one block find more of `x` in the cache they share. For pairs
/// of 16 bits, too.
const WIDE: usize = 128;
/// Threads that a multiprocessor has at once, at most.
const THREADS_OF_UNIT: usize = 2048;
/// Lanes with more steps than this have the registers of two.
const SHORT: usize = 8;

/// What a device needs to know of a pattern to multiply with matrices that have it, row by row.
#[derive(Clone, Debug)]
pub(crate) struct SlicedRows {
    pub(super) slices: Slices,
    /// Columns of the matrix.
    inputs: usize,
    /// Where parts of long rows leave their sums, and who has come.
    sums: Buffer<f64>,
    counters: Buffer<u32>,
}

/// How a product is launched.
struct Shape {
    kernel: &'static str,
    /// Threads of a block.
    threads: usize,
    /// How threads share columns.
    columns: [Option<Define>; 2],
    /// Lanes of a row that threads share where they have several columns.
    shared: usize,
    /// Blocks of threads that fit a multiprocessor.
    resident: usize,
    blocks: usize,
}

/// What `SLICES` of `kernels/row_columns.h` stands for.
type SlicesParts<'s> = (
    usize,
    &'s Buffer<usize>,
    Option<&'s Buffer<u32>>,
    Read<Bits>,
    &'s Buffer<u32>,
    &'s Buffer<u8>,
);

impl Slices {
    /// What kernels are given, and the definitions for it.
    fn parts(&self) -> Result<(SlicesParts<'_>, [Define; 3])> {
        let (mark, marks) = self.marks.pointer()?;
        let (starts, order) = (&self.starts, self.order.as_ref());
        let parts = (
            self.slice_count(),
            starts,
            order,
            marks,
            &self.bases,
            &self.codes,
        );
        let coded = ("CODED", flag(!self.codes.is_empty()));
        Ok((parts, [mark, coded, ("THREADS", literal(self.threads))]))
    }
}

impl SlicedRows {
    /// The layout for a pattern of the device, made there.
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

    /// How many values stand in slices; those of long rows are behind them.
    pub(super) fn values_in_slices(&self) -> usize {
        self.slices.step_count * LANES
    }

    /// The product of a matrix with values of so many bytes in the order of the layout: those in slices, and those of long rows.
    pub(super) fn multiply(
        &self,
        product: &DeviceProduct<'_>,
        [values, long_values]: [Read<Bits>; 2],
        bytes: usize,
    ) -> Result<()> {
        let own = &self.slices;
        let shape = self.shape(product.cols, bytes);
        let (slices, defines) = own.parts()?;
        let sums = self.sums.pointer()?.writable().bits();
        let counters = self.counters.pointer()?.writable();
        let (count, table, columns) = match &own.parts {
            Some(parts) => (parts.count, Some(&parts.table), Some(&parts.columns)),
            None => (0, None, None),
        };
        sliced::sliced(
            own.rows,
            self.inputs,
            product.cols,
            shape.shared,
            slices,
            (count, table, columns, sums, counters, long_values),
            values,
            product.x,
            Given(product.to),
        )?
        .named(shape.kernel)
        .block(shape.threads as u32)
        .with(&product.defines)
        .with(&defines)
        .with(&shape.columns.iter().copied().flatten().collect::<Vec<_>>())
        .with(&[
            ("CHUNK", literal(CHUNK)),
            ("BLOCKS", literal(shape.resident)),
        ])
        .run(product.gpu, shape.blocks.max(count))
    }

    /// How products are launched, for vectors of so many columns and values of so many bytes.
    fn shape(&self, cols: usize, bytes: usize) -> Shape {
        match cols {
            1 => self.one_column(bytes),
            _ => self.several_columns(Columns::new(cols, bytes), cols),
        }
    }

    fn one_column(&self, bytes: usize) -> Shape {
        let (own, slices) = (&self.slices, self.slices.slice_count());
        let coded = !own.codes.is_empty();
        let (kernel, rows_of_lane) = match own.is_aligned() {
            true => ("sliced_pairs", 2),
            false => ("sliced", 1),
        };
        let threads = match coded || rows_of_lane == 2 && bytes == 2 {
            true => WIDE,
            false => NARROW,
        };
        let many = THREADS_OF_UNIT / threads;
        let is_long = coded && own.step_count / slices.max(1) > SHORT;
        Shape {
            kernel,
            threads,
            columns: [Some(("COLUMNS", "1")), None],
            shared: own.threads,
            resident: if is_long { many / 2 } else { many },
            blocks: slices.div_ceil(rows_of_lane * threads / LANES),
        }
    }

    fn several_columns(&self, columns: Columns, cols: usize) -> Shape {
        let own = &self.slices;
        let shared = columns.shared_lanes(WIDE, own.rows, own.threads);
        let rows_of_block = WIDE / columns.spread / shared;
        let each = ("COLUMNS", literal(columns.each));
        Shape {
            kernel: "sliced_columns",
            threads: WIDE,
            columns: [Some(each), Some(("SEVERAL", "1"))],
            shared,
            resident: THREADS_OF_UNIT / WIDE / 2,
            blocks: own.rows.div_ceil(rows_of_block) * columns.groups(cols),
        }
    }
}

impl Strips {
    /// The product of a matrix with values of so many bytes that [`place`](Self::place) has put in order.
    pub(super) fn multiply(
        &self,
        product: &DeviceProduct<'_>,
        values: Read<Bits>,
        bytes: usize,
    ) -> Result<()> {
        let (own, block, cols) = (&self.slices, self.block, product.cols);
        let strips = own.rows;
        let threads = sliced_blocks::FILE.block as usize;
        let columns = Columns::new(cols, bytes);
        let shared = columns.shared_lanes(threads, strips, own.threads);
        let strips_of_block = threads / columns.spread / shared;
        let (slices, defines) = own.parts()?;
        sliced_blocks::sliced_blocks(
            strips,
            self.pattern.size().cols,
            cols,
            shared,
            slices,
            self.size.rows,
            self.size.cols,
            values,
            product.x,
            Given(product.to),
        )?
        .with(&product.defines)
        .with(&defines)
        .with(&[
            ("HEIGHT", literal(block.rows)),
            ("BREADTH", literal(block.cols)),
            ("VECTOR", literal(vector_of(bytes, block))),
            ("RAGGED", flag(self.is_ragged())),
            ("COLUMNS", literal(columns.each)),
            ("SHARED", flag(columns.spread > 1)),
        ])
        .run(
            product.gpu,
            strips.div_ceil(strips_of_block) * columns.groups(cols),
        )
    }
}
