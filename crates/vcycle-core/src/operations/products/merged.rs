//! Products of sparse matrices with short rows, made by merging.

use crate::gpu::{Launch, flag, kernels::merged as kernels};
use crate::launch::groups::{Group, Groups};
use crate::launch::prelude::*;
use crate::operations::products::factors::{Factors, sums_in};

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

/// What `PATTERNS` of the kernels stands for.
type Patterns = (Read<u64>, Read<u32>, Read<u64>, Read<u32>);

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
        let mut counts = self.queue.uninit(self.a.size().rows)?;
        self.each(|count, rows, patterns| {
            Ok(kernels::merged_count(count, rows, patterns, &mut counts)?.with(&[("KNOWN", "0")]))
        })?;
        Ok(counts)
    }

    /// The columns of rows that begin at some places.
    pub(super) fn columns(&self, offsets: &Buffer<usize>, columns: &mut Buffer<u32>) -> Result<()> {
        self.each(|count, rows, patterns| {
            let to = &mut *columns;
            let launch = kernels::merged_columns(count, rows, patterns, offsets, to)?;
            Ok(launch.with(&[("KNOWN", "0")]))
        })
    }

    /// The values of rows that begin at some places, and the columns unless they are known.
    pub(super) fn values<T: Scalar>(
        &self,
        factors: Factors<'_, T>,
        offsets: &Buffer<usize>,
        columns: Option<Write<u32>>,
        values: &mut Buffer<T>,
    ) -> Result<()> {
        let (a, b, _) = factors.values()?;
        let defines = [("KNOWN", flag(columns.is_none())), sums_in::<T>()];
        self.each(|count, rows, patterns| {
            let to = &mut *values;
            let launch = kernels::merged_rows(count, rows, patterns, offsets, columns, a, b, to)?;
            Ok(launch.with(&defines))
        })
    }

    fn each(
        &self,
        mut kernel: impl FnMut(usize, Read<u32>, Patterns) -> Result<Launch>,
    ) -> Result<()> {
        let ((a, b), (c, d)) = (self.a.pass()?, self.b.pass()?);
        for group in self.groups.each(MOST, (1, 32))? {
            let lists = lists(group.size);
            let threads = group.size / lists;
            let group = Group { threads, ..group };
            let rows = match group.count == self.a.size().rows {
                true => Read::default(),
                false => group.rows,
            };
            let shape = [("THREADS", literal(threads)), ("LISTS", literal(lists))];
            kernel(group.count, rows, (a, b, c, d))?
                .with(&shape)
                .run(self.queue.gpu, group.blocks(&self.queue, 0))?;
        }
        Ok(())
    }
}
