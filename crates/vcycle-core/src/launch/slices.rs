//! The layout in which `kernels/sliced.c` multiplies: rows side by side, columns in few bytes.

use crate::executor::Element;
use crate::gpu::{Bits, Define, Read, Write, kernels::slices as kernels, literal, word};
use crate::launch::Queue;
use crate::prelude::*;

/// Lanes of a slice.
pub(crate) const LANES: usize = 32;
/// Entries in a part of a row too long for a slice.
pub(crate) const CHUNK: usize = 2048;
/// Bytes of codes that slices count in.
const UNIT: usize = 32;

/// Where the entries of a CSR matrix stand.
#[derive(Clone, Debug)]
pub(crate) struct Slices {
    /// Rows in slices.
    pub rows: usize,
    /// Lanes for each row.
    pub threads: usize,
    /// The rows in slices, unless these are all in their own order.
    pub order: Option<Buffer<u32>>,
    /// First step and above it first unit of codes of every slice, and at the end their numbers.
    pub starts: Buffer<usize>,
    pub marks: Marks,
    /// What is subtracted from the columns of a step.
    pub bases: Buffer<u32>,
    pub codes: Buffer<u8>,
    /// Steps of all slices.
    pub step_count: usize,
    pub parts: Option<Parts>,
}

/// For every row of an aligned slice the steps it has, as bits; elsewhere its length. Of as few bytes
/// as can be.
#[derive(Clone, Debug)]
pub(crate) enum Marks {
    Short(Buffer<u8>),
    Long(Buffer<u32>),
}

/// Parts of rows too long for a slice.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub count: usize,
    /// Row, entries, number and of how many, for every part.
    pub table: Buffer<u32>,
    pub columns: Buffer<u32>,
}

impl Marks {
    /// The definition of their type, and the array.
    pub(crate) fn pointer(&self) -> Result<(Define, Read<Bits>)> {
        let (kind, marks) = match self {
            Marks::Short(marks) => ("u8", marks.pointer()?.bits()),
            Marks::Long(marks) => ("u32", marks.pointer()?.bits()),
        };
        Ok((("MARK", kind), marks))
    }
}

impl Slices {
    /// Those of a pattern.
    pub(crate) fn new(queue: &Queue<'_>, pattern: &Pattern, survey: &Survey) -> Result<Self> {
        let rows = pattern.size().rows;
        let mean = pattern.nonzeros() / rows.max(1);
        let threads = lanes_for(rows, mean, queue.gpu.width(), &survey.longer);
        Self::surveyed(queue, pattern, survey, threads)
    }

    /// The same with so many lanes for each row.
    pub(crate) fn surveyed(
        queue: &Queue<'_>,
        pattern: &Pattern,
        found: &Survey,
        threads: usize,
    ) -> Result<Self> {
        let (size, entries) = (pattern.size(), pattern.nonzeros());
        if size.rows.max(size.cols) >= u32::MAX as usize - LANES {
            return Err(queue.gpu.lacks("csr", "matrices of so many rows"));
        }
        let limit = longest_in_slices(threads, entries / size.rows.max(1));
        let (order, parts) = match found.longest > limit {
            true => divided(queue, pattern, limit)?,
            false => (None, None),
        };
        let mut work = KernelInputs::new(queue, pattern, threads, order);
        let steps = found.steps[threads.trailing_zeros() as usize];
        let most = steps.min(work.slices * limit.div_ceil(threads));
        if most > u32::MAX as usize / 4 {
            return Err(queue.gpu.lacks("csr", "matrices of so many entries"));
        }
        // Where slices would otherwise be a tenth empty.
        if parts.is_some() || 10 * LANES * steps > 11 * entries {
            work.order = Some(work.sorted()?);
        }
        work.encoded(parts)
    }

    /// Slices of all rows.
    pub(crate) fn slice_count(&self) -> usize {
        self.rows.div_ceil(LANES / self.threads)
    }

    /// Whether all rows are in aligned slices, in their own order.
    pub(crate) fn is_aligned(&self) -> bool {
        self.threads == 1 && self.codes.is_empty() && self.order.is_none() && self.parts.is_none()
    }

    /// Values of a matrix of the pattern in this layout; those of parts behind all others.
    pub(crate) fn place<T: Element>(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        let work = KernelInputs::new(queue, pattern, self.threads, self.order.clone());
        let in_slices = self.step_count * LANES;
        let count = self.parts.as_ref().map_or(0, |parts| parts.count);
        let mut placed = queue.uninit(in_slices + count * CHUNK)?;
        let to: Write<T> = placed.pointer_mut()?;
        let (mark, marks) = self.marks.pointer()?;
        let values_bits = values.pointer()?.bits();
        kernels::place_values(work.parts(), &self.starts, marks, values_bits, to.bits())?
            .with(&[mark, work.threads(), word::<T>()])
            .items(queue, work.slices * LANES)?;
        if let Some(parts) = &self.parts {
            parts.place(queue, pattern, values, to.at(in_slices))?;
        }
        Ok(placed)
    }
}

/// The rows of at most `limit` entries, and the parts of the others.
fn divided(
    queue: &Queue<'_>,
    pattern: &Pattern,
    limit: usize,
) -> Result<(Option<Buffer<u32>>, Option<Parts>)> {
    let (offsets, columns) = pattern.buffers();
    let rows = pattern.size().rows;
    let (mut flags, mut counts) = (queue.uninit(rows)?, queue.uninit(rows)?);
    kernels::divide(rows, offsets, limit, &mut flags, &mut counts)?.items(queue, rows)?;
    let (places, short) = queue.offsets(&flags)?;
    let (firsts, count) = queue.offsets(&counts)?;
    let (mut order, mut table) = (queue.uninit(short)?, queue.uninit(4 * count)?);
    kernels::list_rows(rows, offsets, &places, &firsts, &mut order, &mut table)?
        .items(queue, rows)?;
    let mut parts = Parts {
        count,
        table,
        columns: queue.uninit(count * CHUNK)?,
    };
    let to = parts.columns.pointer_mut()?;
    parts.place(queue, pattern, columns, to)?;
    Ok((Some(order), Some(parts)))
}

impl Parts {
    /// What the entries of parts have, part after part.
    fn place<T: Element>(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        values: &Buffer<T>,
        to: Write<T>,
    ) -> Result<()> {
        let (offsets, values) = (pattern.buffers().0, values.pointer()?.bits());
        kernels::place_parts(self.count, &self.table, offsets, values, to.bits())?
            .with(&[word::<T>()])
            .items(queue, self.count * CHUNK)
    }
}

/// How many rows are longer than 8, 16, 32, 64, 128 and 256.
type Longer = [usize; 6];

/// What is known of the row lengths of a matrix, and of a sample of its rows.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    longer: Longer,
    longest: usize,
    /// Steps of all slices with 1, 2, 4 .. 32 lanes a row.
    steps: [usize; 6],
    /// Of blocks with 2 + k / 5 rows and 2 + k % 5 columns, how many a sample of rows has, and the
    /// entries in them; zeros where no sample was taken.
    shapes: [[u32; 2]; SHAPES],
}

/// Numbers about row lengths, and shapes of blocks, as in `kernels/slices.c`.
const FACTS: usize = 13;
const SHAPES: usize = 20;
/// Rows of a group of the sample; every shape has whole blocks in it.
const SAMPLE_ROWS: usize = 60;
const SAMPLE_GROUPS: usize = 64;

impl Survey {
    /// Of row lengths alone.
    pub(crate) fn of_lengths(queue: &Queue<'_>, pattern: &Pattern) -> Result<Self> {
        let rows = pattern.size().rows;
        match pattern.is_known_single() {
            true => Ok(Self {
                longer: [0; 6],
                longest: 1,
                steps: std::array::from_fn(|k| rows.div_ceil(LANES >> k)),
                shapes: [[0; 2]; SHAPES],
            }),
            false => Self::with_sample(queue, pattern, 0),
        }
    }

    /// Of row lengths, and of blocks in a sample of rows.
    pub(crate) fn new(queue: &Queue<'_>, pattern: &Pattern) -> Result<Self> {
        let groups = pattern.size().rows / SAMPLE_ROWS;
        Self::with_sample(queue, pattern, groups.min(SAMPLE_GROUPS))
    }

    fn with_sample(queue: &Queue<'_>, pattern: &Pattern, groups: usize) -> Result<Self> {
        let mut out = queue.zeros::<u32>(FACTS + 2 * SHAPES)?;
        let (offsets, columns) = pattern.buffers();
        let (rows, to): (usize, Write<u32>) = (pattern.size().rows, out.pointer_mut()?);
        kernels::survey(rows, offsets, to)?.items(queue, rows)?;
        kernels::survey_blocks(rows, groups, offsets, columns, to.at(FACTS))?
            .items(queue, groups * SHAPES * SAMPLE_ROWS / 2)?;
        let out = out.host()?;
        Ok(Self {
            longer: std::array::from_fn(|k| out[k] as usize),
            longest: out[6] as usize,
            steps: std::array::from_fn(|k| out[12 - k] as usize),
            shapes: std::array::from_fn(|k| [out[FACTS + k], out[FACTS + SHAPES + k]]),
        })
    }

    /// Blocks that a sample of rows was looked at for, with how many it has and how many entries are in them.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = (Size, [usize; 2])> {
        let shape = |(k, found): (usize, &[u32; 2])| {
            let block = Size::new(2 + k / 5, 2 + k % 5);
            (block, found.map(|count| count as usize))
        };
        self.shapes.iter().enumerate().map(shape)
    }
}

/// The longest row that is not cut into parts.
fn longest_in_slices(threads: usize, mean: usize) -> usize {
    (64 * threads).max(4 * mean)
}

/// Lanes for a row: few steps where rows are long, and enough lanes to keep a device busy; where
/// there is little to do, few steps also for the longer rows, which all wait for. Measured on an
/// H200.
fn lanes_for(rows: usize, mean: usize, width: usize, longer: &Longer) -> usize {
    let too_few = |threads: usize| {
        let (steps, lanes) = (mean / threads, rows * threads);
        let waits = || steps > 4 || 64 * longer[threads.trailing_zeros() as usize] > rows;
        steps > 64 || steps > 12 && lanes < 1 << 19 || lanes < 1 << 17 && waits()
    };
    let mut threads = 1;
    while threads < width.min(LANES) && too_few(threads) {
        threads *= 2;
    }
    threads
}

/// Slices, rows, their order, and offsets and columns of the matrix.
type SlicesParts<'w> = (
    usize,
    usize,
    Option<&'w Buffer<u32>>,
    &'w Buffer<usize>,
    &'w Buffer<u32>,
);

/// What the kernels are given.
struct KernelInputs<'w> {
    queue: &'w Queue<'w>,
    pattern: &'w Pattern,
    threads: usize,
    order: Option<Buffer<u32>>,
    rows: usize,
    slices: usize,
}

impl<'w> KernelInputs<'w> {
    /// Of the rows in `order`, or all.
    fn new(
        queue: &'w Queue<'w>,
        pattern: &'w Pattern,
        threads: usize,
        order: Option<Buffer<u32>>,
    ) -> Self {
        let rows = order.as_ref().map_or(pattern.size().rows, Buffer::len);
        Self {
            queue,
            pattern,
            threads,
            order,
            rows,
            slices: rows.div_ceil(LANES / threads),
        }
    }

    /// What `SLICES` of the kernels stands for.
    fn parts(&self) -> SlicesParts<'_> {
        let (offsets, columns) = self.pattern.buffers();
        let order = self.order.as_ref();
        (self.slices, self.rows, order, offsets, columns)
    }

    fn threads(&self) -> Define {
        ("THREADS", literal(self.threads))
    }

    /// Long rows first in every window.
    fn sorted(&self) -> Result<Buffer<u32>> {
        let mut sorted = self.queue.uninit(self.rows)?;
        let (offsets, order) = (self.pattern.buffers().0, self.order.as_ref());
        kernels::sort_windows(self.rows, offsets, order, &mut sorted)?
            .items(self.queue, self.rows)?;
        Ok(sorted)
    }

    fn encoded(self, parts: Option<Parts>) -> Result<Slices> {
        let queue = self.queue;
        let mut sizes = queue.uninit::<u64>(self.slices)?;
        // Steps and units of all, and the largest mark.
        let mut totals = queue.zeros::<u64>(2)?;
        let all: Write<u64> = totals.pointer_mut()?;
        let lanes = self.slices * LANES;
        kernels::form(self.parts(), &mut sizes, all.at(1).cast())?
            .block(LANES as u32)
            .with(&[self.threads()])
            .items(queue, lanes)?;
        let starts = queue.scan(&sizes, all)?;
        let totals = totals.host()?;
        let [step_count, unit_count] = [totals[0] as u32, (totals[0] >> 32) as u32];
        let mut made = Slices {
            rows: self.rows,
            threads: self.threads,
            order: self.order.clone(),
            starts,
            marks: match totals[1] <= u8::MAX.into() {
                true => Marks::Short(queue.uninit(self.rows)?),
                false => Marks::Long(queue.uninit(self.rows)?),
            },
            bases: queue.uninit(step_count as usize)?,
            codes: queue.uninit(unit_count as usize * UNIT)?,
            step_count: step_count as usize,
            parts,
        };
        let (mark, marks) = made.marks.pointer()?;
        let (bases, codes) = (&mut made.bases, &mut made.codes);
        kernels::encode(self.parts(), &made.starts, bases, marks.writable(), codes)?
            .block(LANES as u32)
            .with(&[mark, self.threads()])
            .items(queue, lanes)?;
        Ok(made)
    }
}

#[cfg(test)]
mod tests;
