//! Products of sparse matrices.

mod counted;
mod once;
mod several;
mod spans;

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::groups::{Group, Groups, TEAM_BLOCK};
use super::merged::Merged;
use super::tiles::NOTHING;
use super::word_products::ByWords;
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, kernels};
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = kernels::products::FILE;
/// Entries of rows that are gathered in local memory.
const LOCAL_ENTRIES: usize = 2048;
/// The same for complex numbers, which take twice the memory.
const LOCAL_COMPLEX: usize = 512;
/// Entries for every thread of a team that gathers them, and most threads, measured on an H200.
const GATHERING: (usize, usize) = (4, 32);

/// Where tiles stand, and their maps.
pub(super) type Tiled<'p> = (&'p Pattern, &'p Buffer<u16>);

/// A product `A B` on a device, or `A B P` with a `P` that has one entry a row.
pub(crate) struct Product<'p> {
    queue: Queue<'p>,
    a: &'p Pattern,
    b: &'p Pattern,
    p: Option<&'p Pattern>,
    /// Of tiles, whose products may be empty: which entries they have.
    maps: Option<[&'p Buffer<u16>; 2]>,
    /// Where rows are short.
    merged: Option<Merged<'p>>,
    /// Whether the rows of `B` are sorted.
    has_sorted_rows: bool,
    /// Whether words of columns come into question for whole products, and whether they are taken without a look at what they save.
    words: Option<bool>,
    /// Whether rows may be made before they are counted, and those of few words by these.
    in_one_pass: bool,
    by_spans: bool,
}

impl<'p> Product<'p> {
    /// Of matrices that fit.
    ///
    /// # Errors
    /// When the device cannot number the columns of a table.
    pub(crate) fn new(queue: Queue<'p>, a: &'p Pattern, b: &'p Pattern) -> Result<Self> {
        let product = Self::by_tables(queue, a, b)?;
        let merged = Merged::new(queue, a, b)?;
        Ok(Self {
            words: merged.is_none().then_some(false),
            merged,
            has_sorted_rows: true,
            ..product
        })
    }

    /// The same where rows of `B` may be in any order.
    pub(super) fn by_tables(queue: Queue<'p>, a: &'p Pattern, b: &'p Pattern) -> Result<Self> {
        if b.size().cols >= 1 << 31 || a.size().rows >= 1 << 32 {
            return Err(queue.gpu.lacks("csr", "products of so many columns"));
        }
        Ok(Self {
            queue,
            a,
            b,
            p: None,
            maps: None,
            merged: None,
            has_sorted_rows: false,
            words: None,
            in_one_pass: true,
            by_spans: true,
        })
    }

    /// The same for tiles with maps of their entries: tiles of the product are those that have entries.
    pub(super) fn of_tiles(queue: Queue<'p>, a: Tiled<'p>, b: Tiled<'p>) -> Result<Self> {
        let maps = Some([a.1, b.1]);
        Ok(Self {
            maps,
            ..Self::by_tables(queue, a.0, b.0)?
        })
    }

    /// `A B P`; `P` has one entry a row.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn fused(
        queue: Queue<'p>,
        a: &'p Pattern,
        b: &'p Pattern,
        p: &'p Pattern,
    ) -> Result<Self> {
        let p = Some(p);
        Ok(Self {
            p,
            ..Self::by_tables(queue, a, b)?
        })
    }

    pub(super) fn merged_for_values(&self) -> Option<&Merged<'p>> {
        self.merged.as_ref().filter(|merged| !merged.counts_alone)
    }

    /// By words, where that is likely to be faster than by tables.
    fn by_words(&self) -> Result<Option<ByWords<'p>>> {
        match self.words {
            Some(is_asked) => ByWords::new(self.queue, self.a, self.b, is_asked),
            None => Ok(None),
        }
    }

    fn cols(&self) -> usize {
        self.p.unwrap_or(self.b).size().cols
    }

    /// Where the entries stand.
    pub(crate) fn symbolic(&self) -> Result<Pattern> {
        if let Some(by_words) = self.by_words()? {
            return by_words.symbolic();
        }
        let counts = self.counts()?;
        let (offsets, entries) = self.queue.offsets(&counts)?;
        let mut columns = self.queue.room(entries)?;
        if let Some(merged) = &self.merged {
            merged.rows(false, &[], &[read(&offsets)?, write(&mut columns)?])?;
            return Ok(Pattern::of_buffers(self.size(), offsets, columns));
        }
        let groups = Groups::new(&self.queue, &counts)?;
        for group in groups.each(LOCAL_ENTRIES, GATHERING)? {
            let mut table = self.table(&group, groups.largest())?;
            let mut arguments = self.arguments(&group, true)?;
            arguments.extend(table.arguments()?);
            arguments.extend([read(&offsets)?, write(&mut columns)?]);
            self.launch("product_columns", &group, &[], table.blocks, &arguments)?;
        }
        Ok(Pattern::of_buffers(self.size(), offsets, columns))
    }

    fn size(&self) -> Size {
        Size::new(self.a.size().rows, self.cols())
    }

    /// The values of entries that stand where `c` says.
    pub(crate) fn numeric<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        factors: Factors<'_, A, B>,
        c: &Pattern,
    ) -> Result<Buffer<C>> {
        let (offsets, columns) = c.buffers();
        let mut values = self.queue.room(c.nonzeros())?;
        let mut out = [read(offsets)?, read(columns)?, write(&mut values)?];
        let patterns = (self.a, self.b);
        let by_words = match self.words.filter(|_| are_plain::<C>()) {
            Some(is_asked) => ByWords::known(self.queue, patterns, c, is_asked)?,
            None => None,
        };
        if let Some(by_words) = by_words {
            by_words.values::<A, B, C>(factors, c.groups(&self.queue)?, out)?;
            return Ok(values);
        }
        match self.merged_for_values() {
            Some(merged) => {
                out[1] = NOTHING;
                self.merged_values::<A, B, C>(merged, factors, true, out)?;
            }
            None => {
                let known = [("FRESH", "0"), ("SORTED", "0")];
                self.values::<A, B, C>(factors, c.groups(&self.queue)?, known, out)?;
            }
        }
        Ok(values)
    }

    /// The product; `is_sorted`: for rows in any order are as good where nobody sees them.
    pub(crate) fn whole<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        factors: Factors<'_, A, B>,
        is_sorted: bool,
    ) -> Result<Csr<C>> {
        if are_plain::<C>()
            && let Some(by_words) = self.by_words()?
        {
            return by_words.whole(factors);
        }
        if let Some(product) = self.at_once(factors, is_sorted)? {
            return Ok(product);
        }
        let counts = self.counts()?;
        let (offsets, entries) = self.queue.offsets(&counts)?;
        let (mut columns, mut values) = (self.queue.room(entries)?, self.queue.room(entries)?);
        let out = [read(&offsets)?, write(&mut columns)?, write(&mut values)?];
        match self.merged_for_values() {
            Some(merged) => self.merged_values::<A, B, C>(merged, factors, false, out)?,
            None => {
                let groups = Groups::new(&self.queue, &counts)?;
                let sorted = ("SORTED", if is_sorted { "1" } else { "0" });
                self.values::<A, B, C>(factors, &groups, [("FRESH", "1"), sorted], out)?;
            }
        }
        let pattern = Pattern::of_buffers(self.size(), offsets, columns);
        Ok(Csr::of_buffers(&Arc::new(pattern), values))
    }

    fn values<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        factors: Factors<'_, A, B>,
        groups: &Groups,
        columns: [Define; 2],
        out: [Argument; 3],
    ) -> Result<()> {
        let defines = [&Self::types::<A, B, C>()[..], &columns].concat();
        let local = match C::KIND.is_complex() {
            true => LOCAL_COMPLEX,
            false => LOCAL_ENTRIES,
        };
        for group in groups.each(local, self.teams())? {
            let group = self.with_several_rows(group);
            let mut table = self.table(&group, groups.largest())?;
            let mut sums = self.queue.room::<C::Arith>(table.keys.len())?;
            let mut arguments = self.arguments(&group, false)?;
            arguments.extend(table.arguments()?);
            arguments.push(write(&mut sums)?);
            arguments.extend(factors.arguments()?);
            arguments.extend(out);
            let defines = [&defines[..], self.several(&group)].concat();
            self.launch("product_values", &group, &defines, table.blocks, &arguments)?;
        }
        Ok(())
    }

    fn merged_values<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        merged: &Merged<'_>,
        factors: Factors<'_, A, B>,
        known: bool,
        [offsets, columns, values]: [Argument; 3],
    ) -> Result<()> {
        let out = [&[offsets, columns], &factors.arguments()?[..], &[values]].concat();
        merged.rows(known, &Self::types::<A, B, C>(), &out)
    }

    /// The definitions of the types of values.
    fn types<A: Scalar, B: Scalar, C: Scalar>() -> [Define; 4] {
        [
            ("TA", A::KIND.name()),
            ("TB", B::KIND.name()),
            ("TC", C::KIND.name()),
            ("ACC", C::Arith::KIND.name()),
        ]
    }

    fn patterns(&self) -> Result<[Argument; 5]> {
        let ([a, b], [c, d]) = (self.a.device()?, self.b.device()?);
        let map = self.p.map_or(Ok(0), |p| p.buffers().1.device())?;
        Ok([a, b, c, d, map].map(Argument::Address))
    }

    /// What all kernels of teams begin with; how many threads share a row of `B` where it may be
    /// fewer than a team has.
    fn arguments(&self, group: &Group, shares: bool) -> Result<Vec<Argument>> {
        let mut arguments = vec![number(group.count), group.rows];
        if shares {
            arguments.push(Argument::U32(self.width().min(32) as u32));
        }
        arguments.extend(self.patterns()?);
        if let Some([a, b]) = self.maps.filter(|_| shares) {
            arguments.extend([read(a)?, read(b)?]);
        }
        Ok(arguments)
    }

    /// Entries for every thread of a team that adds, and most threads: it has a row of `B` at a time.
    fn teams(&self) -> (usize, usize) {
        match self.p {
            Some(_) => GATHERING,
            None => (2, self.width().clamp(4, 32)),
        }
    }

    /// The mean length of the rows of `B`, or more.
    fn width(&self) -> usize {
        let mean = self.b.nonzeros().div_ceil(self.b.size().rows.max(1));
        mean.next_power_of_two()
    }

    fn launch(
        &self,
        name: &'static str,
        group: &Group,
        types: &[Define],
        blocks: usize,
        arguments: &[Argument],
    ) -> Result<()> {
        let mapped = [("MAPPED", if self.p.is_some() { "1" } else { "0" })];
        let tiles: &[Define] = match self.maps {
            Some(_) => &[("BITMAPS", "1")],
            None => &[],
        };
        // Of the largest there would be no room for twice as many, with sums.
        let slots = match group.size {
            LOCAL_ENTRIES => LOCAL_ENTRIES / 2 * 3,
            size => 2 * size,
        };
        let defines = [&group.defines(slots)[..], &mapped, tiles, types].concat();
        self.queue.blocks(FILE, name, &defines, blocks, arguments)
    }

    /// The tables of a group; those in global memory for rows of up to `most` entries.
    fn table(&self, group: &Group, most: usize) -> Result<Table> {
        let slots = match group.is_local {
            true => 0,
            false => (most + most / 2 + 1).next_power_of_two(),
        };
        let blocks = group.blocks(&self.queue, slots * (size_of::<u32>() + size_of::<f64>()));
        let keys = self.queue.room(slots * blocks)?;
        Ok(Table {
            slots,
            blocks,
            keys,
        })
    }
}

/// What is compared in tests, and otherwise chosen.
#[cfg(test)]
impl Product<'_> {
    /// By tables, or merged.
    pub(crate) fn without_words(self) -> Self {
        Self {
            words: None,
            by_spans: false,
            ..self
        }
    }

    /// The same with entries counted first.
    pub(crate) fn counted_first(self) -> Self {
        Self {
            in_one_pass: false,
            ..self.without_words()
        }
    }

    /// By words of 32 columns, unless rows span too many.
    pub(crate) fn with_words(self) -> Self {
        Self {
            words: Some(true),
            merged: None,
            by_spans: false,
            ..self
        }
    }
}

/// Whether values of a type may be summed by words of columns, and in blocks.
pub(super) fn are_plain<C: Scalar>() -> bool {
    C::KIND == C::Arith::KIND && !C::KIND.is_complex()
}

/// Tables in global memory, one for every block.
struct Table {
    slots: usize,
    blocks: usize,
    keys: Buffer<u32>,
}

impl Table {
    fn arguments(&mut self) -> Result<[Argument; 2]> {
        Ok([Argument::U32(self.slots as u32), write(&mut self.keys)?])
    }
}

/// The matrices of a product.
#[derive(Clone, Copy)]
pub(crate) struct Factors<'f, A, B> {
    pub a: &'f Csr<A>,
    pub b: &'f Csr<B>,
    pub p: Option<&'f Csr<B>>,
}

impl<A: Scalar, B: Scalar> Factors<'_, A, B> {
    pub(super) fn arguments(&self) -> Result<Vec<Argument>> {
        let mut arguments = vec![read(self.a.values_buffer())?, read(self.b.values_buffer())?];
        if let Some(p) = self.p {
            arguments.push(read(p.values_buffer())?);
        }
        Ok(arguments)
    }
}
