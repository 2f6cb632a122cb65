//! Prolongations of groups.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::binned::{Alone, Maker, NO_TABLE, Rooms};
use super::tiles::{NOTHING, graph, matrix, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::backend::gpu::{Define, File};
use crate::error::Result;
use crate::executor::Buffer;
use crate::linop::Size;
use crate::matrix::{Csr, Pattern};

const FILE: File = tile_file!("smoothed.c", "tables.h");

/// Ones from each of the `block` components of a group to that of its nodes.
pub(crate) fn constants(
    queue: Queue<'_>,
    groups: &Buffer<u32>,
    count: usize,
    block: usize,
) -> Result<Csr<f64>> {
    let rows = groups.len() * block;
    let known = [number(rows), word(block), read(groups)?];
    let defines = [NO_TABLE, ("FILTERED", "0")];
    let mut flags = queue.room(rows)?;
    let arguments = [&known[..], &[write(&mut flags)?]].concat();
    queue.rows(FILE, "tentative_flags", &defines, (rows, 1), &arguments)?;
    let (offsets, entries) = queue.offsets(&flags)?;
    let (mut columns, mut values) = (queue.room(entries)?, queue.room(entries)?);
    let results = [write(&mut columns)?, write(&mut values)?];
    let arguments = [&known[..], &[read(&offsets)?], &results].concat();
    queue.rows(FILE, "tentative_entries", &defines, (rows, 1), &arguments)?;
    let size = Size::new(rows, count * block);
    let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
    Ok(Csr::of_buffers(&pattern, values))
}

/// A matrix without its weak entries, which are added to the diagonal.
pub(crate) struct Filtered<'a> {
    queue: Queue<'a>,
    a: &'a Csr<f64>,
    filter: Option<&'a Pattern>,
    diagonal: Buffer<f64>,
    bound: f64,
}

impl<'a> Filtered<'a> {
    /// With a `filter` the entries that it does not have are weak.
    pub(crate) fn new(
        queue: Queue<'a>,
        a: &'a Csr<f64>,
        filter: Option<&'a Pattern>,
    ) -> Result<Self> {
        let shape = shape(a.pattern());
        let mut diagonal = queue.room(shape.0)?;
        let mut bounds = queue.zeros::<f64>(queue.most_blocks())?;
        let results = [write(&mut diagonal)?, write(&mut bounds)?];
        let known = [&[number(shape.0)][..], &matrix(a)?, &strong(filter)?].concat();
        let arguments = [&known[..], &results].concat();
        queue.rows(
            FILE,
            "smoothed_diagonal",
            &defines(filter),
            shape,
            &arguments,
        )?;
        let bound = bounds.host()?.iter().copied().fold(0.0, f64::max);
        Ok(Self {
            queue,
            a,
            filter,
            diagonal,
            bound,
        })
    }

    /// The largest absolute row sum over the diagonal.
    pub(crate) fn bound(&self) -> f64 {
        self.bound
    }

    /// The diagonal.
    pub(crate) fn diagonal(&self) -> &Buffer<f64> {
        &self.diagonal
    }

    /// `(I - factor D^-1 A) T`.
    pub(crate) fn smoothed(&self, t: &Csr<f64>, factor: f64) -> Result<Csr<f64>> {
        let (queue, shape) = (self.queue, shape(self.a.pattern()));
        let operands = [&matrix(self.a)?[..], &strong(self.filter)?, &matrix(t)?].concat();
        let mut rooms = Rooms::new(queue, shape.0)?;
        let arguments = [&[number(shape.0)][..], &operands, &rooms.arguments()?].concat();
        let defines = defines(self.filter);
        queue.rows(FILE, "smoothed_bounds", &defines, shape, &arguments)?;
        let maker = Maker {
            file: FILE,
            kernel: "smoothed_rows",
            defines: &defines[1..],
            arguments: &[
                &operands[..],
                &[read(&self.diagonal)?, Argument::F64(factor)],
            ]
            .concat(),
        };
        let size = Size::new(shape.0, t.size().cols);
        rooms.fill(queue, size, Alone::default(), &maker)
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
