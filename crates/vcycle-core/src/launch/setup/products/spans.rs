//! Rows that are made in one pass by words of 32 columns: where those of a row are few.

use vcycle_gpu::Argument;

use super::once::{Made, Pass};
use super::{Product, TEAM_BLOCK};
use crate::error::Result;
use crate::executor::Buffer;
use crate::launch::setup::groups::{Group, literal};
use crate::launch::setup::tiles::NOTHING;
use crate::launch::setup::word_products::FILE;
use crate::launch::setup::{number, read, write};
use crate::scalar::Scalar;

/// Words of 32 columns that a row may span: so many bits and ranks of four rows leave local memory for their sums and for other rows.
const MOST_WORDS: usize = 512;
/// Words of the smallest spans, so that each thread of a block has one.
const FEWEST_WORDS: usize = 128;
/// Products of the mean row for every word: words are cleared and counted for each row.
const PRODUCTS_PER_WORD: usize = 2;
/// Products of the mean row from which it is looked how many words rows span. Where that was done for all, `R (A P)` of `poisson27:128` took 1.65 ms on an H200 instead of 1.56.
const LEAST_PRODUCTS: usize = 512;
/// Room of rows from which they are made by words, so that bits of all teams of a block fit local memory.
pub(super) const LEAST_BY_WORDS: usize = 128;
/// Room of rows from which a whole block makes one.
const BLOCK_SIZES: usize = 512;

impl Product<'_> {
    /// Room for the first words of rows; none where these are not asked for, or rows of `B` are in any order.
    pub(super) fn room_for_firsts(&self) -> Result<Option<Buffer<u32>>> {
        let may_pay = self.is_small() && self.mean_products() >= LEAST_PRODUCTS;
        let is_asked = may_pay && self.has_sorted_rows && self.by_spans;
        let room = is_asked.then(|| self.queue.room(self.a.size().rows));
        room.transpose()
    }

    /// Words that rows span, a power of two; none where tables are likely to be faster. `widest`: of the widest row, where that is known; else rows begin with
    /// column 0.
    pub(super) fn span(&self, widest: Option<usize>) -> Option<usize> {
        let words = widest.unwrap_or_else(|| self.cols().div_ceil(32));
        let is_worth = self.mean_products() >= PRODUCTS_PER_WORD * words;
        let span = words.next_power_of_two().max(FEWEST_WORDS);
        (self.by_spans && is_worth && span <= MOST_WORDS).then_some(span)
    }

    /// Makes the rows of a group from a place on.
    pub(super) fn make_by_words<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        pass: &Pass<'_, A, B>,
        group: &Group,
        span: usize,
        place: usize,
        made: &mut Made<C>,
    ) -> Result<()> {
        let threads = match group.size < BLOCK_SIZES {
            true => 32,
            false => TEAM_BLOCK as usize,
        };
        let group = Group { threads, ..*group };
        let [a_offsets, a_columns, b_offsets, b_columns, _] = self.patterns()?;
        let mut arguments = vec![number(group.count), group.rows];
        arguments.extend([a_offsets, a_columns, b_offsets, b_columns]);
        arguments.push(pass.firsts.as_ref().map_or(Ok(NOTHING), read)?);
        arguments.extend(pass.factors.arguments()?);
        arguments.extend([number(place), Argument::U32(group.size as u32)]);
        arguments.extend([write(&mut made.places)?, write(&mut made.counts)?]);
        arguments.extend(made.left(0)?);
        arguments.extend([write(&mut made.columns)?, write(&mut made.values)?]);
        let spans = [("SPAN", literal(span)), ("KNOWN", "0")];
        let several = self.several(&group);
        let defines = [
            &group.defines(group.size)[..],
            &spans,
            &pass.defines,
            several,
        ]
        .concat();
        let blocks = group.blocks(&self.queue, 0);
        self.queue
            .blocks(FILE, "word_rows", &defines, blocks, &arguments)
    }
}
