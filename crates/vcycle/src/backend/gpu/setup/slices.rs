//! The layout of products, made on the device.

use vcycle_gpu::Argument;

use super::transpose::word;
use super::{Queue, number, read, write};
use crate::backend::gpu::layout::{LANES, Longer, lanes_for, longest_in_slices};
use crate::backend::gpu::rows::power;
use crate::backend::gpu::{Define, File, kernel_file};
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::matrix::Pattern;

const FILE: File = kernel_file!("slices.c");
/// Threads that share the steps of a slice, as in `kernels/slices.c`.
const SHARES: usize = 8;
/// Bytes of codes that slices count in.
const UNIT: usize = 32;

/// The arrays of a layout whose rows are all in slices.
#[derive(Clone, Debug)]
pub(crate) struct DeviceSlices {
    pub(crate) threads: usize,
    pub(crate) order: Option<Buffer<u32>>,
    /// First step and first unit of codes of every slice, and at the end their numbers.
    pub(crate) starts: Buffer<u32>,
    /// Row lengths in bytes, or in words where these are too short.
    pub(crate) lengths: (Option<Buffer<u8>>, Option<Buffer<u32>>),
    pub(crate) bases: Buffer<u32>,
    pub(crate) codes: Buffer<u8>,
    /// First steps of the slices, and at the end their number.
    steps: Buffer<usize>,
    pub(crate) step_count: usize,
}

impl DeviceSlices {
    /// None where rows are so long that they have parts.
    pub(crate) fn new(queue: &Queue<'_>, pattern: &Pattern) -> Result<Option<Self>> {
        let (offsets, columns) = pattern.buffers();
        let (rows, entries) = (pattern.size().rows, columns.len());
        let (longer, longest) = survey(queue, offsets)?;
        let mean = entries / rows.max(1);
        let threads = lanes_for(rows, mean, queue.gpu.width(), &longer);
        if longest > longest_in_slices(threads, mean) {
            return Ok(None);
        }
        let mut work = Work {
            queue,
            pattern,
            threads,
            order: None,
            slices: rows.div_ceil(LANES / threads),
        };
        let (mut steps, mut step_count) = work.measure()?;
        // As `Slices::sort` has it.
        if 10 * LANES * step_count > 11 * entries {
            work.order = Some(work.sorted()?);
            (steps, step_count) = work.measure()?;
        }
        let (bases, units) = work.bases(&steps, step_count)?;
        let (units, unit_count) = queue.offsets(&units)?;
        if step_count.max(unit_count) > u32::MAX as usize {
            return Err(queue.gpu.lacks("csr", "matrices of so many entries"));
        }
        Ok(Some(Self {
            threads,
            starts: work.starts(&steps, &units)?,
            lengths: match longest <= u8::MAX.into() {
                true => (Some(work.lengths("u8")?), None),
                false => (None, Some(work.lengths("u32")?)),
            },
            codes: work.codes([&steps, &units], &bases, unit_count)?,
            order: work.order,
            bases,
            steps,
            step_count,
        }))
    }

    /// Values of a matrix of the pattern in this layout.
    pub(crate) fn place<T: Element>(
        &self,
        queue: &Queue<'_>,
        pattern: &Pattern,
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        let work = Work {
            queue,
            pattern,
            threads: self.threads,
            order: self.order.clone(),
            slices: self.steps.len() - 1,
        };
        let mut placed = queue.room(self.step_count * LANES)?;
        let more = [read(&self.steps)?, read(values)?, write(&mut placed)?];
        let word = ("WORD", word::<T>());
        work.queue_each("place_values", word, LANES, &more)?;
        Ok(placed)
    }
}

/// How many rows are longer than 8, 16 and so on, and the longest length.
fn survey(queue: &Queue<'_>, offsets: &Buffer<usize>) -> Result<(Longer, usize)> {
    let mut out = queue.zeros::<u32>(7)?;
    let rows = offsets.len() - 1;
    let arguments = [number(rows), read(offsets)?, write(&mut out)?];
    queue.items(FILE, "survey", &defines(1, WORDS), rows, &arguments)?;
    let out = out.host()?;
    let longer = std::array::from_fn(|k| out[k] as usize);
    Ok((longer, out[6] as usize))
}

/// For kernels that have no type of values or lengths.
const WORDS: Define = ("WORD", "u32");

fn defines(threads: usize, word: Define) -> [Define; 3] {
    let length = if word.0 == "LENGTH" { word.1 } else { "u32" };
    let word = if word.0 == "WORD" { word.1 } else { "u32" };
    [
        ("THREADS", power(threads)),
        ("LENGTH", length),
        ("WORD", word),
    ]
}

/// What the kernels are given.
struct Work<'w> {
    queue: &'w Queue<'w>,
    pattern: &'w Pattern,
    threads: usize,
    order: Option<Buffer<u32>>,
    slices: usize,
}

impl Work<'_> {
    /// Queues a kernel with so many threads for every slice.
    fn queue_each(
        &self,
        name: &'static str,
        word: Define,
        each: usize,
        more: &[Argument],
    ) -> Result<()> {
        let arguments = [&[number(self.slices)][..], &self.matrix()?, more].concat();
        let defines = defines(self.threads, word);
        let items = self.slices * each;
        self.queue.items(FILE, name, &defines, items, &arguments)
    }

    fn matrix(&self) -> Result<[Argument; 4]> {
        let (offsets, columns) = self.pattern.buffers();
        let order = self.order.as_ref();
        Ok([
            number(self.pattern.size().rows),
            order.map_or(Ok(Argument::Address(0)), read)?,
            read(offsets)?,
            read(columns)?,
        ])
    }

    /// First steps of the slices, and how many there are.
    fn measure(&self) -> Result<(Buffer<usize>, usize)> {
        let mut widths = self.queue.room(self.slices)?;
        self.queue_each("measure", WORDS, 1, &[write(&mut widths)?])?;
        self.queue.offsets(&widths)
    }

    /// Long rows first in every window.
    fn sorted(&self) -> Result<Buffer<u32>> {
        let (rows, (offsets, _)) = (self.pattern.size().rows, self.pattern.buffers());
        let mut order = self.queue.room(rows)?;
        let arguments = [number(rows), read(offsets)?, write(&mut order)?];
        let defines = defines(1, WORDS);
        self.queue
            .items(FILE, "sort_windows", &defines, rows, &arguments)?;
        Ok(order)
    }

    /// The bases of all steps, and the units of codes of all slices.
    fn bases(&self, steps: &Buffer<usize>, count: usize) -> Result<(Buffer<u32>, Buffer<u32>)> {
        let mut bases = self.queue.room(count)?;
        let mut spreads = self.queue.zeros::<u32>(self.slices)?;
        let more = [read(steps)?, write(&mut bases)?, write(&mut spreads)?];
        self.queue_each("find_bases", WORDS, SHARES, &more)?;
        let mut units = self.queue.room(self.slices)?;
        let slices = number(self.slices);
        let arguments = [slices, read(steps)?, read(&spreads)?, write(&mut units)?];
        let defines = defines(1, WORDS);
        self.queue
            .items(FILE, "count_units", &defines, self.slices, &arguments)?;
        Ok((bases, units))
    }

    fn starts(&self, steps: &Buffer<usize>, units: &Buffer<usize>) -> Result<Buffer<u32>> {
        let mut starts = self.queue.room(2 * (self.slices + 1))?;
        let slices = number(self.slices);
        let arguments = [slices, read(steps)?, read(units)?, write(&mut starts)?];
        let (defines, items) = (defines(1, WORDS), self.slices + 1);
        self.queue
            .items(FILE, "write_starts", &defines, items, &arguments)?;
        Ok(starts)
    }

    fn lengths<L: Element>(&self, length: &'static str) -> Result<Buffer<L>> {
        let rows = self.pattern.size().rows;
        let mut lengths = self.queue.room(rows)?;
        let arguments = [&self.matrix()?[..], &[write(&mut lengths)?]].concat();
        let defines = defines(self.threads, ("LENGTH", length));
        self.queue
            .items(FILE, "write_lengths", &defines, rows, &arguments)?;
        Ok(lengths)
    }

    fn codes(
        &self,
        [steps, units]: [&Buffer<usize>; 2],
        bases: &Buffer<u32>,
        count: usize,
    ) -> Result<Buffer<u8>> {
        let mut codes = self.queue.room(count * UNIT)?;
        let arrays = [read(steps)?, read(units)?, read(bases)?, write(&mut codes)?];
        self.queue_each("write_codes", WORDS, LANES, &arrays)?;
        Ok(codes)
    }
}
