//! Products by tables in one pass: no row is counted before it is made.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::{Factors, LOCAL_ENTRIES, Product, TEAM_BLOCK};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::Define;
use crate::launch::setup::groups::{Group, Groups};
use crate::launch::setup::multiply::ProductWay;
use crate::launch::setup::{Queue, number, read, write};
use crate::scalar::Scalar;

/// Products for every entry that a row is expected to have; those that have more are made again.
const PRODUCTS: usize = 8;
/// The least room for rows of more products than this. It is more where the mean row is expected to need it: shorter rows have more entries for their products.
const FEW: usize = 128;
/// Bytes that rows may take until they are moved, and the part of a device's memory. As much is kept for rows that are made again.
const MOST_BYTES: usize = 512 << 20;
const PART_OF_MEMORY: usize = 64;

/// Rows that are made, where there was room for them.
struct Made<C> {
    /// Where each begins, and how many entries it has.
    places: Buffer<usize>,
    counts: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<C>,
}

/// What is known once rows are made.
struct Told {
    /// Where all rows are to begin, and their entries.
    offsets: Buffer<usize>,
    entries: usize,
    /// The rows that had no room, and how many.
    again: Buffer<u32>,
    left: usize,
}

impl<C: Scalar> Made<C> {
    fn new(queue: &Queue<'_>, rows: usize, room: usize) -> Result<Self> {
        Ok(Self {
            places: queue.room(rows)?,
            counts: queue.room(rows)?,
            columns: queue.room(room)?,
            values: queue.room(room)?,
        })
    }
}

impl Product<'_> {
    /// The product, made by tables in local memory and then moved; none where rows are counted in another way, are too long for that or would take
    /// too much room.
    pub(super) fn at_once<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        factors: Factors<'_, A, B>,
        is_sorted: bool,
    ) -> Result<Option<Csr<C>>> {
        let most = self.most_room::<C>();
        let is_other = self.merged.is_some() || self.p.is_some() || self.way == ProductWay::Counted;
        // Of complex sums local memory has room for fewer.
        if is_other || C::KIND.is_complex() || self.expected_room() > most {
            return Ok(None);
        }
        let (queue, rows) = (&self.queue, self.a.size().rows);
        let groups = Groups::new(queue, &self.guesses(PRODUCTS, self.few())?)?;
        let room = groups.room();
        if groups.largest() > LOCAL_ENTRIES || room > most {
            return Ok(None);
        }
        let rows_again = (room / LOCAL_ENTRIES).max(1);
        let mut made = Made::new(queue, rows, room + rows_again * LOCAL_ENTRIES)?;
        let sorted = ("SORTED", if is_sorted { "1" } else { "0" });
        let columns = [("FRESH", "1"), sorted, ("ONCE", "1")];
        let defines = [&Self::types::<A, B, C>()[..], &columns].concat();
        let list = groups.each(LOCAL_ENTRIES, self.teams())?;
        let mut told = self.make(&list, 0, factors, &defines, &mut made)?;
        if told.left > rows_again {
            return Ok(None);
        }
        if told.left > 0 {
            let largest = Group {
                count: told.left,
                rows: read(&told.again)?,
                size: LOCAL_ENTRIES,
                threads: TEAM_BLOCK as usize,
                is_local: true,
            };
            told = self.make(&[largest], room, factors, &defines, &mut made)?;
            if told.left > 0 {
                return Ok(None);
            }
        }
        let widest = list.iter().max_by_key(|group| group.count);
        let shape = widest.map(|&group| (group, &defines[..]));
        self.moved(made, told, shape).map(Some)
    }

    /// Makes the rows of some groups from a place on.
    fn make<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        groups: &[Group],
        mut place: usize,
        factors: Factors<'_, A, B>,
        defines: &[Define],
        made: &mut Made<C>,
    ) -> Result<Told> {
        let queue = &self.queue;
        let mut again = queue.room(groups.iter().map(|group| group.count).sum())?;
        // The host is told both numbers together.
        let mut told = queue.zeros::<u64>(2)?;
        let total = told.device_mut()?;
        let left = Argument::Address(total + size_of::<u64>() as u64);
        for group in groups {
            let mut table = self.table(group, 0)?;
            let mut sums = queue.room::<f64>(0)?;
            let mut arguments = self.arguments(group, false)?;
            arguments.extend(table.arguments()?);
            arguments.push(write(&mut sums)?);
            arguments.extend(factors.arguments()?);
            arguments.extend([number(place), Argument::U32(group.size as u32)]);
            arguments.extend([write(&mut made.places)?, write(&mut made.counts)?]);
            arguments.extend([write(&mut again)?, left]);
            arguments.extend([write(&mut made.columns)?, write(&mut made.values)?]);
            let defines = self.with_chunks(group, defines);
            self.launch("product_values", group, &defines, table.blocks, &arguments)?;
            place += group.count * group.size;
        }
        let offsets = queue.scan(&made.counts, Argument::Address(total))?;
        let &[entries, left] = told.host()? else {
            unreachable!("two numbers");
        };
        Ok(Told {
            offsets,
            entries: entries as usize,
            again,
            left: left as usize,
        })
    }

    /// The rows one after the other.
    fn moved<C: Scalar>(
        &self,
        made: Made<C>,
        told: Told,
        shape: Option<(Group, &[Define])>,
    ) -> Result<Csr<C>> {
        let (entries, offsets) = (told.entries, told.offsets);
        let (mut columns, mut values) = (self.queue.room(entries)?, self.queue.room(entries)?);
        if let Some((group, defines)) = shape {
            let defines = self.with_chunks(&group, defines);
            let group = Group {
                count: self.a.size().rows,
                ..group
            };
            let arguments = [
                number(group.count),
                read(&made.places)?,
                read(&made.columns)?,
                read(&made.values)?,
                read(&offsets)?,
                write(&mut columns)?,
                write(&mut values)?,
            ];
            let blocks = group.blocks(&self.queue, 0);
            self.launch("move_rows", &group, &defines, blocks, &arguments)?;
        }
        let pattern = Pattern::of_buffers(self.size(), offsets, columns);
        Ok(Csr::of_buffers(&Arc::new(pattern), values))
    }

    /// Definitions for the teams of a group: where rows of `B` are longer than a team, two entries for each thread are on their way.
    fn with_chunks(&self, group: &Group, defines: &[Define]) -> Vec<Define> {
        let is_long = self.width() > group.threads;
        let chunks = ("CHUNKS", if is_long { "2" } else { "1" });
        [defines, &[chunks]].concat()
    }

    /// Entries that rows of many products have room for at least.
    fn few(&self) -> usize {
        (self.mean_products() / PRODUCTS)
            .next_power_of_two()
            .max(FEW)
    }

    /// Products of a row, in the mean.
    fn mean_products(&self) -> usize {
        let (rows, inner) = (self.a.size().rows.max(1), self.b.size().rows.max(1));
        let mean = |entries: usize, rows: usize| entries as f64 / rows as f64;
        (mean(self.a.nonzeros(), rows) * mean(self.b.nonzeros(), inner)) as usize
    }

    /// Entries that there may be room for.
    fn most_room<C>(&self) -> usize {
        let memory = self.queue.gpu.device().properties().memory;
        let bytes = MOST_BYTES.min(memory / PART_OF_MEMORY);
        bytes / (size_of::<u32>() + size_of::<C>())
    }

    /// Entries that there has to be room for if all rows are as long as the mean.
    fn expected_room(&self) -> usize {
        let products = self.mean_products();
        self.a.size().rows * (products / PRODUCTS).max(products.min(self.few()))
    }
}
