//! Products of sparse matrices whose rows have several columns in a word of 32: words are joined, and no column is looked up.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::groups::{Group, Groups, TEAM_BLOCK, literal};
use super::products::Factors;
use super::tiles::NOTHING;
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{Define, File, Write, kernels};
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = kernels::word_products::FILE;
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
        let (mut counts, mut bounds) = (queue.room::<u32>(rows)?, queue.room::<u64>(rows)?);
        let [offsets, columns] = b.device()?.map(Argument::Address);
        let given = [number(rows), offsets, columns];
        let out = [write(&mut counts)?, write(&mut bounds)?];
        let arguments = [&given[..], &out].concat();
        queue.items(FILE, "count_words", &PLAIN, rows, &arguments)?;
        // The number of words and the largest span, which the host is told together.
        let mut told = queue.zeros::<u64>(2)?;
        let to = told.device_mut()?;
        let offsets = queue.scan(&counts, Write::new(to))?;
        let [a_offsets, a_columns] = a.device()?.map(Argument::Address);
        let left = [number(a.size().rows), a_offsets, a_columns, read(&bounds)?];
        let most = Argument::Address(to + size_of::<u64>() as u64);
        let firsts = spans(&queue, "product_spans", &left, a.size().rows, most)?;
        let &[words, most] = told.host()? else {
            unreachable!("two numbers");
        };
        let are_few = (b.nonzeros() as f64) < LEAST_ENTRIES * words as f64;
        let Some(span) = span_for(most, (!is_asked).then_some(products)) else {
            return Ok(None);
        };
        if are_few && !is_asked {
            return Ok(None);
        }
        let mut list = queue.room::<u64>(words as usize)?;
        let out = [read(&offsets)?, write(&mut list)?];
        queue.items(
            FILE,
            "list_words",
            &PLAIN,
            rows,
            &[&given[..], &out].concat(),
        )?;
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
        let mut told = queue.zeros::<u64>(1)?;
        let [offsets, columns] = c.device()?.map(Argument::Address);
        let rows = [number(c.size().rows), offsets, columns];
        let most = write(&mut told)?;
        let firsts = spans(&queue, "known_spans", &rows, c.size().rows, most)?;
        let span = span_for(told.get(0)?, (!is_asked).then_some(products));
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
        let (offsets, entries) = self.queue.offsets(&self.counts()?)?;
        let mut columns = self.queue.room(entries)?;
        self.each_row("word_columns", &[read(&offsets)?, write(&mut columns)?])?;
        Ok(Pattern::of_buffers(self.size(), offsets, columns))
    }

    /// The product, with sorted rows.
    pub(super) fn whole<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        factors: Factors<'_, A, B>,
    ) -> Result<Csr<C>> {
        let counts = self.counts()?;
        let (offsets, entries) = self.queue.offsets(&counts)?;
        let (mut columns, mut values) = (self.queue.room(entries)?, self.queue.room(entries)?);
        let out = [read(&offsets)?, write(&mut columns)?, write(&mut values)?];
        let groups = Groups::new(&self.queue, &counts)?;
        self.values::<A, B, C>(factors, &groups, out)?;
        let pattern = Pattern::of_buffers(self.size(), offsets, columns);
        Ok(Csr::of_buffers(&Arc::new(pattern), values))
    }

    /// The values of rows whose lengths are known, and their columns unless these are.
    pub(super) fn values<A: Scalar, B: Scalar, C: Scalar>(
        &self,
        factors: Factors<'_, A, B>,
        groups: &Groups,
        out: [Argument; 3],
    ) -> Result<()> {
        let real = |kind| self.queue.gpu.real(kind);
        let types = [
            ("TA", real(A::KIND)?),
            ("TB", real(B::KIND)?),
            ("TC", real(C::KIND)?),
            ("ACC", real(C::Arith::KIND)?),
            ("KNOWN", if self.words.is_none() { "1" } else { "0" }),
        ];
        let right = self.b.device()?.map(Argument::Address);
        let width = (mean(self.b) as usize).next_power_of_two();
        for group in groups.each(most_sums(self.span), (1, 32))? {
            let group = teams(group, self.span, width);
            let arguments = [
                &[number(group.count), group.rows],
                &self.words_of_b()?[..],
                &right,
                &factors.arguments()?[..],
                &out,
            ]
            .concat();
            let defines = [&group.defines(group.size)[..], &types].concat();
            self.launch("word_values", &group, &defines, &arguments)?;
        }
        Ok(())
    }

    fn size(&self) -> Size {
        Size::new(self.a.size().rows, self.b.size().cols)
    }

    /// How many entries each row has.
    fn counts(&self) -> Result<Buffer<u32>> {
        let mut counts = self.queue.room(self.a.size().rows)?;
        self.each_row("word_counts", &[write(&mut counts)?])?;
        Ok(counts)
    }

    /// A kernel without values, for all rows in their order.
    fn each_row(&self, name: &'static str, out: &[Argument]) -> Result<()> {
        let group = Group {
            count: self.a.size().rows,
            rows: NOTHING,
            size: 0,
            threads: match self.span < BLOCK_SPANS {
                true => 32,
                false => TEAM_BLOCK as usize,
            },
            is_local: true,
        };
        let arguments = [
            &[number(group.count), group.rows],
            &self.words_of_b()?[..],
            out,
        ]
        .concat();
        self.launch(name, &group, &group.defines(0), &arguments)
    }

    fn launch(
        &self,
        name: &'static str,
        group: &Group,
        defines: &[Define],
        arguments: &[Argument],
    ) -> Result<()> {
        let span = [("SPAN", literal(self.span))];
        let blocks = group.blocks(&self.queue, 0);
        self.queue
            .blocks(FILE, name, &[&span, defines].concat(), blocks, arguments)
    }

    /// How many threads share a row of `B`, rows of `A`, words of `B`, first words of rows.
    fn words_of_b(&self) -> Result<[Argument; 6]> {
        let [a_offsets, a_columns] = self.a.device()?.map(Argument::Address);
        let (width, offsets, list) = match &self.words {
            Some(words) => {
                let mean = words.list.len() / self.b.size().rows.max(1);
                let width = mean.clamp(1, 32).next_power_of_two();
                (width, read(&words.offsets)?, read(&words.list)?)
            }
            None => (1, NOTHING, NOTHING),
        };
        Ok([
            Argument::U32(width as u32),
            a_offsets,
            a_columns,
            offsets,
            list,
            read(&self.firsts)?,
        ])
    }
}

/// Kernels that have no teams are compiled with these.
const PLAIN: [Define; 3] = [("THREADS", "1"), ("SIZE", "0"), ("SLOTS", "0")];

/// First words of rows; the largest span goes to `most`.
fn spans(
    queue: &Queue<'_>,
    name: &'static str,
    given: &[Argument],
    rows: usize,
    most: Argument,
) -> Result<Buffer<u32>> {
    let mut firsts = queue.room::<u32>(rows)?;
    let arguments = [given, &[write(&mut firsts)?, most]].concat();
    queue.items(FILE, name, &PLAIN, rows, &arguments)?;
    Ok(firsts)
}

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
                    rows: NOTHING,
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
