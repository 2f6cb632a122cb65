//! Rows grouped by size, so that each group has teams and tables that suit it.

use crate::gpu::{Define, Read, kernels, literal};
use crate::launch::Queue;
use crate::prelude::*;

/// Classes of sizes: up to 8, 16 and so on, 8192 and all others; as in `kernels/classes.h`.
const CLASSES: usize = 12;
const SMALLEST: usize = 8;

/// Threads of a block of teams.
pub(crate) const TEAM_BLOCK: u32 = 128;
/// Sizes whose team is a whole block.
const BLOCK_SIZES: usize = 512;
/// Entries of local tables that keep half of a compute unit busy.
const HALF_A_UNIT: usize = 4096;
/// Bytes that tables in global memory may take.
const TABLE_BYTES: usize = 256 << 20;

/// The rows of every class.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    counts: Vec<u32>,
    list: Buffer<u32>,
}

/// Rows of similar size, and how teams work on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// Of how many rows.
    pub count: usize,
    /// Where their list is.
    pub rows: Read<u32>,
    /// They have at most this size, the last group excepted.
    pub size: usize,
    /// Threads of a team.
    pub threads: usize,
    /// Whether a table in local memory has room for them.
    pub is_local: bool,
}

impl Groups {
    /// Groups rows by the numbers of their entries.
    pub(crate) fn of_offsets(queue: &Queue<'_>, offsets: &Buffer<usize>) -> Result<Self> {
        Self::new(queue, &queue.lengths(offsets)?)
    }

    /// Groups rows by their sizes.
    pub(crate) fn new(queue: &Queue<'_>, sizes: &Buffer<u32>) -> Result<Self> {
        let rows = sizes.len();
        let mut counts = Self::no_counts(queue)?;
        kernels::groups::count_classes(rows, sizes, &mut counts)?.items(queue, rows)?;
        Self::listed(queue, sizes, counts)
    }

    /// Room for what `add_classes` of `kernels/classes.h` adds up: the rows of each class, behind them the largest size, a flag, and how many
    /// rows of each class are listed.
    pub(crate) fn no_counts(queue: &Queue<'_>) -> Result<Buffer<u32>> {
        queue.zeros(2 * CLASSES + 2)
    }

    /// The same with classes that are counted. What is counted is on its way to the host while rows are listed.
    pub(crate) fn listed(
        queue: &Queue<'_>,
        sizes: &Buffer<u32>,
        mut counts: Buffer<u32>,
    ) -> Result<Self> {
        let rows = sizes.len();
        let mut list = queue.uninit(rows)?;
        let counted = counts.pointer_mut()?;
        let coming = counts.begin_read()?;
        let taken = counted.at(CLASSES + 2);
        kernels::groups::list_classes(rows, sizes, counted, taken, &mut list)?
            .items(queue, rows)?;
        let counts = coming.wait()?;
        Ok(Self { counts, list })
    }

    /// Whether rows may be larger than they were expected to be, which `product_work` of `kernels/products.c` tells.
    pub(crate) fn may_be_larger(&self) -> bool {
        self.counts[CLASSES + 1] != 0
    }

    /// The largest size.
    pub(crate) fn largest(&self) -> usize {
        self.counts[CLASSES] as usize
    }

    /// The groups that have rows; sizes up to `most` have local tables, and a thread of their teams,
    /// which are of at most `widest`, has about `share` entries, at most 8: tables of more teams
    /// would not fit into the local memory of a block.
    pub(crate) fn each(&self, most: usize, (share, widest): (usize, usize)) -> Result<Vec<Group>> {
        let mut next = self.list.pointer()?;
        let group = |(class, &count): (usize, &u32)| {
            let size = SMALLEST << class;
            let is_local = size <= most && class + 1 < CLASSES;
            let rows = next;
            next = next.at(count as usize);
            Group {
                count: count as usize,
                rows,
                size,
                threads: match is_local && size < BLOCK_SIZES {
                    true => (size / share).min(widest).max(size / 8),
                    false => TEAM_BLOCK as usize,
                },
                is_local,
            }
        };
        let groups = self.counts[..CLASSES].iter().enumerate().map(group);
        Ok(groups.filter(|group| group.count > 0).collect())
    }
}

impl Group {
    /// Rows of which nothing is known but that they have at most `size`.
    pub(crate) fn long(count: usize, rows: &Buffer<u32>, size: usize) -> Result<Self> {
        Ok(Self {
            count,
            rows: rows.pointer()?,
            size,
            threads: TEAM_BLOCK as usize,
            is_local: false,
        })
    }

    /// The same where groups that keep half of the device idle join the next larger one: each launch waits for its longest rows.
    pub(crate) fn joined(queue: &Queue<'_>, groups: Vec<Self>) -> Vec<Self> {
        let units = queue.gpu.device().properties().compute_units;
        let mut joined: Vec<Self> = Vec::new();
        for group in groups {
            let few = units * HALF_A_UNIT / group.size;
            match joined.last_mut() {
                Some(before) if before.count < few && group.is_local => {
                    *before = Self {
                        count: before.count + group.count,
                        rows: before.rows,
                        ..group
                    };
                }
                _ => joined.push(group),
            }
        }
        joined
    }

    /// The same with local tables for rows of up to `size` entries, if they are longer.
    pub(crate) fn at_most(self, size: usize) -> Self {
        match self.is_local {
            true => self,
            false => Self {
                size,
                is_local: true,
                ..self
            },
        }
    }

    /// Blocks of teams, each with tables of `bytes` in global memory where these are not local. Where
    /// they are every team has one row: blocks begin in their order, so that those that run together
    /// have neighbouring rows, which read the same of the matrices. Fewer blocks of several rows were
    /// slower by up to a fifth on an H200.
    pub(crate) fn blocks(&self, queue: &Queue<'_>, bytes: usize) -> usize {
        let together = TEAM_BLOCK as usize / self.threads;
        let blocks = self.count.div_ceil(together);
        match self.is_local {
            true => blocks,
            false => blocks
                .min(queue.most_blocks())
                .min((TABLE_BYTES / bytes.max(1)).max(1)),
        }
    }

    /// The definitions of `kernels/teams.h`, with so many `slots` where the table is local.
    pub(crate) fn defines(&self, slots: usize) -> [Define; 3] {
        let (size, slots) = match self.is_local {
            true => (self.size, slots),
            false => (0, 0),
        };
        [
            ("THREADS", literal(self.threads)),
            ("SIZE", literal(size)),
            ("SLOTS", literal(slots)),
        ]
    }
}

impl Queue<'_> {
    /// Row lengths for row offsets.
    pub(crate) fn lengths(&self, offsets: &Buffer<usize>) -> Result<Buffer<u32>> {
        let rows = offsets.len() - 1;
        let mut lengths = self.uninit(rows)?;
        kernels::arrays::lengths(rows, offsets, &mut lengths)?.items(self, rows)?;
        Ok(lengths)
    }
}
