//! Interpolation that reproduces test vectors.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::binned::Again;
use super::groups::literal;
use super::tiles::{NOTHING, graph, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File};
use crate::launch::rows::power;
use crate::size::Size;

pub(super) const FILE: File = tile_file!("bamg.c");
/// More vectors have no room.
const MOST_VECTORS: usize = 16;
/// Farther neighbours are not looked for.
const MOST_DISTANCE: usize = 3;
/// Threads that share a row, and rows of a block.
const LANES: usize = 32;
const TOGETHER: usize = 2;
/// Rows with tables in memory of the device that are made at once.
const BLOCKS: usize = 512;
/// Slots of the tables of unknowns and of candidates: in local memory, and in that of the device.
const LOCAL_SLOTS: [usize; 2] = [1024, 256];
const GLOBAL_SLOTS: [usize; 2] = [8192, 4096];

/// Which coarse unknowns are good enough.
#[derive(Clone, Copy, Debug)]
pub struct FitLimits {
    /// Those up to this distance are taken at once.
    pub min_distance: usize,
    /// Those farther away are never taken.
    pub max_distance: usize,
    /// The largest difference from the test vectors, relative to their norm.
    pub residual: f64,
    /// The largest norm of the weights of a row.
    pub norm: f64,
}

/// A level whose unknowns are interpolated.
pub struct FittedLevel<'a> {
    /// The device.
    pub queue: Queue<'a>,
    /// The strong couplings.
    pub strength: &'a Pattern,
    /// The number of every coarse unknown.
    pub coarse: &'a Buffer<u32>,
    /// The test vectors.
    pub vectors: &'a [Vec<f64>],
    /// What is good enough.
    pub limits: FitLimits,
}

/// A prolongation, the numbers of coarse unknowns with those that became so, and how many they are.
pub type Fitted = (Csr<f64>, Buffer<u32>, usize);

/// Rows with the same space for each.
struct Loose {
    columns: Buffer<u32>,
    values: Buffer<f64>,
    lengths: Buffer<u32>,
}

impl FittedLevel<'_> {
    /// The prolongation; none where vectors, distances or neighbourhoods are larger than there is room for.
    pub fn prolongation(&self) -> Result<Option<Fitted>> {
        let (rows, width) = (self.strength.size().rows, self.vectors.len());
        if width > MOST_VECTORS || self.limits.max_distance > MOST_DISTANCE {
            return Ok(None);
        }
        let queue = self.queue;
        let vectors = Buffer::gathered(queue.executor, self.vectors)?;
        let mut loose = Loose {
            columns: queue.room(rows * width)?,
            values: queue.room(rows * width)?,
            lengths: queue.room(rows)?,
        };
        let (mut again, mut left) = (Again::new(queue, rows)?, Again::new(queue, rows)?);
        self.make(rows, NOTHING, true, &vectors, &mut loose, &mut again)?;
        let count = again.count.get(0)? as usize;
        let list = read(&again.list)?;
        self.make(count, list, false, &vectors, &mut loose, &mut left)?;
        match left.count.get(0)? {
            0 => Ok(Some(self.gathered(&loose)?)),
            _ => Ok(None),
        }
    }

    fn make(
        &self,
        count: usize,
        list: Argument,
        is_local: bool,
        vectors: &Buffer<f64>,
        loose: &mut Loose,
        again: &mut Again,
    ) -> Result<()> {
        let (queue, width) = (self.queue, self.vectors.len());
        let room = width.next_power_of_two();
        let [met, near] = if is_local { LOCAL_SLOTS } else { GLOBAL_SLOTS };
        let blocks = count.div_ceil(TOGETHER);
        let (blocks, tiles) = match is_local {
            true => (blocks, 0),
            false => (blocks.min(BLOCKS), blocks.min(BLOCKS) * TOGETHER),
        };
        let mut numbers = queue.room::<f64>((tiles * (near / 2 + 2 * room + 2) * room).max(1))?;
        let mut words = queue.room::<u32>((tiles * (met + 2 * near + room)).max(1))?;
        let [offsets, columns] = graph(self.strength)?;
        let limits = &self.limits;
        let arguments = [
            number(count),
            list,
            number(self.strength.size().rows),
            offsets,
            columns,
            read(self.coarse)?,
            read(vectors)?,
            word(width),
            word(limits.min_distance),
            word(limits.max_distance),
            Argument::F64(limits.residual),
            Argument::F64(limits.norm),
            write(&mut loose.columns)?,
            write(&mut loose.values)?,
            write(&mut loose.lengths)?,
            write(&mut again.list)?,
            write(&mut again.count)?,
            word(met),
            word(near),
            write(&mut numbers)?,
            write(&mut words)?,
        ];
        let lanes = queue.tile(LANES.min(queue.gpu.width()));
        let space = if is_local { "LOCAL" } else { "GLOBAL" };
        let mut defines: Vec<Define> = vec![
            ("SPACE", space),
            ("VECTORS", literal(room)),
            ("LANES", power(lanes)),
            ("APART", "1"),
        ];
        if is_local {
            defines.extend([("MET", literal(met)), ("NEAR", literal(near))]);
        }
        let file = File {
            block: (TOGETHER * lanes) as u32,
            ..FILE
        };
        queue.blocks(file, "bamg_rows", &defines, blocks, &arguments)
    }

    /// The prolongation of rows that lie apart.
    fn gathered(&self, loose: &Loose) -> Result<Fitted> {
        let (queue, rows) = (self.queue, self.strength.size().rows);
        let known = [number(rows), read(self.coarse)?, read(&loose.lengths)?];
        let items = |name, arguments: &[Argument]| {
            queue.items(FILE, name, &[("LANES", "1")], rows, arguments)
        };
        let mut flags = queue.room(rows)?;
        items("bamg_coarse", &[&known[..], &[write(&mut flags)?]].concat())?;
        let (before, count) = queue.offsets(&flags)?;
        let (mut numbers, mut counts) = (queue.room(rows)?, flags);
        let results = [read(&before)?, write(&mut numbers)?, write(&mut counts)?];
        items("bamg_numbers", &[&known[..], &results].concat())?;
        let (offsets, entries) = queue.offsets(&counts)?;
        let (mut columns, mut values) = (queue.room(entries)?, queue.room(entries)?);
        let arguments = [
            number(rows),
            word(self.vectors.len()),
            read(&loose.columns)?,
            read(&loose.values)?,
            read(&numbers)?,
            read(&offsets)?,
            write(&mut columns)?,
            write(&mut values)?,
        ];
        items("bamg_gather", &arguments)?;
        let pattern = Pattern::of_buffers(Size::new(rows, count), offsets, columns);
        Ok((Csr::of_buffers(&Arc::new(pattern), values), numbers, count))
    }
}
