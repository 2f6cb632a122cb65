//! Sparse rows made in tables of the sizes they need, as in `kernels/tables.h`.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::groups::literal;
use super::tiles::{NOTHING, at, number_of, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File};
use crate::launch::rows::power;
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = tile_file!("binned.c", "tables.h");
/// The definitions of kernels that look at bins and use no table.
pub(super) const NO_TABLE: Define = ("SPACE", "GLOBAL");
/// Blocks for every compute unit that have tables in global memory.
const BLOCKS_PER_UNIT: usize = 4;
/// Fewer rows than this do not keep a device busy: then it counts how long one row takes.
const FEW: usize = 30_000;

/// Rows with tables of one size.
struct Bin {
    /// Slots of a table; none where the host is told.
    capacity: Option<usize>,
    /// Threads that share a row.
    lanes: usize,
    /// Rows of a block.
    rows: usize,
}

const fn bin(capacity: Option<usize>, lanes: usize, rows: usize) -> Bin {
    Bin {
        capacity,
        lanes,
        rows,
    }
}

/// As in `smallest_bin`; lanes measured on an H200.
const BINS: [Bin; 6] = [
    bin(Some(32), 4, 32),
    bin(Some(64), 8, 16),
    bin(Some(128), 16, 8),
    bin(Some(512), 32, 4),
    bin(Some(2048), 32, 1),
    bin(None, 32, 4),
];

/// Rows to be made: what a kernel finds out before.
pub(super) struct Binned<'q> {
    queue: Queue<'q>,
    size: Size,
    lengths: Buffer<u32>,
    bins: Buffer<u8>,
    /// Rows of every bin, and the most keys of a table.
    counters: Buffer<u32>,
}

/// The kernel that makes the rows, and what comes between the rows and the results.
pub(super) struct Maker<'a> {
    pub file: File,
    pub kernel: &'static str,
    pub defines: &'a [Define],
    pub arguments: &'a [Argument],
}

/// Rows of coarse unknowns, which are one entry each.
#[derive(Clone, Copy)]
pub(super) struct Alone<'a> {
    /// The unknowns of the rows, if there is not a row for all.
    pub points: Option<&'a Buffer<u32>>,
    /// Numbers or `NONE` for all unknowns.
    pub coarse: &'a Buffer<u32>,
}

/// The space left for rows before their lengths are known.
pub(super) enum Rooms {
    /// The same for all.
    Alike(usize),
    Sizes(Buffer<u32>),
}

impl Rooms {
    /// For rows that are cut to `max_elements`, if that is not zero.
    pub(super) fn new(queue: Queue<'_>, rows: usize, max_elements: usize) -> Result<Self> {
        Ok(match max_elements {
            1..=8 => Self::Alike(max_elements),
            _ => Self::Sizes(queue.room(rows)?),
        })
    }

    /// Where sizes are to be written.
    pub(super) fn argument(&mut self) -> Result<Argument> {
        match self {
            Self::Alike(_) => Ok(NOTHING),
            Self::Sizes(sizes) => write(sizes),
        }
    }
}

impl<'q> Binned<'q> {
    /// The rows of a matrix.
    pub(super) fn new(queue: Queue<'q>, size: Size) -> Result<Self> {
        Ok(Self {
            queue,
            size,
            lengths: queue.room(size.rows)?,
            bins: queue.room(size.rows)?,
            counters: queue.zeros(BINS.len() + 1)?,
        })
    }

    /// The last arguments of a kernel that finds out.
    pub(super) fn arguments(&mut self) -> Result<[Argument; 3]> {
        Ok([
            write(&mut self.lengths)?,
            write(&mut self.bins)?,
            write(&mut self.counters)?,
        ])
    }

    /// The matrix, whose rows are counted before they are made.
    pub(super) fn counted<V: Scalar>(mut self, maker: &Maker<'_>) -> Result<Csr<V>> {
        let order = self.order()?;
        self.make::<V>(&order, maker, ("COUNT", "1"), [NOTHING; 3])?;
        let (offsets, entries) = self.queue.offsets(&self.lengths)?;
        let (mut columns, mut values) = (self.queue.room(entries)?, self.queue.room(entries)?);
        let places = [read(&offsets)?, write(&mut columns)?, write(&mut values)?];
        self.classify()?;
        let order = self.order()?;
        self.make::<V>(&order, maker, ("COUNT", "0"), places)?;
        let pattern = Arc::new(Pattern::of_buffers(self.size, offsets, columns));
        Ok(Csr::of_buffers(&pattern, values))
    }

    /// Finds the bins for the lengths that rows have.
    fn classify(&mut self) -> Result<()> {
        let (queue, rows) = (self.queue, self.size.rows);
        self.counters = queue.zeros(BINS.len() + 1)?;
        let known = [number(rows), read(&self.lengths)?];
        let found = [write(&mut self.bins)?, write(&mut self.counters)?];
        let arguments = [known, found].concat();
        queue.rows(FILE, "binned_classes", &[NO_TABLE], (rows, 1), &arguments)
    }

    /// The matrix, whose rows are made with padding between them (`rooms`) and then moved together.
    pub(super) fn gathered<V: Scalar>(
        mut self,
        rooms: &Rooms,
        alone: Option<Alone<'_>>,
        maker: &Maker<'_>,
    ) -> Result<Csr<V>> {
        let queue = self.queue;
        let (starts, room, total) = match rooms {
            Rooms::Alike(room) => (None, *room, self.size.rows * room),
            Rooms::Sizes(sizes) => {
                let (starts, total) = queue.offsets(sizes)?;
                (Some(starts), 0, total)
            }
        };
        let starts = starts.as_ref().map_or(Ok(NOTHING), read)?;
        let (mut loose, mut weights) = (queue.room::<u32>(total)?, queue.room::<V>(total)?);
        let order = self.order()?;
        let places = [starts, write(&mut loose)?, write(&mut weights)?];
        self.make::<V>(&order, maker, ("COUNT", "0"), places)?;
        let (offsets, entries) = queue.offsets(&self.lengths)?;
        let (mut columns, mut values) = (queue.room(entries)?, queue.room(entries)?);
        let points = alone.and_then(|alone| alone.points);
        let coarse = alone.map(|alone| alone.coarse);
        let arguments = [
            number(self.size.rows),
            points.map_or(Ok(NOTHING), read)?,
            coarse.map_or(Ok(NOTHING), read)?,
            word(room),
            starts,
            read(&loose)?,
            read(&weights)?,
            read(&offsets)?,
            write(&mut columns)?,
            write(&mut values)?,
        ];
        let shape = (self.size.rows, 1);
        let defines = [&[NO_TABLE], number_of::<V>()].concat();
        queue.rows(FILE, "binned_gather", &defines, shape, &arguments)?;
        let pattern = Arc::new(Pattern::of_buffers(self.size, offsets, columns));
        Ok(Csr::of_buffers(&pattern, values))
    }

    /// The rows, bin after bin.
    fn order(&self) -> Result<Buffer<u32>> {
        let (queue, rows) = (self.queue, self.size.rows);
        let mut order = queue.room(rows)?;
        let mut sizes = queue.zeros::<u32>(BINS.len())?;
        let known = [number(rows), read(&self.bins)?, read(&self.counters)?];
        let arguments = [&known[..], &[write(&mut sizes)?, write(&mut order)?]].concat();
        queue.rows(FILE, "binned_collect", &[NO_TABLE], (rows, 1), &arguments)?;
        Ok(order)
    }

    /// Makes all rows, each from its start in arrays of columns and values on; those of which more
    /// came than was expected in larger tables.
    fn make<V: Scalar>(
        &mut self,
        order: &Buffer<u32>,
        maker: &Maker<'_>,
        mode: Define,
        [starts, columns, values]: [Argument; 3],
    ) -> Result<()> {
        let counts = self.counters.host()?;
        let keys = counts[BINS.len()] as usize;
        let out = [columns, values, write(&mut self.lengths)?];
        let mut again = Again::new(self.queue, self.size.rows)?;
        let mut first = 0;
        let launch = |bin: &Bin, count: usize, list: Argument, again: &mut Again| {
            let rows = [number(count), list, starts];
            let arguments = [&rows[..], maker.arguments, &out, &again.arguments()?].concat();
            bin.launch::<V>(self.queue, maker, mode, (count, keys), arguments)
        };
        for (bin, &count) in BINS.iter().zip(counts) {
            launch(bin, count as usize, at(order.device()?, first), &mut again)?;
            first += count as usize;
        }
        for bin in &BINS[1..] {
            let left = again.count.get(0)? as usize;
            if left == 0 {
                break;
            }
            let mut next = Again::new(self.queue, left)?;
            launch(bin, left, read(&again.list)?, &mut next)?;
            again = next;
        }
        Ok(())
    }
}

/// Rows whose tables were too small.
pub(super) struct Again {
    pub list: Buffer<u32>,
    pub count: Buffer<u32>,
}

impl Again {
    /// None yet, of at most `rows` rows.
    pub fn new(queue: Queue<'_>, rows: usize) -> Result<Self> {
        Ok(Self {
            list: queue.room(rows)?,
            count: queue.zeros(1)?,
        })
    }

    fn arguments(&mut self) -> Result<[Argument; 2]> {
        Ok([write(&mut self.list)?, write(&mut self.count)?])
    }
}

impl Bin {
    /// Makes `rows` rows whose tables have at most `keys` keys.
    fn launch<V: Scalar>(
        &self,
        queue: Queue<'_>,
        maker: &Maker<'_>,
        mode: Define,
        (rows, keys): (usize, usize),
        mut arguments: Vec<Argument>,
    ) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        let (lanes, rows_of_block) = match queue.tile(32) {
            1 => (1, self.rows),
            all if rows < FEW => (all, self.rows * self.lanes / all),
            _ => (self.lanes, self.rows),
        };
        let file = File {
            block: (rows_of_block * lanes) as u32,
            ..maker.file
        };
        let shape = [mode, ("LANES", power(lanes))];
        let mut defines = [maker.defines, &shape, number_of::<V>()].concat();
        if let Some(capacity) = self.capacity {
            defines.extend([("SPACE", "LOCAL"), ("CAPACITY", literal(capacity))]);
            arguments.extend([NOTHING, NOTHING, word(0)]);
            // Neighbouring rows at the same time: see `Group::blocks`.
            let blocks = rows.div_ceil(rows_of_block);
            return queue.blocks(file, maker.kernel, &defines, blocks, &arguments);
        }
        let units = queue.gpu.device().properties().compute_units;
        let blocks = rows.div_ceil(rows_of_block).min(units * BLOCKS_PER_UNIT);
        let capacity = 2 * keys.next_power_of_two();
        let slots = blocks * rows_of_block * capacity;
        let (mut table_keys, mut sums) = (queue.room::<u32>(slots)?, queue.room::<V>(slots)?);
        defines.push(("SPACE", "GLOBAL"));
        arguments.extend([write(&mut table_keys)?, write(&mut sums)?, word(capacity)]);
        queue.blocks(file, maker.kernel, &defines, blocks, &arguments)
    }
}
