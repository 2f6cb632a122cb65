//! Sparse rows made in tables of the sizes they need, as in `kernels/tables.h`.

use crate::gpu::{Given, Launch, kernels::binned as kernels};
use crate::launch::prelude::*;
use crate::operations::loose::Alone;

/// Blocks for every compute unit that have tables in global memory.
const BLOCKS_PER_UNIT: usize = 4;
/// Fewer rows than this do not keep a device busy: then it counts how long one row takes.
const FEW: usize = 30_000;

/// Rows with tables of one size.
struct Bin {
    /// Slots of a table; none where the host chooses them.
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
pub(crate) struct Binned<'q> {
    queue: Queue<'q>,
    size: Size,
    lengths: Buffer<u32>,
    bins: Buffer<u8>,
    /// Rows of every bin, and the most keys of a table.
    counters: Buffer<u32>,
}

/// What `LISTED` of `kernels/tables.h` stands for.
pub(crate) type Listed = (u64, Read<u32>, Read<u64>);
/// What `MADE` stands for.
pub(crate) type Made<V> = Given<(
    Write<u32>,
    Write<V>,
    Write<u32>,
    Write<u32>,
    Write<u32>,
    Write<u32>,
    Write<V>,
    u32,
)>;

/// The kernel that makes the rows, with definitions of its own.
pub(crate) struct Maker<'a, V> {
    pub defines: &'a [Define],
    pub kernel: &'a dyn Fn(Listed, Made<V>) -> Result<Launch>,
}

/// The space left for rows before their lengths are known.
pub(crate) enum Rooms {
    /// The same for all.
    Alike(usize),
    Sizes(Buffer<u32>),
}

impl Rooms {
    /// For rows that are cut to `max_elements`, if that is not zero.
    pub(crate) fn new(queue: Queue<'_>, rows: usize, max_elements: usize) -> Result<Self> {
        Ok(match max_elements {
            1..=8 => Self::Alike(max_elements),
            _ => Self::Sizes(queue.uninit(rows)?),
        })
    }

    /// Where sizes are to be written.
    pub(crate) fn sizes(&mut self) -> Option<&mut Buffer<u32>> {
        match self {
            Self::Alike(_) => None,
            Self::Sizes(sizes) => Some(sizes),
        }
    }
}

impl<'q> Binned<'q> {
    /// The rows of a matrix.
    pub(crate) fn new(queue: Queue<'q>, size: Size) -> Result<Self> {
        Ok(Self {
            queue,
            size,
            lengths: queue.uninit(size.rows)?,
            bins: queue.uninit(size.rows)?,
            counters: queue.zeros(BINS.len() + 1)?,
        })
    }

    /// What `BINNED` of the kernels stands for.
    pub(crate) fn parts(&mut self) -> (&mut Buffer<u32>, &mut Buffer<u8>, &mut Buffer<u32>) {
        (&mut self.lengths, &mut self.bins, &mut self.counters)
    }

    /// The matrix, whose rows are counted before they are made.
    pub(crate) fn counted<V: Scalar>(mut self, maker: &Maker<'_, V>) -> Result<Csr<V>> {
        let order = self.order()?;
        let nowhere = (Read::default(), Write::default(), Write::default());
        self.make(&order, maker, ("COUNT", "1"), nowhere)?;
        let mut rows = self.queue.new_rows(&self.lengths)?;
        self.classify()?;
        self.make(&self.order()?, maker, ("COUNT", "0"), (&mut rows).pass()?)?;
        Ok(rows.matrix(self.size))
    }

    /// Finds the bins for the lengths that rows have.
    fn classify(&mut self) -> Result<()> {
        let (queue, rows) = (self.queue, self.size.rows);
        self.counters = queue.zeros(BINS.len() + 1)?;
        kernels::binned_classes(rows, &self.lengths, &mut self.bins, &mut self.counters)?
            .rows(&queue, (rows, 1))
    }

    /// The matrix, whose rows are made with padding between them (`rooms`) and then moved together.
    pub(crate) fn gathered<V: Scalar>(
        mut self,
        rooms: &Rooms,
        alone: Option<Alone<'_>>,
        maker: &Maker<'_, V>,
    ) -> Result<Csr<V>> {
        let queue = self.queue;
        let (starts, room, total) = match rooms {
            Rooms::Alike(room) => (None, *room, self.size.rows * room),
            Rooms::Sizes(sizes) => {
                let (starts, total) = queue.offsets(sizes)?;
                (Some(starts), 0, total)
            }
        };
        // The lengths are still to be written.
        let lengths = queue.uninit(0)?;
        let mut loose = queue.loose_rows((starts.as_ref(), room), total, lengths)?;
        let order = self.order()?;
        let out = (loose.columns.pointer_mut()?, loose.values.pointer_mut()?);
        let places = (starts.as_ref().pass()?, out.0, out.1);
        self.make(&order, maker, ("COUNT", "0"), places)?;
        loose.lengths = self.lengths;
        queue.gathered_rows(self.size, &loose, alone)
    }

    /// The rows, bin after bin.
    fn order(&self) -> Result<Buffer<u32>> {
        let (queue, rows) = (self.queue, self.size.rows);
        let mut order = queue.uninit(rows)?;
        let mut sizes = queue.zeros::<u32>(BINS.len())?;
        kernels::binned_collect(rows, &self.bins, &self.counters, &mut sizes, &mut order)?
            .rows(&queue, (rows, 1))?;
        Ok(order)
    }

    /// Makes all rows, each from its start in arrays of columns and values on; those of which more
    /// came than was expected in larger tables.
    fn make<V: Scalar>(
        &mut self,
        order: &Buffer<u32>,
        maker: &Maker<'_, V>,
        mode: Define,
        (starts, columns, values): (Read<u64>, Write<u32>, Write<V>),
    ) -> Result<()> {
        let counts = self.counters.host()?;
        let keys = counts[BINS.len()] as usize;
        let out = (columns, values, self.lengths.pointer_mut()?);
        let mut again = Again::new(self.queue, self.size.rows)?;
        let launch = |bin: &Bin, (count, list): (usize, Read<u32>), again: &mut Again| {
            let rows = (count as u64, list, starts);
            bin.launch(self.queue, maker, mode, (rows, keys), out, again)
        };
        let mut list = order.pointer()?;
        for (bin, &count) in BINS.iter().zip(counts) {
            launch(bin, (count as usize, list), &mut again)?;
            list = list.at(count as usize);
        }
        for bin in &BINS[1..] {
            let left = again.count.get(0)? as usize;
            if left == 0 {
                break;
            }
            let mut next = Again::new(self.queue, left)?;
            launch(bin, (left, again.list.pointer()?), &mut next)?;
            again = next;
        }
        Ok(())
    }
}

/// Rows whose tables were too small.
pub(crate) struct Again {
    pub list: Buffer<u32>,
    pub count: Buffer<u32>,
}

impl Again {
    /// None yet, of at most `rows` rows.
    pub fn new(queue: Queue<'_>, rows: usize) -> Result<Self> {
        Ok(Self {
            list: queue.uninit(rows)?,
            count: queue.zeros(1)?,
        })
    }
}

impl Bin {
    /// Makes `rows` rows whose tables have at most `keys` keys.
    fn launch<V: Scalar>(
        &self,
        queue: Queue<'_>,
        maker: &Maker<'_, V>,
        mode: Define,
        (listed, keys): (Listed, usize),
        (columns, values, lengths): (Write<u32>, Write<V>, Write<u32>),
        again: &mut Again,
    ) -> Result<()> {
        let rows = listed.0 as usize;
        if rows == 0 {
            return Ok(());
        }
        let (lanes, rows_of_block) = match queue.tile(32) {
            1 => (1, self.rows),
            all if rows < FEW => (all, self.rows * self.lanes / all),
            _ => (self.lanes, self.rows),
        };
        let mut blocks = rows.div_ceil(rows_of_block);
        let mut defines = [maker.defines, &[mode, ("LANES", literal(lanes))]].concat();
        let capacity = match self.capacity {
            // Neighbouring rows at the same time: see `Group::blocks`.
            Some(capacity) => {
                defines.extend([("SPACE", "LOCAL"), ("CAPACITY", literal(capacity))]);
                0
            }
            None => {
                defines.push(("SPACE", "GLOBAL"));
                let units = queue.gpu.device().properties().compute_units;
                blocks = blocks.min(units * BLOCKS_PER_UNIT);
                2 * keys.next_power_of_two()
            }
        };
        let slots = blocks * rows_of_block * capacity;
        let mut tables = match slots {
            0 => None,
            _ => Some((queue.uninit::<u32>(slots)?, queue.uninit::<V>(slots)?)),
        };
        let (table_keys, sums) = match &mut tables {
            Some((keys, sums)) => (keys.pointer_mut()?, sums.pointer_mut()?),
            None => Default::default(),
        };
        let made = (
            columns,
            values,
            lengths,
            again.list.pointer_mut()?,
            again.count.pointer_mut()?,
            table_keys,
            sums,
            capacity as u32,
        );
        (maker.kernel)(listed, Given(made))?
            .block((rows_of_block * lanes) as u32)
            .with(&defines)
            .run(queue.gpu, blocks)
    }
}
