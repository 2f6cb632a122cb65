//! Products by tables in one pass: no row is counted before it is made.

use super::{LOCAL_ENTRIES, Product, kernels};
use crate::gpu::{Null, flag};
use crate::launch::groups::{Group, TEAM_BLOCK};
use crate::launch::prelude::*;
use crate::operations::products::factors::{Factors, sums_in};

/// Products for every entry that a row is expected to have; those that have more are made again.
const PRODUCTS: usize = 8;
/// Entries from which there are twice as many products for each: `R (A P)` of `beam:o3,l3` has 13 in such rows. More would be made by whole blocks.
const MANY: usize = 256;
/// The least room for rows of more products than this. It is more where the mean row is expected to need it: shorter rows have more entries for their products.
const FEW: usize = 128;
/// Bytes that rows may take until they are moved, and the part of a device's memory. As much is kept for rows that are made again.
const MOST_BYTES: usize = 512 << 20;
const PART_OF_MEMORY: usize = 64;
/// Blocks for every compute unit that make rows again.
const BLOCKS_AGAIN: usize = 4;

/// Rows that are made, where there was room for them.
struct Made<T> {
    /// Where each begins, and how many entries it has.
    places: Buffer<usize>,
    counts: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<T>,
    /// The rows that had no room, and behind them those that had none again.
    again: Buffer<u32>,
    /// The entries of all, and how many rows had no room, and had none again.
    totals: Buffer<u64>,
}

impl<T: Scalar> Made<T> {
    /// Room for so many entries, and for some rows that are made again.
    fn new(queue: &Queue<'_>, rows: usize, room: usize, rows_again: usize) -> Result<Self> {
        let room = room + rows_again * LOCAL_ENTRIES;
        Ok(Self {
            places: queue.uninit(rows)?,
            counts: queue.uninit(rows)?,
            columns: queue.uninit(room)?,
            values: queue.uninit(room)?,
            again: queue.uninit(rows + rows_again)?,
            totals: queue.zeros(3)?,
        })
    }

    /// Where rows are left that have no room, for the first or the second time, and where they are counted.
    fn left(&mut self, time: usize) -> Result<(Write<u32>, Write<u32>)> {
        let list = self.again.pointer_mut()?.at(time * self.counts.len());
        Ok((list, self.totals.pointer_mut()?.at(1 + time).cast()))
    }
}

/// What is the same for all launches of a product.
struct Pass<'f, T> {
    factors: Factors<'f, T>,
    defines: [Define; 3],
}

impl Product<'_> {
    /// The product, made by tables in local memory and then moved; none where rows are counted in another way, are too long for that or would take
    /// too much room.
    pub(super) fn at_once<T: Scalar>(
        &self,
        factors: Factors<'_, T>,
        is_sorted: bool,
    ) -> Result<Option<Csr<T>>> {
        let most = self.most_room::<T>();
        let is_other = self.merged.is_some() || self.p.is_some() || !self.in_one_pass;
        // Of complex sums local memory has room for fewer.
        if is_other || T::KIND.is_complex() || self.expected_room() > most {
            return Ok(None);
        }
        let (queue, rows) = (&self.queue, self.a.size().rows);
        let (_, groups) = self.guesses([PRODUCTS, self.few(), MANY])?;
        if groups.largest() > LOCAL_ENTRIES {
            return Ok(None);
        }
        let mut list = Group::joined(queue, groups.each(LOCAL_ENTRIES, self.teams())?);
        for group in &mut list {
            *group = self.with_several_rows(*group);
        }
        let room: usize = list.iter().map(|group| group.count * group.size).sum();
        if room > most {
            return Ok(None);
        }
        let rows_again = match groups.may_be_larger() {
            true => (room / LOCAL_ENTRIES).clamp(1, rows),
            false => 0,
        };
        let mut made = Made::new(queue, rows, room, rows_again)?;
        let defines = [("FRESH", "1"), ("SORTED", flag(is_sorted)), ("ONCE", "1")];
        let pass = Pass { factors, defines };
        self.make(&pass, &list, &mut made)?;
        if rows_again > 0 {
            self.make_again(&pass, rows_again, room, &mut made)?;
        }
        let (offsets, totals) = queue.offsets_with_totals(&made.counts, &mut made.totals)?;
        if totals[1] as usize > rows_again || totals[2] > 0 {
            return Ok(None);
        }
        let widest = list.into_iter().max_by_key(|group| group.count);
        self.moved(&pass, made, widest, (offsets, totals[0] as usize))
            .map(Some)
    }

    /// Makes the rows of some groups.
    fn make<T: Scalar>(
        &self,
        pass: &Pass<'_, T>,
        groups: &[Group],
        made: &mut Made<T>,
    ) -> Result<()> {
        let mut place = 0;
        for group in groups {
            let blocks = group.blocks(&self.queue, 0);
            self.make_group(pass, (group, None, blocks), place, made, 0)?;
            place += group.count * group.size;
        }
        Ok(())
    }

    /// Makes the rows that had no room, with the largest tables, from a place on. The device alone knows how many these are: most often few or none.
    fn make_again<T: Scalar>(
        &self,
        pass: &Pass<'_, T>,
        most: usize,
        place: usize,
        made: &mut Made<T>,
    ) -> Result<()> {
        let (rows, count) = made.left(0)?;
        let group = Group {
            count: most,
            rows: rows.pass()?,
            size: LOCAL_ENTRIES,
            threads: TEAM_BLOCK as usize,
            is_local: true,
        };
        let units = self.queue.gpu.device().properties().compute_units;
        let blocks = most.min(units * BLOCKS_AGAIN);
        self.make_group(pass, (&group, Some(count), blocks), place, made, 1)
    }

    /// Makes the rows of a group, for the first or the second `time`; `count`: how many there are, where the device alone knows that.
    fn make_group<T: Scalar>(
        &self,
        pass: &Pass<'_, T>,
        (group, count, blocks): (&Group, Option<Write<u32>>, usize),
        place: usize,
        made: &mut Made<T>,
        time: usize,
    ) -> Result<()> {
        let (again, again_count) = made.left(time)?;
        let launch = kernels::product_rows(
            group.count,
            group.rows,
            self.patterns()?,
            // Tables in global memory, which there are none of.
            (0_u32, Null),
            Write::<T::Arith>::default(),
            pass.factors.values()?,
            count,
            place,
            group.size,
            &mut made.places,
            &mut made.counts,
            again,
            again_count,
            &mut made.columns,
            &mut made.values,
        )?;
        let launch = launch.with(&pass.defines).with(&self.chunks(group));
        self.launch(launch, group, blocks)
    }

    /// The rows one after the other, by teams as of a group.
    fn moved<T: Scalar>(
        &self,
        pass: &Pass<'_, T>,
        made: Made<T>,
        group: Option<Group>,
        (offsets, entries): (Buffer<usize>, usize),
    ) -> Result<Csr<T>> {
        let mut out = self.queue.rows_at(offsets, entries)?;
        if let Some(group) = group {
            let chunks = self.chunks(&group);
            let count = self.a.size().rows;
            let group = Group { count, ..group };
            let (from, columns, values) = (&made.places, &made.columns, &made.values);
            let launch = kernels::move_rows(count, from, columns, values, &mut out)?;
            let types = [("TA", T::NAME), ("TB", T::NAME), sums_in::<T>()];
            let launch = launch.with(&types).with(&pass.defines).with(&chunks);
            self.launch(launch, &group, group.blocks(&self.queue, 0))?;
        }
        Ok(out.matrix(self.size()))
    }

    /// Definitions for the teams of a group: where rows of `B` are longer than a team, two entries for each thread are on their way, and teams that rows of `B`
    /// leave idle have several of them.
    fn chunks(&self, group: &Group) -> Vec<Define> {
        let is_long = self.width() > group.threads;
        let chunks = ("CHUNKS", if is_long { "2" } else { "1" });
        [&[chunks], self.several(group)].concat()
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
    fn most_room<T>(&self) -> usize {
        let memory = self.queue.gpu.device().properties().memory;
        let bytes = MOST_BYTES.min(memory / PART_OF_MEMORY);
        bytes / (size_of::<u32>() + size_of::<T>())
    }

    /// Entries that there has to be room for if all rows are as long as the mean.
    fn expected_room(&self) -> usize {
        let products = self.mean_products();
        self.a.size().rows * (products / PRODUCTS).max(products.min(self.few()))
    }
}
