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
/// As in `kernels/slices.c`: threads that share the steps of a slice, and most steps of an aligned
/// one.
const SHARES: usize = 8;
const ALIGNED: usize = 32;
/// Bytes of codes that slices count in.
const UNIT: usize = 32;

/// The arrays of a layout whose rows are all in slices.
#[derive(Clone, Debug)]
pub(crate) struct DeviceSlices {
    pub(crate) threads: usize,
    pub(crate) order: Option<Buffer<u32>>,
    /// First step and first unit of codes of every slice, and at the end their numbers.
    pub(crate) starts: Buffer<u32>,
    pub(crate) marks: Marks,
    pub(crate) bases: Buffer<u32>,
    pub(crate) codes: Buffer<u8>,
    pub(crate) step_count: usize,
    /// First steps and first units of the slices, and at the end their numbers.
    steps: Buffer<usize>,
    units: Buffer<usize>,
}

/// Row lengths and masks of as few bytes as can be.
#[derive(Clone, Debug)]
pub(crate) enum Marks {
    Short(Buffer<u8>),
    Long(Buffer<u32>),
}

impl Marks {
    /// The definition of their type, and their address.
    pub(crate) fn argument(&self) -> Result<(Define, Argument)> {
        let (kind, address) = match self {
            Marks::Short(marks) => ("u8", marks.device()?),
            Marks::Long(marks) => ("u32", marks.device()?),
        };
        Ok((("MARK", kind), Argument::Address(address)))
    }
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
        let mut widths = work.widths()?;
        // As `Slices::sort` has it.
        if 10 * LANES * queue.offsets(&widths)?.1 > 11 * entries {
            work.order = Some(work.sorted()?);
            widths = work.widths()?;
        }
        work.encoded(widths).map(Some)
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
        let (mark, marks) = self.marks.argument()?;
        let starts = [read(&self.steps)?, read(&self.units)?];
        let more = [
            starts[0],
            starts[1],
            marks,
            read(values)?,
            write(&mut placed)?,
        ];
        let items = work.slices * LANES;
        work.launch("place_values", [mark, ("WORD", word::<T>())], items, &more)?;
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

/// For kernels that have no type of marks or values.
const WORDS: [Define; 2] = [("MARK", "u32"), ("WORD", "u32")];

fn defines(threads: usize, [mark, word]: [Define; 2]) -> [Define; 3] {
    [("THREADS", power(threads)), mark, word]
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
    fn launch(
        &self,
        name: &'static str,
        types: [Define; 2],
        items: usize,
        more: &[Argument],
    ) -> Result<()> {
        let (offsets, columns) = self.pattern.buffers();
        let order = self.order.as_ref();
        let given = [
            number(self.slices),
            number(self.pattern.size().rows),
            order.map_or(Ok(Argument::Address(0)), read)?,
            read(offsets)?,
            read(columns)?,
        ];
        let arguments = [&given[..], more].concat();
        let defines = defines(self.threads, types);
        self.queue.items(FILE, name, &defines, items, &arguments)
    }

    /// Steps of every slice, unless it is aligned.
    fn widths(&self) -> Result<Buffer<u32>> {
        let mut widths = self.queue.room(self.slices)?;
        self.launch("measure", WORDS, self.slices, &[write(&mut widths)?])?;
        Ok(widths)
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

    fn encoded(self, mut widths: Buffer<u32>) -> Result<DeviceSlices> {
        let queue = self.queue;
        let mut units = queue.room::<u32>(self.slices)?;
        let mut aligned = queue.room::<u32>(match self.threads {
            1 => ALIGNED * self.slices,
            _ => 0,
        })?;
        let mut largest = queue.zeros::<u32>(1)?;
        let formed = [
            write(&mut widths)?,
            write(&mut units)?,
            write(&mut aligned)?,
            write(&mut largest)?,
        ];
        self.launch("form", WORDS, self.slices, &formed)?;
        let (steps, step_count) = queue.offsets(&widths)?;
        let (units, unit_count) = queue.offsets(&units)?;
        if step_count.max(unit_count) > u32::MAX as usize {
            return Err(queue.gpu.lacks("csr", "matrices of so many entries"));
        }
        let starts = [read(&steps)?, read(&units)?];
        let bases = self.bases(starts, &aligned, step_count)?;
        Ok(DeviceSlices {
            threads: self.threads,
            starts: self.starts(starts)?,
            marks: match largest.get(0)? <= u8::MAX.into() {
                true => Marks::Short(self.marks("u8", starts, &bases)?),
                false => Marks::Long(self.marks("u32", starts, &bases)?),
            },
            codes: self.codes(starts, &bases, unit_count)?,
            order: self.order,
            bases,
            step_count,
            steps,
            units,
        })
    }

    fn bases(
        &self,
        starts: [Argument; 2],
        aligned: &Buffer<u32>,
        count: usize,
    ) -> Result<Buffer<u32>> {
        let mut bases = self.queue.room(count)?;
        let more = [starts[0], starts[1], read(aligned)?, write(&mut bases)?];
        self.launch("write_bases", WORDS, self.slices * SHARES, &more)?;
        Ok(bases)
    }

    fn starts(&self, starts: [Argument; 2]) -> Result<Buffer<u32>> {
        let mut out = self.queue.room(2 * (self.slices + 1))?;
        let more = [starts[0], starts[1], write(&mut out)?];
        self.launch("write_starts", WORDS, self.slices + 1, &more)?;
        Ok(out)
    }

    fn marks<M: Element>(
        &self,
        mark: &'static str,
        starts: [Argument; 2],
        bases: &Buffer<u32>,
    ) -> Result<Buffer<M>> {
        let rows = self.pattern.size().rows;
        let mut marks = self.queue.room(rows)?;
        let more = [starts[0], starts[1], read(bases)?, write(&mut marks)?];
        self.launch("write_marks", [("MARK", mark), WORDS[1]], rows, &more)?;
        Ok(marks)
    }

    fn codes(
        &self,
        starts: [Argument; 2],
        bases: &Buffer<u32>,
        count: usize,
    ) -> Result<Buffer<u8>> {
        let mut codes = self.queue.room(count * UNIT)?;
        if count > 0 {
            let more = [starts[0], starts[1], read(bases)?, write(&mut codes)?];
            self.launch("write_codes", WORDS, self.slices * LANES, &more)?;
        }
        Ok(codes)
    }
}
