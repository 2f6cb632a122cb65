//! Products of sparse matrices.

mod counted;
mod once;

use crate::gpu::{Launch, flag, kernels::products as kernels};
use crate::launch::groups::{Group, Groups};
use crate::launch::prelude::*;
use crate::operations::products::factors::{Factors, are_plain};
use crate::operations::products::merged::Merged;
use crate::operations::products::words::ByWords;

/// Entries of rows that are gathered in local memory.
const LOCAL_ENTRIES: usize = 2048;
/// The same for complex numbers, which take twice the memory.
const LOCAL_COMPLEX: usize = 512;
/// Entries for every thread of a team that gathers them, and most threads, measured on an H200.
const GATHERING: (usize, usize) = (4, 32);

/// Threads of a team that has entries of several rows of `B` at a time, and the part of a team that one fills in the mean up to which that is done.
const SEVERAL_THREADS: usize = 32;
const SEVERAL_PART: usize = 4;

/// Where tiles stand, and their maps.
pub(in crate::operations) type Tiled<'p> = (&'p Pattern, &'p Buffer<u16>);

/// What `PATTERNS` of the kernels stands for: row offsets and columns of both factors, and the columns of `P`.
type Patterns = (Read<u64>, Read<u32>, Read<u64>, Read<u32>, Read<u32>);

/// A product `A B` on a device, or `A B P` with a `P` that has one entry a row.
pub(crate) struct Product<'p> {
    queue: Queue<'p>,
    a: &'p Pattern,
    b: &'p Pattern,
    p: Option<&'p Pattern>,
    /// Of tiles, whose products may be empty: which entries they have.
    maps: Option<(&'p Buffer<u16>, &'p Buffer<u16>)>,
    /// Where rows are short.
    merged: Option<Merged<'p>>,
    /// Whether words of columns come into question for whole products, and whether they are taken without a look at what they save.
    words: Option<bool>,
    /// Whether rows may be made before they are counted.
    in_one_pass: bool,
}

impl<'p> Product<'p> {
    /// Of matrices that fit.
    pub(crate) fn new(queue: Queue<'p>, a: &'p Pattern, b: &'p Pattern) -> Result<Self> {
        let product = Self::by_tables(queue, a, b)?;
        let merged = Merged::new(queue, a, b)?;
        Ok(Self {
            words: merged.is_none().then_some(false),
            merged,
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
            words: None,
            in_one_pass: true,
        })
    }

    /// The same for tiles with maps of their entries: tiles of the product are those that have entries.
    pub(in crate::operations) fn of_tiles(
        queue: Queue<'p>,
        a: Tiled<'p>,
        b: Tiled<'p>,
    ) -> Result<Self> {
        let maps = Some((a.1, b.1));
        let product = Self::by_tables(queue, a.0, b.0)?;
        Ok(Self { maps, ..product })
    }

    /// `A B P`; `P` has one entry a row.
    pub(crate) fn fused(
        queue: Queue<'p>,
        a: &'p Pattern,
        b: &'p Pattern,
        p: &'p Pattern,
    ) -> Result<Self> {
        let product = Self::by_tables(queue, a, b)?;
        Ok(Self {
            p: Some(p),
            ..product
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

    fn size(&self) -> Size {
        Size::new(self.a.size().rows, self.cols())
    }

    /// Where the entries stand.
    pub(crate) fn symbolic(&self) -> Result<Pattern> {
        if let Some(by_words) = self.by_words()? {
            return by_words.symbolic();
        }
        let counts = self.counts()?;
        self.queue
            .new_pattern(self.size(), &counts, |(offsets, columns)| {
                if let Some(merged) = &self.merged {
                    return merged.columns(offsets, columns);
                }
                let groups = Groups::new(&self.queue, &counts)?;
                for group in groups.each(LOCAL_ENTRIES, GATHERING)? {
                    let mut table = self.table(&group, groups.largest())?;
                    let launch = kernels::product_columns(
                        group.count,
                        group.rows,
                        self.width().min(32),
                        self.patterns()?,
                        self.maps,
                        (table.slots, &mut table.keys),
                        offsets,
                        &mut *columns,
                    )?;
                    self.launch(launch, &group, table.blocks)?;
                }
                Ok(())
            })
    }

    /// The values of entries that stand where `c` says.
    pub(crate) fn numeric<T: Scalar>(
        &self,
        factors: Factors<'_, T>,
        c: &Pattern,
    ) -> Result<Buffer<T>> {
        let (offsets, columns) = c.buffers();
        let mut values = self.queue.uninit(c.nonzeros())?;
        let by_words = match self.words.filter(|_| are_plain::<T>()) {
            Some(is_asked) => ByWords::known(self.queue, (self.a, self.b), c, is_asked)?,
            None => None,
        };
        if let Some(by_words) = by_words {
            let groups = c.groups(&self.queue)?;
            by_words.values(factors, groups, offsets, columns.pointer()?, &mut values)?;
        } else if let Some(merged) = self.merged_for_values() {
            merged.values(factors, offsets, None, &mut values)?;
        } else {
            let known = [("FRESH", "0"), ("SORTED", "0")];
            let (groups, columns) = (c.groups(&self.queue)?, columns.pointer()?);
            self.values(factors, groups, known, (offsets, columns), &mut values)?;
        }
        Ok(values)
    }

    /// The product; `is_sorted`: for rows in any order are as good where nobody sees them.
    pub(crate) fn whole<T: Scalar>(
        &self,
        factors: Factors<'_, T>,
        is_sorted: bool,
    ) -> Result<Csr<T>> {
        if are_plain::<T>()
            && let Some(by_words) = self.by_words()?
        {
            return by_words.whole(factors);
        }
        if let Some(product) = self.at_once(factors, is_sorted)? {
            return Ok(product);
        }
        let counts = self.counts()?;
        let mut out = self.queue.new_rows(&counts)?;
        let (offsets, to) = (&out.offsets, out.columns.pointer_mut()?);
        match self.merged_for_values() {
            Some(merged) => merged.values(factors, offsets, Some(to), &mut out.values)?,
            None => {
                let groups = Groups::new(&self.queue, &counts)?;
                let fresh = [("FRESH", "1"), ("SORTED", flag(is_sorted))];
                self.values(
                    factors,
                    &groups,
                    fresh,
                    (offsets, to.pass()?),
                    &mut out.values,
                )?;
            }
        }
        Ok(out.matrix(self.size()))
    }

    /// The values of rows that begin at some places, whose columns are known or written there.
    fn values<T: Scalar>(
        &self,
        factors: Factors<'_, T>,
        groups: &Groups,
        defines: [Define; 2],
        (offsets, columns): (&Buffer<usize>, Read<u32>),
        values: &mut Buffer<T>,
    ) -> Result<()> {
        let local = match T::KIND.is_complex() {
            true => LOCAL_COMPLEX,
            false => LOCAL_ENTRIES,
        };
        for group in groups.each(local, self.teams())? {
            let group = self.with_several_rows(group);
            let mut table = self.table(&group, groups.largest())?;
            let mut sums = self.queue.uninit::<T::Arith>(table.keys.len())?;
            let launch = kernels::product_values(
                group.count,
                group.rows,
                self.patterns()?,
                (table.slots, &mut table.keys),
                &mut sums,
                factors.values()?,
                offsets,
                columns,
                columns.writable(),
                &mut *values,
            )?;
            let launch = launch.with(&defines).with(self.several(&group));
            self.launch(launch, &group, table.blocks)?;
        }
        Ok(())
    }

    fn patterns(&self) -> Result<Patterns> {
        let ((a, b), (c, d)) = (self.a.pass()?, self.b.pass()?);
        Ok((a, b, c, d, self.p.map(|p| p.buffers().1).pass()?))
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

    /// The group with teams that have several rows of `B` at a time, where one would leave most of their threads idle.
    fn with_several_rows(&self, group: Group) -> Group {
        let threads = match self.several(&group) {
            [] => group.threads,
            _ => SEVERAL_THREADS,
        };
        Group { threads, ..group }
    }

    /// The definition for such teams; none for others, and for whole blocks, which make rows of many entries.
    fn several(&self, group: &Group) -> &'static [Define] {
        let is_idle = SEVERAL_PART * self.width() <= group.threads;
        match is_idle && group.threads <= SEVERAL_THREADS && self.p.is_none() {
            true => &[("SEVERAL", "1")],
            false => &[],
        }
    }

    /// Queues a kernel for a group, by teams with tables that suit it.
    fn launch(&self, launch: Launch, group: &Group, blocks: usize) -> Result<()> {
        let tiles: &[Define] = match self.maps {
            Some(_) => &[("BITMAPS", "1")],
            None => &[],
        };
        // Of the largest there would be no room for twice as many, with sums.
        let slots = match group.size {
            LOCAL_ENTRIES => LOCAL_ENTRIES / 2 * 3,
            size => 2 * size,
        };
        launch
            .with(&group.defines(slots))
            .with(&[("MAPPED", flag(self.p.is_some()))])
            .with(tiles)
            .run(self.queue.gpu, blocks)
    }

    /// The tables of a group; those in global memory for rows of up to `most` entries.
    fn table(&self, group: &Group, most: usize) -> Result<Table> {
        let slots = match group.is_local {
            true => 0,
            false => (most + most / 2 + 1).next_power_of_two(),
        };
        let blocks = group.blocks(&self.queue, slots * (size_of::<u32>() + size_of::<f64>()));
        let keys = self.queue.uninit(slots * blocks)?;
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
            ..self
        }
    }
}

/// Tables in global memory, one for every block.
struct Table {
    slots: usize,
    blocks: usize,
    keys: Buffer<u32>,
}
