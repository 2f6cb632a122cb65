//! `R A P` for groups: a `P` with one entry a row.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::groups::{TEAM_BLOCK, literal};
use super::tiles::{NOTHING, at};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, kernels};
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = kernels::grouped::FILE;
/// Most entries of a class of rows, as in `kernels/grouped.c`, and the threads that share a row.
const CLASSES: [(usize, usize); 6] = [
    (16, 1),
    (32, 1),
    (64, 1),
    (128, 32),
    (256, 32),
    (1024, TEAM_BLOCK as usize),
];
/// The first class that most matrices have few rows of.
const LONG: usize = 4;
/// Columns that leave room for the place of an entry beside them in a word.
const MOST_COLUMNS: usize = 1 << 26;
/// Entries that are joined for a row, in the mean, up to which this is faster than tables.
const MEAN: usize = 56;

/// What the product is made of.
pub(crate) struct Grouped<'g, T> {
    pub queue: Queue<'g>,
    pub r: &'g Csr<T>,
    pub a: &'g Csr<T>,
    pub p: &'g Csr<T>,
}

/// The rows of the product by the entries that are joined for them.
#[derive(Clone, Debug)]
pub(crate) struct Classes {
    lists: Buffer<u32>,
    /// Rows of every class, those too long and empty ones, and in two words the entries.
    counts: Buffer<u32>,
}

impl<T: Scalar> Grouped<'_, T> {
    /// The product; none if there are rows or columns too many for this.
    pub(super) fn product(&self) -> Result<Option<Csr<T>>> {
        let (queue, rows) = (self.queue, self.r.size().rows);
        let size = Size::new(rows, self.p.size().cols);
        if !self.serves() {
            return Ok(None);
        }
        let mut classes = self.classify()?;
        let mut lengths = queue.room::<u32>(rows)?;
        self.make(None, &classes, &[], &[write(&mut lengths)?])?;
        let total = classes.counts.pointer_mut()?.at(CLASSES.len() + 2);
        let offsets = queue.scan(&lengths, total.cast::<u64>())?;
        let found = classes.counts.host()?;
        let [too_long, empty, low, high] = found[CLASSES.len()..] else {
            unreachable!("as many as asked for");
        };
        if too_long > 0 {
            return Ok(None);
        }
        let entries = (u64::from(high) << 32 | u64::from(low)) as usize;
        let (mut columns, mut values) = (queue.room(entries)?, queue.room::<T>(entries)?);
        let out = [read(&offsets)?, write(&mut columns)?, write(&mut values)?];
        self.make(Some(found), &classes, &self.values()?, &out)?;
        let pattern = Pattern::of_buffers(size, offsets, columns);
        pattern.tell_empty_rows(empty > 0);
        Ok(Some(Csr::of_buffers(&Arc::new(pattern), values)))
    }

    /// The classes, for [`renewed`](Self::renewed); none if there are rows or columns too many.
    pub(crate) fn classes(&self) -> Result<Option<Classes>> {
        if !self.serves() {
            return Ok(None);
        }
        let classes = self.classify()?;
        let too_long = classes.counts.get(CLASSES.len())?;
        Ok((too_long == 0).then_some(classes))
    }

    /// The values of a product whose pattern is known.
    pub(crate) fn renewed(&self, classes: &Classes, product: &Pattern) -> Result<Buffer<T>> {
        let mut values = self.queue.room::<T>(product.nonzeros())?;
        let offsets = read(product.buffers().0)?;
        let out = [offsets, NOTHING, write(&mut values)?];
        let counts = classes.counts.host()?;
        self.make(Some(counts), classes, &self.values()?, &out)?;
        Ok(values)
    }

    fn serves(&self) -> bool {
        let rows = self.r.size().rows;
        !T::KIND.is_complex()
            && self.p.size().cols < MOST_COLUMNS
            && self.a.nonzeros() <= MEAN * rows
    }

    fn values(&self) -> Result<[Argument; 3]> {
        let unless_ones = |of: &Csr<T>| match of.has_ones() {
            true => Ok(NOTHING),
            false => read(of.values_buffer()),
        };
        let a = read(self.a.values_buffer())?;
        Ok([unless_ones(self.r)?, a, unless_ones(self.p)?])
    }

    fn classify(&self) -> Result<Classes> {
        let (queue, rows) = (self.queue, self.r.size().rows);
        let mut lists = queue.room::<u32>(CLASSES.len() * rows)?;
        let mut counts = queue.zeros::<u32>(CLASSES.len() + 4)?;
        let [r_offsets, r_columns] = self.r.pattern().device()?.map(Argument::Address);
        let [offsets, _] = self.a.pattern().device()?.map(Argument::Address);
        let given = [number(rows), r_offsets, r_columns, offsets];
        let arguments = [&given[..], &[write(&mut lists)?, write(&mut counts)?]].concat();
        let defines = self.defines("0", (0, 1))?;
        queue.items(FILE, "grouped_classes", &defines, rows, &arguments)?;
        Ok(Classes { lists, counts })
    }

    /// Makes the rows of all classes, of which there are so many, or counts their entries, without
    /// waiting for how many rows these are.
    fn make(
        &self,
        counts: Option<&[u32]>,
        classes: &Classes,
        values: &[Argument],
        out: &[Argument],
    ) -> Result<()> {
        let rows = self.r.size().rows;
        let [r_offsets, r_columns] = self.r.pattern().device()?.map(Argument::Address);
        let [offsets, columns] = self.a.pattern().device()?.map(Argument::Address);
        let map = read(self.p.pattern().buffers().1)?;
        let (lists, sizes) = (classes.lists.device()?, classes.counts.device()?);
        let counting = if counts.is_none() { "1" } else { "0" };
        for (class, &shape) in CLASSES.iter().enumerate() {
            let listed = [at(lists, class * rows), at(sizes, class)];
            // Few rows are as long as the last classes: where there are more, teams have several.
            let items = match counts {
                Some(counts) => counts[class] as usize * shape.1,
                None => rows * if class < LONG { shape.1 } else { 1 },
            };
            let factors = [r_offsets, r_columns, offsets, columns, map];
            let arguments = [&listed[..], &factors, values, out].concat();
            let defines = self.defines(counting, shape)?;
            self.queue
                .items(FILE, "grouped_rows", &defines, items, &arguments)?;
        }
        Ok(())
    }

    /// For rows of so many entries and so many threads each.
    fn defines(
        &self,
        counting: &'static str,
        (size, threads): (usize, usize),
    ) -> Result<[Define; 7]> {
        let (alone, shared) = if threads == 1 { (size, 0) } else { (0, size) };
        Ok([
            ("COUNTING", counting),
            ("ALONE", literal(alone)),
            ("THREADS", literal(threads)),
            ("SIZE", literal(shared)),
            ("SLOTS", literal(shared)),
            ("ITEM", "u64"),
            ("T", self.queue.gpu.real(T::KIND)?),
        ])
    }
}
