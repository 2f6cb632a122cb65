//! Prolongations of groups.

use std::ops::Range;
use std::sync::Arc;

use vcycle_gpu::Argument;

use super::binned::{Binned, Maker, NO_TABLE};
use super::radius::power_method;
use super::tiles::{NOTHING, graph, matrix, number_of, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File};
use crate::launch::layout::Purpose;
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = tile_file!("smoothed.c", "tables.h");
/// The definitions of kernels that look at no matrix.
const PLAIN: [Define; 2] = [NO_TABLE, ("FILTERED", "0")];

/// Ones from each of the `block` components of a group to that of its nodes.
pub fn constants(
    queue: Queue<'_>,
    groups: &Buffer<u32>,
    (count, block): (usize, usize),
    is_complete: bool,
) -> Result<Csr<f64>> {
    if is_complete && block == 1 {
        return ones(queue, groups, count);
    }
    let rows = groups.len() * block;
    let flags = flags(queue, groups, block)?;
    let (offsets, entries) = queue.offsets(&flags)?;
    let (mut columns, mut values) = (queue.room(entries)?, queue.room(entries)?);
    let results = [write(&mut columns)?, write(&mut values)?];
    let known = [number(rows), word(block), read(groups)?, read(&offsets)?];
    let arguments = [known.as_slice(), &results].concat();
    queue.rows(FILE, "tentative_entries", &PLAIN, (rows, 1), &arguments)?;
    let size = Size::new(rows, count * block);
    let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
    Ok(Csr::of_buffers(&pattern, values))
}

/// A one for every row, in the column of its group.
fn ones(queue: Queue<'_>, groups: &Buffer<u32>, count: usize) -> Result<Csr<f64>> {
    let rows = groups.len();
    let (mut offsets, mut values) = (queue.room(rows + 1)?, queue.room(rows)?);
    let arguments = [number(rows), write(&mut offsets)?, write(&mut values)?];
    queue.rows(FILE, "tentative_ones", &PLAIN, (rows + 1, 1), &arguments)?;
    let pattern = Pattern::of_buffers(Size::new(rows, count), offsets, groups.clone());
    pattern.tell_single_entries();
    Ok(Csr::of_buffers(&Arc::new(pattern), values).of_ones())
}

/// Ones for the `block` components of nodes that have a number, zeros for the others.
fn flags(queue: Queue<'_>, numbers: &Buffer<u32>, block: usize) -> Result<Buffer<u32>> {
    let rows = numbers.len() * block;
    let mut flags = queue.room(rows)?;
    let known = [number(rows), word(block), read(numbers)?];
    let arguments = [known.as_slice(), &[write(&mut flags)?]].concat();
    queue.rows(FILE, "tentative_flags", &PLAIN, (rows, 1), &arguments)?;
    Ok(flags)
}

/// A matrix without its weak entries, which are added to the diagonal.
pub struct Filtered<'a, V = f64> {
    queue: Queue<'a>,
    a: &'a Csr<V>,
    filter: Option<&'a Pattern>,
    diagonal: Buffer<V>,
    bound: f64,
}

impl<'a, V: Scalar> Filtered<'a, V> {
    /// With a `filter` the entries that it does not have are weak. The bound is one of some rows.
    pub fn new(
        queue: Queue<'a>,
        a: &'a Csr<V>,
        filter: Option<&'a Pattern>,
        rows: Range<usize>,
    ) -> Result<Self> {
        let shape = shape(a.pattern());
        let mut diagonal = queue.room(shape.0)?;
        let mut bounds = queue.room::<f64>(queue.most_blocks())?;
        let [_, counter] = queue.gpu.reduction();
        let results = [write(&mut diagonal)?, write(&mut bounds)?, counter];
        let known = [&[number(shape.0)][..], &matrix(a)?, &strong(filter)?].concat();
        let rows = [number(rows.start), number(rows.end)];
        let arguments = [&known[..], &rows, &results].concat();
        let defines = [&defines(filter)[..], number_of::<V>()].concat();
        queue.rows(FILE, "smoothed_diagonal", &defines, shape, &arguments)?;
        // Of no rows there are no blocks.
        let bound = if shape.0 == 0 { 0.0 } else { bounds.get(0)? };
        Ok(Self {
            queue,
            a,
            filter,
            diagonal,
            bound,
        })
    }

    /// The largest absolute row sum over the diagonal.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// `(I - factor D^-1 A) T`.
    pub fn smoothed(&self, t: &Csr<V>, factor: f64) -> Result<Csr<V>> {
        let (queue, shape) = (self.queue, shape(self.a.pattern()));
        let operands = [&matrix(self.a)?[..], &strong(self.filter)?, &matrix(t)?].concat();
        let mut binned = Binned::new(queue, Size::new(shape.0, t.size().cols))?;
        let arguments = [&[number(shape.0)][..], &operands, &binned.arguments()?].concat();
        let filtered = defines(self.filter);
        let defines = [&filtered[..], number_of::<V>()].concat();
        queue.rows(FILE, "smoothed_bounds", &defines, shape, &arguments)?;
        let maker = Maker {
            file: FILE,
            kernel: "smoothed_rows",
            defines: &filtered[1..],
            arguments: &[
                &operands[..],
                &[read(&self.diagonal)?, Argument::F64(factor)],
            ]
            .concat(),
        };
        binned.counted(&maker)
    }
}

impl Filtered<'_> {
    /// What so many steps of the power method find of the spectral radius of `D^-1 A`.
    pub fn power_method(&self, steps: usize) -> Result<f64> {
        power_method(self.queue, self.a, &self.diagonal, steps)
    }

    /// `(I - factor D^-1 A) T`; `T` is made of blocks.
    pub fn smoothed_in(&self, t: &Csr<f64>, factor: f64, block: Size) -> Result<Csr<f64>> {
        let queue = self.queue;
        if block != Size::square(1) && self.filter.is_none() {
            // Cycles will ask for the blocks of the matrix, too.
            self.a
                .pattern()
                .layout(Purpose::of_bytes(size_of::<f64>()))?;
            if let Some(product) = queue.multiply_by_blocks(self.a, t, block)? {
                return self.step(t, factor, &product);
            }
        }
        self.smoothed(t, factor)
    }

    /// `T - factor D^-1 C` for the product `C` of the matrix and `T`.
    fn step(&self, t: &Csr<f64>, factor: f64, product: &Csr<f64>) -> Result<Csr<f64>> {
        let rows = product.size().rows;
        let mut values = self.queue.room(product.nonzeros())?;
        let given = [number(rows), Argument::F64(factor), read(&self.diagonal)?];
        let factors = [matrix(product)?, matrix(t)?].concat();
        let arguments = [&given[..], &factors, &[write(&mut values)?]].concat();
        self.queue
            .rows(FILE, "smoothed_step", &PLAIN, (rows, 1), &arguments)?;
        Ok(Csr::of_buffers(product.pattern(), values))
    }
}

fn defines(filter: Option<&Pattern>) -> [Define; 2] {
    [
        NO_TABLE,
        ("FILTERED", if filter.is_some() { "1" } else { "0" }),
    ]
}

fn strong(filter: Option<&Pattern>) -> Result<[Argument; 2]> {
    filter.map_or(Ok([NOTHING; 2]), graph)
}
