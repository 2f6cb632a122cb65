//! How many entries the rows of a product have.

use super::{Product, kernels};
use crate::launch::groups::{Group, Groups, TEAM_BLOCK};
use crate::launch::prelude::*;

/// Products of a row are counted by so many threads.
const WORK_THREADS: usize = 8;
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
        let (guesses, groups) = self.guesses([PRODUCTS, FEW, usize::MAX])?;
        let most = (PRODUCTS * groups.largest()).min(self.cols());
        let mut counts = queue.uninit::<u32>(rows)?;
        // The guesses are known to their groups, so that their memory is free.
        let (mut again, mut again_count) = (guesses, queue.zeros::<u32>(1)?);
        for group in groups.each(LOCAL_COUNTS, COUNTING)? {
            // Most rows have fewer entries than expected; those with more are listed.
            let group = group.at_most(LOCAL_COUNTS);
            self.count(&group, most, [&mut counts, &mut again, &mut again_count])?;
        }
        let left = again_count.get(0)? as usize;
        if left > 0 {
            let group = Group::long(left, &again, most)?;
            let mut nothing = [queue.uninit(left)?, queue.zeros(1)?];
            let [none, zero] = &mut nothing;
            self.count(&group, most, [&mut counts, none, zero])?;
        }
        Ok(counts)
    }

    /// How many entries each row is expected to have at most, one for every `share` of its products, as many as there are of `few` or fewer, and half of
    /// what would be more than `many`; and rows grouped by that.
    pub(super) fn guesses(&self, [share, few, many]: [usize; 3]) -> Result<(Buffer<u32>, Groups)> {
        let rows = self.a.size().rows;
        let mut guesses = self.queue.uninit::<u32>(rows)?;
        let mut counts = Groups::no_counts(&self.queue)?;
        let blocks = rows.div_ceil(TEAM_BLOCK as usize / WORK_THREADS);
        // Blocks add up what they count: fewer of them do that more quickly.
        let blocks = blocks.min(self.queue.most_blocks());
        kernels::product_work(
            rows,
            self.cols(),
            share,
            few,
            many,
            self.patterns()?,
            &mut guesses,
            &mut counts,
        )?
        .with(&[("THREADS", literal(WORK_THREADS))])
        .run(self.queue.gpu, blocks)?;
        let groups = Groups::listed(&self.queue, &guesses, counts)?;
        Ok((guesses, groups))
    }

    fn count(
        &self,
        group: &Group,
        most: usize,
        [counts, again, again_count]: [&mut Buffer<u32>; 3],
    ) -> Result<()> {
        let mut table = self.table(group, most)?;
        let launch = kernels::product_count(
            group.count,
            group.rows,
            self.width().min(32),
            self.patterns()?,
            self.maps,
            (table.slots, &mut table.keys),
            counts,
            again,
            again_count,
        )?;
        self.launch(launch, group, table.blocks)
    }
}
