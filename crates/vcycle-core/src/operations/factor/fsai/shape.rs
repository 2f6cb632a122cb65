//! Where rows of a factorised approximate inverse are made, and by how many threads.

use crate::launch::prelude::*;

/// Rows of more entries have their systems in memory of the device.
pub(super) const LOCAL_ENTRIES: usize = 64;
/// Sizes for which rows in local memory have a kernel: multiples of this.
pub(super) const SIZE_STEP: usize = 8;
/// Bytes of local memory that the rows of a block share.
const LOCAL_BYTES: usize = 40 << 10;
/// Threads of a block.
const THREADS: usize = 128;

/// How rows are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowShape {
    /// Whether the system and the table of a row are in local memory, or in that of the device.
    pub has_local_system: bool,
    pub has_local_table: bool,
    /// Entries of a row, without the diagonal.
    pub most: usize,
    /// Slots of its table.
    pub slots: usize,
    /// Threads that share it.
    pub lanes: usize,
    /// Rows of a block.
    pub together: usize,
}

/// Numbers and words that a row needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowMemory {
    pub numbers: usize,
    pub words: usize,
}

impl RowMemory {
    pub fn bytes<A>(&self) -> usize {
        self.numbers * size_of::<A>() + self.words * size_of::<u32>()
    }
}

impl RowShape {
    /// The same in local memory with another table, and as many rows of a block as that leaves room for.
    pub fn with_slots<A>(self, slots: usize) -> Self {
        let shape = Self { slots, ..self };
        let bytes: usize = shape.memory().iter().map(RowMemory::bytes::<A>).sum();
        let together = (LOCAL_BYTES / bytes).clamp(1, THREADS / self.lanes);
        Self {
            // The largest power of two.
            together: 1 << together.ilog2(),
            ..shape
        }
    }

    /// Memory of system and table, as in `fsai_rows`.
    fn memory(&self) -> [RowMemory; 2] {
        let (most, slots) = (self.most, self.slots);
        [
            RowMemory {
                numbers: most * (most + 1) / 2 + 2 * most,
                words: most,
            },
            RowMemory {
                numbers: slots,
                words: slots + slots / 2,
            },
        ]
    }

    /// What of it is in memory of the device.
    pub fn given(&self) -> [RowMemory; 2] {
        let [system, table] = self.memory();
        let unless = |is_local: bool, memory| {
            if is_local {
                RowMemory::default()
            } else {
                memory
            }
        };
        [
            unless(self.has_local_system, system),
            unless(self.has_local_table, table),
        ]
    }

    pub fn defines(&self) -> Vec<Define> {
        let space = |is_local: bool| if is_local { "LOCAL" } else { "GLOBAL" };
        let mut defines = vec![
            ("SPACE", space(self.has_local_system)),
            ("TABLE", space(self.has_local_table)),
            ("LANES", literal(self.lanes)),
            ("APART", "1"),
        ];
        if self.has_local_system {
            defines.push(("MOST", literal(self.most)));
        }
        if self.has_local_table {
            defines.push(("SLOTS", literal(self.slots)));
        }
        defines
    }
}
