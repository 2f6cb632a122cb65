//! Products with the formats that multiply row by row.

use super::Finish;
use super::csr::operands;
use crate::cpu::formats::product;
use crate::gpu::{BLOCK, Given, kernels};
use crate::launch::prelude::*;
use crate::launch::rows::{DeviceProduct, threads_for};
use crate::reference::rows::{Column, Sum};
use crate::scalar::Element;

/// A matrix of one format, or a part of one, as its arrays.
pub(crate) enum Part<'a, T> {
    /// Slots for every row, slice by slice: those of the same place in all rows of a slice side by side.
    Slots {
        size: Size,
        slice_rows: usize,
        /// Slots of a row, without slices.
        width: usize,
        /// First slots of the slices.
        offsets: Option<&'a Buffer<usize>>,
        columns: &'a Buffer<u32>,
        values: &'a Buffer<T>,
    },
    /// Dense blocks at the entries of a pattern.
    Blocks {
        size: Size,
        block: Size,
        pattern: &'a Pattern,
        values: &'a Buffer<T>,
    },
    /// All entries.
    Dense { size: Size, values: &'a Buffer<T> },
    /// Compressed rows.
    Rows(&'a Csr<T>),
    /// Row, column and value of every entry, sorted by row.
    Triplets {
        rows: &'a Buffer<u32>,
        columns: &'a Buffer<u32>,
        values: &'a Buffer<T>,
        /// Rows without entries; not needed where the product is added to another one.
        empty: Option<&'a Buffer<u32>>,
    },
}

impl<T: Scalar> Part<'_, T> {
    /// The product on a device.
    fn multiply(&self, product: &DeviceProduct<'_>, ws: &Workspace) -> Result<()> {
        let (gpu, cols, x, to) = (product.gpu, product.cols, product.x, Given(product.to));
        match *self {
            Self::Slots {
                size,
                slice_rows,
                width,
                offsets,
                columns,
                values,
            } => {
                let values = values.pointer()?.bits();
                let a = (slice_rows, width, offsets, columns);
                let launch = kernels::ell::by_rows(size.rows, cols, a, values, x, to)?;
                // Neighbouring threads have neighbouring rows.
                product.by_rows(launch, (size.rows, 1))
            }
            Self::Blocks {
                size,
                block,
                pattern,
                values,
            } => {
                let entries = pattern.nonzeros() * block.rows * block.cols;
                let values = values.pointer()?.bits();
                let (offsets, columns) = pattern.buffers();
                let a = (block.rows, block.cols, offsets, columns);
                let launch = kernels::bsr::by_rows(size.rows, cols, a, values, x, to)?;
                product.by_rows(launch, (size.rows, entries / size.rows.max(1)))
            }
            Self::Dense { size, values } => {
                let (a, values) = ((size.cols,), values.pointer()?.bits());
                let launch = kernels::dense::by_rows(size.rows, cols, a, values, x, to)?;
                product.by_rows(launch, (size.rows, size.cols))
            }
            Self::Rows(a) => a.multiply_on(product, false),
            Self::Triplets {
                rows,
                columns,
                values,
                empty,
            } => {
                let chunks = rows.len().div_ceil(CHUNK);
                // Sums of complex numbers are two.
                let each = 1 + usize::from(product.is_complex);
                let mut sums = ws.vector::<f64>(rows.executor(), 2 * each * chunks, cols)?;
                let heads: Write<f64> = (&mut *sums).pass()?;
                let (heads, tails) = (heads.bits(), heads.at(each * chunks * cols).bits());
                let values = values.pointer()?.bits();
                let threads = threads_for(gpu, 4 * gpu.width());
                let share = [("THREADS", literal(threads))];
                let (count, items) = (rows.len(), chunks * cols);
                kernels::coo::coo(cols, count, rows, columns, heads, tails, values, x, to)?
                    .with(&product.defines)
                    .with(&share)
                    .run(gpu, items)?;
                kernels::coo::coo_ends(cols, count, rows, columns, heads, tails, values, x, to)?
                    .with(&product.defines)
                    .with(&share)
                    .run(gpu, (items * threads).div_ceil(BLOCK as usize))?;
                let Some(empty) = empty else {
                    return Ok(());
                };
                let count = empty.len();
                kernels::coo::coo_empty(cols, count, empty, columns, heads, tails, values, x, to)?
                    .with(&product.defines)
                    .with(&share)
                    .run(gpu, (count * cols).div_ceil(BLOCK as usize))
            }
        }
    }
}

/// Triplets of a block, as in `kernels/coo.c`.
const CHUNK: usize = 4 * BLOCK as usize;

/// Adds one column of `A x` to the sums of the rows from a first one on.
pub(crate) type Add<'a, M, X, Y> = dyn Fn(usize, &mut [Sum<M, X, Y>], Column<'_, X>) + Sync + 'a;

/// What a product has to know of a matrix of any format. The format is behind pointers, so that all else is
/// compiled for the types of numbers and not once more for every format.
pub(crate) struct ByRows<'a, M: Mixes<X, Y>, X: Scalar, Y: Scalar> {
    pub executor: &'a Executor,
    /// Bounds of row ranges of about equal work.
    pub pieces: &'a [usize],
    pub bytes: usize,
    /// Rows that are worked on together.
    pub rows_together: usize,
    /// Adds one column of `A x` to the sums of the rows from a first one on.
    pub add: &'a Add<'a, M, X, Y>,
    /// The arrays, for devices; the products of several parts are added up.
    pub parts: &'a (dyn Fn() -> Result<Vec<Part<'a, M>>> + Sync),
}

impl<M: Mixes<X, Y>, X: Scalar, Y: Scalar> ByRows<'_, M, X, Y> {
    /// The product, and what becomes of it.
    pub fn multiply(
        &self,
        x: &Vector<X>,
        finish: Finish<'_, Y>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        if let Executor::Gpu(gpu) = self.executor {
            return self.on_device(gpu, x, finish, y, ws);
        }
        let (vectors, cols) = (operands(x, &finish)?, x.cols());
        let add = |first: usize, sums: &mut [Sum<M, X, Y>], column: usize| {
            let values = vectors.x;
            let x = Column {
                values,
                column,
                cols,
            };
            (self.add)(first, sums, x);
        };
        let rows_from = |first: usize, y: &mut [Y]| {
            product(first, y, self.rows_together, &vectors, &add);
        };
        let y = y.host_mut()?;
        match self.executor {
            Executor::Cpu(threads) => {
                threads.for_row_ranges(self.pieces, y, cols, self.bytes, &rows_from);
            }
            _ => rows_from(0, y),
        }
        Ok(())
    }

    fn on_device(
        &self,
        gpu: &Gpu,
        x: &Vector<X>,
        mut finish: Finish<'_, Y>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        for part in (self.parts)()? {
            let types = [M::NAME, M::Accumulator::NAME];
            let product = DeviceProduct::new(gpu, types, x, &finish, y)?;
            part.multiply(&product, ws)?;
            finish = finish.more();
        }
        Ok(())
    }
}
