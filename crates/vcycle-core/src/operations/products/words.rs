//! Products of sparse matrices whose rows have several columns in a word of 32: words are joined, and no column is looked up.

use crate::gpu::{Launch, flag, kernels::word_products as kernels};
use crate::launch::groups::{Group, Groups, TEAM_BLOCK};
use crate::launch::prelude::*;
use crate::operations::products::factors::{Factors, sums_in};

/// Entries of a row of `B` and products for a row, in the mean, and products in all, from which it is worth looking closer. Without these limits an H200 took
/// 8 to 10 % longer for `R (A P)` of `beam:o3,l3` and `poisson27:128`, which stayed with tables.
const LEAST_ROW: f64 = 20.0;
const LEAST_PRODUCTS: f64 = 1024.0;
const LEAST_WORK: f64 = 1e8;
/// Entries of `B` for each of its words.
const LEAST_ENTRIES: f64 = 2.0;
/// Products for every word that a row spans: these are cleared and counted for each row.
const PRODUCTS_PER_WORD: f64 = 4.0;
/// Words that a row may span: a bit for each of 131,072 columns.
const MOST_WORDS: usize = 4096;
/// Words of the smallest teams' rows, so that each thread has one.
const FEWEST_WORDS: usize = 128;
/// Spans whose team is a whole block where entries are counted.
const BLOCK_SPANS: usize = 1024;
/// Bytes of local memory that bits, their ranks and sums of a block of threads take, beside what its threads have.
const LOCAL_BYTES: usize = 44 << 10;

/// A product `A B` on a device.
pub(super) struct ByWords<'p> {
    queue: Queue<'p>,
    a: &'p Pattern,
    b: &'p Pattern,
    /// The first word of every row of the product.
    firsts: Buffer<u32>,
    /// The most words that one of these rows spans, a power of two.
    span: usize,
    /// The words of `B`, unless the pattern of the product is known.
    words: Option<Words>,
}

/// Where the words of each row begin; number and bits of every word.
struct Words {
    offsets: Buffer<usize>,
    list: Buffer<u64>,
}

/// The mean number of entries in a row.
fn mean(of: &Pattern) -> f64 {
    of.nonzeros() as f64 / of.size().rows.max(1) as f64
}

/// Whether rows are so long, and so many, that it is worth looking closer.
pub(super) fn are_long(a: &Pattern, b: &Pattern) -> bool {
    let products = mean(a) * mean(b);
    let work = products * a.size().rows as f64;
    mean(b) >= LEAST_ROW && products >= LEAST_PRODUCTS && work >= LEAST_WORK
}

impl<'p> ByWords<'p> {
    /// None where rows have few columns in a word, few products or span too many words; with `is_asked` only for the last reason.
    pub(super) fn new(
        queue: Queue<'p>,
        a: &'p Pattern,
        b: &'p Pattern,
        is_asked: bool,
    ) -> Result<Option<Self>> {
        let products = mean(a) * mean(b);
        if !is_asked && !are_long(a, b) {
            return Ok(None);
        }
        let rows = b.size().rows;
        let (mut counts, mut bounds) = (queue.uninit::<u32>(rows)?, queue.uninit::<u64>(rows)?);
        kernels::count_words(rows, b, &mut counts, &mut bounds)?.items(&queue, rows)?;
        // The number of words and the largest span, which the host reads together.
        let mut found = queue.zeros::<u64>(2)?;
        let to = found.pointer_mut()?;
        let offsets = queue.scan(&counts, to)?;
        let (of_a, most) = (a.size().rows, to.at(1).cast());
        let mut firsts = queue.uninit::<u32>(of_a)?;
        kernels::product_spans(of_a, a, &bounds, &mut firsts, most)?.items(&queue, of_a)?;
        let &[words, most] = found.host()? else {
            unreachable!("two numbers");
        };
        let are_few = (b.nonzeros() as f64) < LEAST_ENTRIES * words as f64;
        let Some(span) = span_for(most, (!is_asked).then_some(products)) else {
            return Ok(None);
        };
        if are_few && !is_asked {
            return Ok(None);
        }
        let mut list = queue.uninit::<u64>(words as usize)?;
        kernels::list_words(rows, b, &offsets, &mut list)?.items(&queue, rows)?;
        Ok(Some(Self {
            queue,
            a,
            b,
            firsts,
            span,
            words: Some(Words { offsets, list }),
        }))
    }

    /// The same where the pattern of the product is known.
    pub(super) fn known(
        queue: Queue<'p>,
        (a, b): (&'p Pattern, &'p Pattern),
        c: &Pattern,
        is_asked: bool,
    ) -> Result<Option<Self>> {
        let products = mean(a) * mean(b);
        if !is_asked && !are_long(a, b) {
            return Ok(None);
        }
        let mut found = queue.zeros::<u64>(1)?;
        let rows = c.size().rows;
        let mut firsts = queue.uninit::<u32>(rows)?;
        let most = found.pointer_mut()?.cast();
        kernels::known_spans(rows, c, &mut firsts, most)?.items(&queue, rows)?;
        let span = span_for(found.get(0)?, (!is_asked).then_some(products));
        Ok(span.map(|span| Self {
            queue,
            a,
            b,
            firsts,
            span,
            words: None,
        }))
    }

    /// Where the entries stand.
    pub(super) fn symbolic(&self) -> Result<Pattern> {
        let counts = self.counts()?;
        self.queue
            .new_pattern(self.size(), &counts, |(offsets, columns)| {
                self.each_row(|count, rows, words| {
                    kernels::word_columns(count, rows, words, offsets, columns)
                })
            })
    }

    /// The product, with sorted rows.
    pub(super) fn whole<T: Scalar>(&self, factors: Factors<'_, T>) -> Result<Csr<T>> {
        let counts = self.counts()?;
        let mut out = self.queue.new_rows(&counts)?;
        let groups = Groups::new(&self.queue, &counts)?;
        let to = out.columns.pointer_mut()?.pass()?;
        self.values(factors, &groups, &out.offsets, to, &mut out.values)?;
        Ok(out.matrix(self.size()))
    }

    /// The values of rows that begin at some places, and their columns, which are written there unless they are known.
    pub(super) fn values<T: Scalar>(
        &self,
        factors: Factors<'_, T>,
        groups: &Groups,
        offsets: &Buffer<usize>,
        columns: Read<u32>,
        values: &mut Buffer<T>,
    ) -> Result<()> {
        self.queue.gpu.real(T::KIND)?;
        let (a_values, b_values, _) = factors.values()?;
        let width = (mean(self.b) as usize).next_power_of_two();
        for group in groups.each(most_sums(self.span), (1, 32))? {
            let group = teams(group, self.span, width);
            let launch = kernels::word_values(
                group.count,
                group.rows,
                self.words_of_b()?,
                self.b,
                a_values,
                b_values,
                offsets,
                columns,
                columns.writable(),
                &mut *values,
            )?;
            let known = ("KNOWN", flag(self.words.is_none()));
            self.launch(launch.with(&[sums_in::<T>(), known]), &group)?;
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size::new(self.a.size().rows, self.b.size().cols)
    }

    /// How many entries each row has.
    fn counts(&self) -> Result<Buffer<u32>> {
        let mut counts = self.queue.uninit(self.a.size().rows)?;
        self.each_row(|count, rows, words| kernels::word_counts(count, rows, words, &mut counts))?;
        Ok(counts)
    }

    /// A kernel without values, for all rows in their order.
    fn each_row(
        &self,
        kernel: impl FnOnce(usize, Read<u32>, WordsOfB) -> Result<Launch>,
    ) -> Result<()> {
        let group = Group {
            count: self.a.size().rows,
            rows: Read::default(),
            size: 0,
            threads: match self.span < BLOCK_SPANS {
                true => 32,
                false => TEAM_BLOCK as usize,
            },
            is_local: true,
        };
        self.launch(kernel(group.count, group.rows, self.words_of_b()?)?, &group)
    }

    fn launch(&self, launch: Launch, group: &Group) -> Result<()> {
        launch
            .with(&[("SPAN", literal(self.span))])
            .with(&group.defines(group.size))
            .run(self.queue.gpu, group.blocks(&self.queue, 0))
    }

    fn words_of_b(&self) -> Result<WordsOfB> {
        let (a_offsets, a_columns) = self.a.pass()?;
        let (width, offsets, list) = match &self.words {
            Some(words) => {
                let mean = words.list.len() / self.b.size().rows.max(1);
                let width = mean.clamp(1, 32).next_power_of_two();
                (width, (&words.offsets).pass()?, words.list.pointer()?)
            }
            None => (1, Read::default(), Read::default()),
        };
        let firsts = self.firsts.pointer()?;
        Ok((width as u32, a_offsets, a_columns, offsets, list, firsts))
    }
}

/// What `WORDS_OF_B` of the kernels stands for: how many threads share a row of `B`, rows of `A`, words of `B`, first words of rows.
type WordsOfB = (u32, Read<u64>, Read<u32>, Read<u64>, Read<u64>, Read<u32>);

/// Words that local memory has room for, a power of two; none where it would be too many, or too many for so few products.
fn span_for(words: u64, products: Option<f64>) -> Option<usize> {
    let span = (words as usize).next_power_of_two().max(FEWEST_WORDS);
    let is_worth = products.is_none_or(|products| products >= PRODUCTS_PER_WORD * words as f64);
    (span <= MOST_WORDS && is_worth).then_some(span)
}

/// Bytes of a row's bits, with their ranks, and of its sums.
fn team_bytes(span: usize, sums: usize) -> usize {
    span * (size_of::<u32>() + size_of::<u16>()) + sums * size_of::<f64>()
}

/// The most sums that fit beside bits, a power of two.
fn most_sums(span: usize) -> usize {
    1 << ((LOCAL_BYTES - team_bytes(span, 0)) / size_of::<f64>()).ilog2()
}

/// The same rows with teams that have room for their bits and sums, of about `width` threads.
fn teams(group: Group, span: usize, width: usize) -> Group {
    let block = TEAM_BLOCK as usize;
    let at_once = (LOCAL_BYTES / team_bytes(span, group.size)).max(1);
    let fewest = block / (1 << at_once.ilog2().min(block.ilog2()));
    let threads = fewest.max(width.clamp(8, 32));
    let threads = match group.is_local && threads <= 32 {
        true => threads,
        false => block,
    };
    Group { threads, ..group }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_sums_fit_local_memory() {
        for span in [128, 512, 2048, 4096] {
            let most = most_sums(span);
            assert!(team_bytes(span, most) <= LOCAL_BYTES);
            let mut size = 8;
            while size <= most {
                let group = Group {
                    count: 1,
                    rows: crate::gpu::Read::default(),
                    size,
                    threads: 1,
                    is_local: true,
                };
                let threads = teams(group, span, 16).threads;
                let together = TEAM_BLOCK as usize / threads;
                assert!(
                    together * team_bytes(span, size) <= LOCAL_BYTES,
                    "{span} {size}"
                );
                size *= 2;
            }
        }
        assert_eq!(most_sums(2048), 4096);
    }

    #[test]
    fn spans_are_worth_their_products() {
        assert_eq!(span_for(1812, Some(17_000.0)), Some(2048));
        assert_eq!(span_for(1812, Some(729.0)), None);
        assert_eq!(span_for(3, None), Some(128));
        assert_eq!(span_for(5000, None), None);
    }
}
