//! Rows that are made in one pass by words of 32 columns: where those of a row are few.

use super::Product;
use super::once::{Made, Pass};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{kernels::word_products as kernels, literal};
use crate::launch::groups::{Group, TEAM_BLOCK};
use crate::operations::products::sums_in;
use crate::scalar::Scalar;

/// Words of 32 columns that a row may span: so many bits and ranks of four rows leave local memory for their sums and for other rows.
const MOST_WORDS: usize = 512;
/// Words of the smallest spans, so that each thread of a block has one.
const FEWEST_WORDS: usize = 128;
/// Products of the mean row for every word: words are cleared and counted for each row.
const PRODUCTS_PER_WORD: usize = 2;
/// Products of the mean row from which it is looked how many words rows span. Where that was done for all, `R (A P)` of `poisson27:128` took 1.65 ms on an H200 instead of 1.56.
const LEAST_PRODUCTS: usize = 512;
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
    pub(super) fn make_by_words<T: Scalar>(
        &self,
        pass: &Pass<'_, T>,
        group: &Group,
        span: usize,
        place: usize,
        made: &mut Made<T>,
    ) -> Result<()> {
        let threads = match group.size < BLOCK_SIZES {
            true => 32,
            false => TEAM_BLOCK as usize,
        };
        let group = Group { threads, ..*group };
        let (a_values, b_values, _) = pass.factors.values()?;
        let (again, again_count) = made.left(0)?;
        kernels::word_rows(
            group.count,
            group.rows,
            self.a,
            self.b,
            pass.firsts.as_ref(),
            a_values,
            b_values,
            place,
            group.size,
            &mut made.places,
            &mut made.counts,
            again,
            again_count,
            &mut made.columns,
            &mut made.values,
        )?
        .with(&group.defines(group.size))
        .with(&[("SPAN", literal(span)), ("KNOWN", "0"), sums_in::<T>()])
        .with(&pass.defines)
        .with(self.several(&group))
        .run(self.queue.gpu, group.blocks(&self.queue, 0))
    }
}
