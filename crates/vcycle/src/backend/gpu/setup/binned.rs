//! Sparse rows made in tables of the sizes they need, as in `kernels/tables.h`.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::tiles::{NOTHING, at, tile_file, word};
use super::{Queue, number, read, write};
use crate::backend::gpu::rows::power;
use crate::backend::gpu::{Define, File};
use crate::error::Result;
use crate::executor::Buffer;
use crate::linop::Size;
use crate::matrix::{Csr, Pattern};

const FILE: File = tile_file!("binned.c", "tables.h");
/// The definitions of kernels that look at bins and use no table.
pub(super) const NO_TABLE: Define = ("SPACE", "GLOBAL");
/// Blocks for every compute unit that have tables in global memory.
const BLOCKS_PER_UNIT: usize = 4;

/// Rows with tables of one size.
struct Bin {
    /// Slots of a table; none where the host is told.
    capacity: Option<&'static str>,
    /// Threads that share a row.
    lanes: usize,
    /// Rows of a block.
    rows: usize,
}

const fn bin(capacity: Option<&'static str>, lanes: usize, rows: usize) -> Bin {
    Bin {
        capacity,
        lanes,
        rows,
    }
}

/// As in `bin_of`.
const BINS: [Bin; 5] = [
    bin(Some("32"), 4, 32),
    bin(Some("128"), 16, 8),
    bin(Some("512"), 32, 4),
    bin(Some("2048"), 32, 1),
    bin(None, 32, 4),
];

/// What a kernel finds out of the rows before they are made.
pub(super) struct Rooms {
    rooms: Buffer<u32>,
    lengths: Buffer<u32>,
    bins: Buffer<u8>,
    /// Rows of every bin, and the most keys of a table.
    counters: Buffer<u32>,
}

/// The kernel that makes the rows, and what comes between the rooms and the results.
pub(super) struct Maker<'a> {
    pub(super) file: File,
    pub(super) kernel: &'static str,
    pub(super) defines: &'a [Define],
    pub(super) arguments: &'a [Argument],
}

/// The rows of coarse unknowns, which are one entry each: `points` of the rows if they are not
/// those of all unknowns, and numbers or `NONE` for all unknowns.
#[derive(Clone, Copy, Default)]
pub(super) struct Alone<'a> {
    pub(super) points: Option<&'a Buffer<u32>>,
    pub(super) coarse: Option<&'a Buffer<u32>>,
}

impl Rooms {
    pub(super) fn new(queue: Queue<'_>, rows: usize) -> Result<Self> {
        Ok(Self {
            rooms: queue.room(rows)?,
            lengths: queue.room(rows)?,
            bins: queue.room(rows)?,
            counters: queue.zeros(BINS.len() + 1)?,
        })
    }

    /// The last arguments of a kernel that finds out.
    pub(super) fn arguments(&mut self) -> Result<[Argument; 4]> {
        Ok([
            write(&mut self.rooms)?,
            write(&mut self.lengths)?,
            write(&mut self.bins)?,
            write(&mut self.counters)?,
        ])
    }

    /// The matrix of all rows.
    pub(super) fn fill(
        mut self,
        queue: Queue<'_>,
        size: Size,
        alone: Alone<'_>,
        maker: &Maker<'_>,
    ) -> Result<Csr<f64>> {
        let (starts, total) = queue.offsets(&self.rooms)?;
        let (mut columns, mut values) = (queue.room::<u32>(total)?, queue.room::<f64>(total)?);
        let order = self.order(queue)?;
        let counts = self.counters.host()?.to_vec();
        let mut first = 0;
        for (bin, &count) in BINS.iter().zip(&counts) {
            let list = at(order.device()?, first);
            let rows = [number(count as usize), list, read(&starts)?];
            let out = [
                write(&mut columns)?,
                write(&mut values)?,
                write(&mut self.lengths)?,
            ];
            let arguments = [&rows[..], maker.arguments, &out].concat();
            bin.launch(queue, maker, count as usize, counts[BINS.len()], arguments)?;
            first += count as usize;
        }
        let (offsets, entries) = queue.offsets(&self.lengths)?;
        let (mut out_columns, mut out_values) = (queue.room(entries)?, queue.room(entries)?);
        let pointer = |buffer: Option<&Buffer<u32>>| buffer.map_or(Ok(NOTHING), read);
        let arguments = [
            number(size.rows),
            pointer(alone.points)?,
            pointer(alone.coarse)?,
            read(&starts)?,
            read(&columns)?,
            read(&values)?,
            read(&offsets)?,
            write(&mut out_columns)?,
            write(&mut out_values)?,
        ];
        let shape = (size.rows, 1);
        queue.rows(FILE, "binned_gather", &[NO_TABLE], shape, &arguments)?;
        let pattern = Arc::new(Pattern::of_buffers(size, offsets, out_columns));
        Ok(Csr::of_buffers(&pattern, out_values))
    }

    /// The rows, bin after bin.
    fn order(&self, queue: Queue<'_>) -> Result<Buffer<u32>> {
        let rows = self.rooms.len();
        let mut order = queue.room(rows)?;
        let mut sizes = queue.zeros::<u32>(BINS.len())?;
        let known = [number(rows), read(&self.bins)?, read(&self.counters)?];
        let arguments = [&known[..], &[write(&mut sizes)?, write(&mut order)?]].concat();
        queue.rows(FILE, "binned_collect", &[NO_TABLE], (rows, 1), &arguments)?;
        Ok(order)
    }
}

impl Bin {
    /// Makes `rows` rows whose tables have at most `keys` keys.
    fn launch(
        &self,
        queue: Queue<'_>,
        maker: &Maker<'_>,
        rows: usize,
        keys: u32,
        mut arguments: Vec<Argument>,
    ) -> Result<()> {
        let lanes = queue.tile(self.lanes);
        let file = File {
            block: (self.rows * lanes) as u32,
            ..maker.file
        };
        let mut defines = [maker.defines, &[("LANES", power(lanes))]].concat();
        let most = queue.most_blocks();
        if let Some(capacity) = self.capacity {
            defines.extend([("SPACE", "LOCAL"), ("CAPACITY", capacity)]);
            arguments.extend([NOTHING, NOTHING, word(0)]);
            let blocks = rows.div_ceil(self.rows).min(most);
            return queue.blocks(file, maker.kernel, &defines, blocks, &arguments);
        }
        let units = queue.gpu.device().properties().compute_units;
        let blocks = rows.div_ceil(self.rows).min(units * BLOCKS_PER_UNIT);
        let capacity = 2 * (keys as usize).next_power_of_two();
        let slots = blocks * self.rows * capacity;
        let (mut table_keys, mut sums) = (queue.room::<u32>(slots)?, queue.room::<f64>(slots)?);
        defines.push(("SPACE", "GLOBAL"));
        arguments.extend([write(&mut table_keys)?, write(&mut sums)?, word(capacity)]);
        queue.blocks(file, maker.kernel, &defines, blocks, &arguments)
    }
}
