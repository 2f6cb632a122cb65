//! Factorised approximate inverses.

mod shape;

use self::shape::{LOCAL_ENTRIES, RowShape, SIZE_STEP};
use crate::gpu::kernels::{fsai as kernels, fsai_arrays as arrays};
use crate::launch::groups::Groups;
use crate::launch::prelude::*;
use crate::launch::rows::threads_for;
use crate::operations::binned::Again;
use crate::operations::loose::LooseRows;
use crate::operations::on_real_device;

const NOWHERE: u32 = u32::MAX;
/// Slots of a table in local memory.
const LOCAL_SLOTS: std::ops::RangeInclusive<usize> = 64..=2048;
/// Bytes that the rows of all blocks may take together in memory of the device.
const GLOBAL_BYTES: usize = 256 << 20;

/// How rows grow.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Steps of growth of every row, at most.
    pub steps: usize,
    /// New entries a step.
    pub step_size: usize,
    /// A row stops growing where its factor of the Kaporin number has fallen by this much.
    pub tolerance: f64,
    /// Entries below this times the largest of their row are dropped.
    pub filter: f64,
    /// The unit of rounding of the matrix.
    pub rounding: f64,
}

/// Why there is no factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// This row has a zero on its diagonal.
    ZeroDiagonal(usize),
    /// In this row the matrix is not positive definite.
    NotPositive(usize),
    /// The pattern to begin with has a row that is too long.
    TooLong,
}

/// What there is of a matrix before rows are made.
pub struct Rows<'a, A: Field> {
    queue: Queue<'a>,
    a: &'a Csr<A>,
    diagonal: Buffer<A>,
    growth: Growth,
}

/// The rows of a factorised sparse approximate inverse, to be made.
pub fn fsai_rows<A: Field>(a: &Csr<A>, growth: Growth) -> Result<Option<Rows<'_, A>>> {
    on_real_device::<A, _>(a.executor(), |queue| {
        Ok(Rows {
            queue,
            a,
            diagonal: queue.diagonal(a)?,
            growth,
        })
    })
}

impl<A: Field> Rows<'_, A> {
    /// The factor, with rows that begin with what a pattern has below the diagonal; none of its rows
    /// may have more than `most` entries.
    pub fn factor(
        &self,
        start: Option<&Pattern>,
        most: usize,
    ) -> Result<std::result::Result<Csr<A>, Obstacle>> {
        let (queue, rows) = (self.queue, self.a.size().rows);
        let mut looked = Looked {
            start,
            sizes: queue.uninit(rows)?,
            inverses: queue.uninit(rows)?,
            failed: queue.filled(1, NOWHERE)?,
        };
        let mut rooms = queue.uninit::<u32>(rows)?;
        let [zero, negative, longest_start, longest] = self.look(&mut looked, &mut rooms)?;
        match [zero, negative] {
            [row, _] if row != NOWHERE => return Ok(Err(Obstacle::ZeroDiagonal(row as usize))),
            [_, row] if row != NOWHERE => return Ok(Err(Obstacle::NotPositive(row as usize))),
            _ if longest_start as usize > most => return Ok(Err(Obstacle::TooLong)),
            _ => {}
        }
        let (starts, total) = queue.offsets(&rooms)?;
        let mut loose = queue.loose_rows((Some(&starts), 0), total, rooms)?;
        self.make_all(&mut looked, longest as usize, &mut loose)?;
        Ok(match looked.failed.get(0)? {
            NOWHERE => Ok(queue.gathered_rows(self.a.size(), &loose, None)?),
            row => Err(Obstacle::NotPositive(row as usize)),
        })
    }

    /// The matrix without entries below a threshold, relative to both diagonals.
    pub fn large(&self, threshold: f64) -> Result<Csr<A>> {
        let (queue, rows) = (self.queue, self.a.size().rows);
        let least = A::from_f64(threshold * threshold);
        let mut counts = queue.uninit(rows)?;
        arrays::fsai_count_large(rows, self.a, &self.diagonal, least, &mut counts)?
            .items(&queue, rows)?;
        let mut out = queue.new_rows(&counts)?;
        arrays::fsai_fill_large(rows, self.a, &self.diagonal, least, &mut out)?
            .items(&queue, rows)?;
        Ok(out.matrix(self.a.size()))
    }

    /// Sizes of rows, the space to be left for each, and what `fsai_sizes` finds.
    fn look(&self, looked: &mut Looked<'_, A>, rooms: &mut Buffer<u32>) -> Result<[u32; 4]> {
        let mut found = Buffer::from_vec(self.queue.executor, vec![NOWHERE, NOWHERE, 0, 0]);
        let rows = self.a.size().rows;
        arrays::fsai_sizes(
            rows,
            self.a.pattern().buffers().0,
            &self.diagonal,
            looked.start,
            self.growth.steps * self.growth.step_size,
            &mut looked.sizes,
            rooms,
            &mut looked.inverses,
            &mut found,
        )?
        .items(&self.queue, rows)?;
        let found = found.host()?;
        Ok([found[0], found[1], found[2], found[3]])
    }

    /// Makes all rows, those of similar size together, at last those whose tables were too small.
    fn make_all(
        &self,
        looked: &mut Looked<'_, A>,
        longest: usize,
        loose: &mut LooseRows<'_, A>,
    ) -> Result<()> {
        let groups = Groups::new(&self.queue, &looked.sizes)?;
        let largest = groups.largest();
        let mut again = Again::new(self.queue, self.a.size().rows)?;
        for group in groups.each(LOCAL_ENTRIES, (1, 32))? {
            let shape = match group.is_local {
                true => self.local(group.size.min(largest)),
                false => self.global(largest, longest),
            };
            let rows = (group.count, group.rows);
            self.make(rows, shape, looked, loose, &mut again)?;
        }
        let most = *LOCAL_SLOTS.end();
        let larger = self.local(largest.min(LOCAL_ENTRIES)).with_slots::<A>(most);
        let shapes = [
            (larger.most >= largest).then_some(larger),
            Some(self.global(largest, longest)),
        ];
        for shape in shapes.into_iter().flatten() {
            let left = again.count.get(0)? as usize;
            let mut next = Again::new(self.queue, left.max(1))?;
            let rows = (left, again.list.pointer()?);
            self.make(rows, shape, looked, loose, &mut next)?;
            again = next;
        }
        Ok(())
    }

    fn needs_table(&self) -> bool {
        self.growth.steps > 0 || self.growth.filter > 0.0
    }

    /// Slots of a table for so many columns that the rows of a pattern may reach, where it has to know these.
    fn slots(&self, most: usize, reached: usize) -> usize {
        let columns = match self.needs_table() {
            true => reached,
            false => 2 * most,
        };
        columns.next_power_of_two().max(*LOCAL_SLOTS.start())
    }

    /// Rows of so many entries: tables for as many columns as rows of mean length are likely to reach.
    fn local(&self, size: usize) -> RowShape {
        let mean = self.a.nonzeros().div_ceil(self.a.size().rows.max(1));
        let most = size.max(1).next_multiple_of(SIZE_STEP);
        // Half of a row lies below the diagonal, and rows that are close to each other share columns.
        let slots = self.slots(most, 3 * mean * (size + 1) / 16);
        let lanes = self.queue.tile(threads_for(self.queue.gpu, 3 * mean));
        let shape = RowShape {
            has_local_system: true,
            has_local_table: true,
            most,
            slots,
            lanes,
            together: 1,
        };
        shape.with_slots::<A>(slots.min(*LOCAL_SLOTS.end()))
    }

    /// Rows of any size.
    fn global(&self, most: usize, longest: usize) -> RowShape {
        let reached = (longest * (most + 1)).min(self.a.size().cols);
        let has_local_system = most <= LOCAL_ENTRIES;
        RowShape {
            has_local_system,
            has_local_table: false,
            most: match has_local_system {
                true => most.max(1).next_multiple_of(SIZE_STEP),
                false => most,
            },
            slots: self.slots(most, 2 * reached),
            lanes: self.queue.tile(self.queue.gpu.width().min(32)),
            together: 2,
        }
    }

    fn make(
        &self,
        (count, list): (usize, Read<u32>),
        shape: RowShape,
        looked: &mut Looked<'_, A>,
        loose: &mut LooseRows<'_, A>,
        again: &mut Again,
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let queue = self.queue;
        let [system, table] = shape.given();
        let bytes = (system.bytes::<A>() + table.bytes::<A>()) * shape.together;
        // Neighbouring rows at the same time: see `Group::blocks`.
        let mut blocks = count.div_ceil(shape.together);
        if let Some(together) = GLOBAL_BYTES.checked_div(bytes) {
            blocks = blocks.min(queue.most_blocks()).min(together).max(1);
        }
        let tiles = blocks * shape.together;
        let room = |size: usize| (tiles * size).max(1);
        let mut numbers = queue.uninit::<A>(room(system.numbers))?;
        let mut patterns = queue.uninit::<u32>(room(system.words))?;
        let mut sums = queue.uninit::<A>(room(table.numbers))?;
        let mut keys = queue.uninit::<u32>(room(table.words))?;
        let growth = &self.growth;
        kernels::fsai_rows(
            count,
            list,
            &looked.sizes,
            self.a,
            &self.diagonal,
            &looked.inverses,
            looked.start,
            growth.steps,
            growth.step_size,
            A::from_f64(growth.tolerance),
            A::from_f64(growth.filter * growth.filter),
            A::from_f64(growth.rounding),
            (
                loose.starts,
                &mut loose.columns,
                &mut loose.values,
                &mut loose.lengths,
                &mut looked.failed,
            ),
            &mut again.list,
            &mut again.count,
            shape.most,
            shape.slots,
            &mut numbers,
            &mut patterns,
            &mut sums,
            &mut keys,
        )?
        .block((shape.together * shape.lanes) as u32)
        .with(&shape.defines())
        .run(queue.gpu, blocks)
    }
}

/// What is found out of the rows before they are made.
struct Looked<'a, A> {
    /// The pattern to begin with.
    start: Option<&'a Pattern>,
    /// The most entries of each.
    sizes: Buffer<u32>,
    /// The reciprocals of the diagonal.
    inverses: Buffer<A>,
    /// A row in which the matrix is not positive definite.
    failed: Buffer<u32>,
}
