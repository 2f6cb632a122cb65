//! How many entries the rows of a product have.

use vcycle_gpu::Argument;

use super::{FILE, Product, TEAM_BLOCK};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::Define;
use crate::launch::setup::groups::{ClassCounts, Group, Groups};
use crate::launch::setup::tiles::NOTHING;
use crate::launch::setup::{number, write};

/// Products of a row are counted by so many threads.
const WORK_THREADS: usize = 8;
const WORK: [Define; 4] = [
    ("THREADS", "8"),
    ("SIZE", "0"),
    ("SLOTS", "0"),
    ("MAPPED", "0"),
];
/// Expected entries of rows that are counted in local memory.
const LOCAL_COUNTS: usize = 4096;
/// Entries for every thread of a team that counts them, and most threads, measured on an H200.
const COUNTING: (usize, usize) = (8, 32);
/// Products for every expected entry, and products that may all be different columns.
const PRODUCTS: usize = 4;
const FEW: usize = 128;

impl Product<'_> {
    /// How many entries each row has.
    pub(super) fn counts(&self) -> Result<Buffer<u32>> {
        if let Some(merged) = &self.merged {
            return merged.counts();
        }
        let (queue, rows) = (&self.queue, self.a.size().rows);
        let (guesses, groups) = self.guesses([PRODUCTS, FEW, usize::MAX], false, None)?;
        let most = (PRODUCTS * groups.largest()).min(self.cols());
        let mut counts = queue.room::<u32>(rows)?;
        // The guesses are known to their groups, so that their memory is free.
        let (mut again, mut again_count) = (guesses, queue.zeros::<u32>(1)?);
        for group in groups.each(LOCAL_COUNTS, COUNTING)? {
            // Most rows have fewer entries than expected; which do not is told.
            let group = group.at_most(LOCAL_COUNTS);
            self.count(&group, most, [&mut counts, &mut again, &mut again_count])?;
        }
        let left = again_count.get(0)? as usize;
        if left > 0 {
            let group = Group::long(left, &again, most)?;
            let mut nothing = [queue.room(left)?, queue.zeros(1)?];
            let [none, zero] = &mut nothing;
            self.count(&group, most, [&mut counts, none, zero])?;
        }
        Ok(counts)
    }

    /// How many entries each row is expected to have at most, one for every `share` of its products, as many as there are of `few` or fewer, and half of
    /// what would be more than `many`; and rows grouped by that, those of a group with most products first if `by_work`. With `firsts` it is told which words of 32 columns
    /// rows of the product begin with.
    pub(super) fn guesses(
        &self,
        [share, few, many]: [usize; 3],
        by_work: bool,
        firsts: Option<&mut Buffer<u32>>,
    ) -> Result<(Buffer<u32>, Groups)> {
        let rows = self.a.size().rows;
        let mut guesses = self.queue.room::<u32>(rows)?;
        let numbers = [self.cols(), share, few, many, usize::from(by_work)];
        let numbers = numbers.map(|number| Argument::U32(number as u32));
        let mut arguments = vec![number(rows)];
        arguments.extend(numbers);
        arguments.extend(self.patterns()?);
        let mut counts = ClassCounts::new(&self.queue)?;
        counts.have_levels = by_work;
        arguments.push(write(&mut guesses)?);
        arguments.push(firsts.map_or(Ok(NOTHING), write)?);
        arguments.push(counts.argument()?);
        let blocks = rows.div_ceil(TEAM_BLOCK as usize / WORK_THREADS);
        // Blocks add up what they count: fewer of them do that more quickly.
        let blocks = blocks.min(self.queue.most_blocks());
        self.queue
            .blocks(FILE, "product_work", &WORK, blocks, &arguments)?;
        let groups = Groups::listed(&self.queue, &guesses, counts)?;
        Ok((guesses, groups))
    }

    fn count(&self, group: &Group, most: usize, out: [&mut Buffer<u32>; 3]) -> Result<()> {
        let mut table = self.table(group, most)?;
        let mut arguments = self.arguments(group, true)?;
        arguments.extend(table.arguments()?);
        for buffer in out {
            arguments.push(write(buffer)?);
        }
        self.launch("product_count", group, &[], table.blocks, &arguments)
    }
}
