//! Products of sparse matrices with short rows, made by merging.

use vcycle_gpu::Argument;

use super::groups::{Group, Groups, literal};
use super::{Queue, number, write};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, kernels};

pub(super) const FILE: File = kernels::merged::FILE;
/// The most rows of `B` that a row of `A` may name.
const MOST: usize = 128;
/// Rows of `B` and products for a row, in the mean, up to which this is faster than tables, measured on
/// an H200.
const MEAN_LISTS: f64 = 28.0;
const MEAN_PRODUCTS: f64 = 160.0;
/// The same for values.
const MEAN_VALUES: f64 = 100.0;

/// Rows of `B` that a thread merges where there are so many for a row.
fn lists(size: usize) -> usize {
    if size <= 16 { 2 } else { 4 }
}

/// A product `A B` on a device.
pub(super) struct Merged<'p> {
    queue: Queue<'p>,
    a: &'p Pattern,
    b: &'p Pattern,
    groups: &'p Groups,
    /// Whether tables are faster for values.
    pub counts_alone: bool,
}

impl<'p> Merged<'p> {
    /// None where rows are too long for that.
    pub(super) fn new(queue: Queue<'p>, a: &'p Pattern, b: &'p Pattern) -> Result<Option<Self>> {
        let mean = |of: &Pattern| of.nonzeros() as f64 / of.size().rows.max(1) as f64;
        let products = mean(a) * mean(b);
        let is_short = mean(a) <= MEAN_LISTS && products <= MEAN_PRODUCTS;
        if !is_short || b.nonzeros() >= 1 << 31 {
            return Ok(None);
        }
        let groups = a.groups(&queue)?;
        let merged = Self {
            queue,
            a,
            b,
            groups,
            counts_alone: products > MEAN_VALUES,
        };
        Ok((groups.largest() <= MOST).then_some(merged))
    }

    /// How many entries each row has.
    pub(super) fn counts(&self) -> Result<Buffer<u32>> {
        let mut counts = self.queue.room(self.a.size().rows)?;
        self.each("merged_count", &[("KNOWN", "0")], &[write(&mut counts)?])?;
        Ok(counts)
    }

    /// The columns, unless they are `known`, and with the types of values these, too. `out`: where rows
    /// begin, their columns, and values of both factors and the product.
    pub(super) fn rows(&self, known: bool, types: &[Define], out: &[Argument]) -> Result<()> {
        let known = ("KNOWN", if known { "1" } else { "0" });
        self.each("merged_rows", &[&[known], types].concat(), out)
    }

    fn each(&self, name: &'static str, defines: &[Define], more: &[Argument]) -> Result<()> {
        let ([a, b], [c, d]) = (self.a.device()?, self.b.device()?);
        for group in self.groups.each(MOST, (1, 32))? {
            let lists = lists(group.size);
            let group = Group {
                threads: group.size / lists,
                ..group
            };
            let rows = match group.count == self.a.size().rows {
                true => Argument::Address(0),
                false => group.rows,
            };
            let patterns = [a, b, c, d].map(Argument::Address);
            let arguments = [&[number(group.count), rows], &patterns[..], more].concat();
            let shape = [
                ("THREADS", literal(group.threads)),
                ("LISTS", literal(lists)),
                ("SIZE", "0"),
                ("SLOTS", "0"),
            ];
            let defines = [&shape, defines].concat();
            let blocks = group.blocks(&self.queue, 0);
            self.queue
                .blocks(FILE, name, &defines, blocks, &arguments)?;
        }
        Ok(())
    }
}
