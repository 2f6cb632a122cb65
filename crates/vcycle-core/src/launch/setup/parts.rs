//! Rows that a rank has of a matrix: own columns lie between those of other ranks.

use std::ops::Range;
use std::sync::Arc;

use vcycle_gpu::Argument;

use super::tiles::{NOTHING, graph, word};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::gpu::{Define, File, kernel_file};
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = kernel_file!("parts.c");

/// Other numbers for columns: own ones begin elsewhere, the others are looked up.
#[derive(Clone, Debug)]
pub struct Renumbering {
    /// The own columns as they are.
    pub own: Range<usize>,
    /// Where they begin then.
    pub to: usize,
    /// The numbers of the others.
    pub others: Vec<u32>,
}

/// Where entries in own columns stand, and those in other columns.
#[derive(Debug)]
pub struct SplitPattern {
    pub own: Pattern,
    /// Rows with entries in other columns, where these begin, and which of the others they are.
    pub rows: Buffer<u32>,
    pub offsets: Buffer<usize>,
    pub columns: Buffer<u32>,
}

/// The words that values are copied by, and how many make one.
fn words_of<T: Element>() -> (Define, usize) {
    let size = size_of::<T>();
    let name = match size {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        _ => "u64",
    };
    (("WORD", name), size.div_ceil(size_of::<u64>()))
}

fn of_own(own: &Range<usize>) -> [Argument; 2] {
    [word(own.start), word(own.len())]
}

impl Queue<'_> {
    /// For each of the other columns whether it has entries.
    pub fn others_marked(
        &self,
        pattern: &Pattern,
        own: &Range<usize>,
        others: usize,
    ) -> Result<Buffer<u32>> {
        let (entries, mut marks) = (pattern.nonzeros(), self.zeros(others)?);
        let columns = [number(entries), read(pattern.buffers().1)?];
        let arguments = [&columns[..], &of_own(own), &[write(&mut marks)?]].concat();
        self.items(FILE, "part_marks", &[], entries, &arguments)?;
        Ok(marks)
    }

    /// A pattern of `cols` columns with other numbers.
    pub fn renumbered(
        &self,
        pattern: &Pattern,
        by: &Renumbering,
        cols: usize,
    ) -> Result<Arc<Pattern>> {
        let (offsets, columns) = pattern.buffers();
        let (entries, mut out) = (columns.len(), self.room(columns.len())?);
        let others = Buffer::from_vec(self.executor, by.others.clone());
        let arguments = [
            &[number(entries), read(columns)?][..],
            &of_own(&by.own),
            &[word(by.to), read(&others)?, write(&mut out)?],
        ]
        .concat();
        self.items(FILE, "part_renumber", &[], entries, &arguments)?;
        let size = Size::new(pattern.size().rows, cols);
        Ok(Arc::new(Pattern::of_buffers(size, offsets.clone(), out)))
    }

    /// Some consecutive rows.
    pub fn row_range<T: Scalar>(&self, a: &Csr<T>, rows: Range<usize>) -> Result<Csr<T>> {
        self.stacked(&[(a, rows)])
    }

    /// Consecutive rows of several matrices of equally many columns, one after the other.
    pub fn stacked<T: Scalar>(&self, parts: &[(&Csr<T>, Range<usize>)]) -> Result<Csr<T>> {
        let entries = |&(a, ref rows): &(&Csr<T>, Range<usize>)| {
            let (offsets, last) = (a.pattern().buffers().0, a.size().rows);
            let end = |row: usize| match row {
                0 => Ok(0),
                row if row == last => Ok(a.nonzeros()),
                row => offsets.get(row),
            };
            Ok(end(rows.start)?..end(rows.end)?)
        };
        let entries: Vec<Range<usize>> = parts.iter().map(entries).collect::<Result<_>>()?;
        let rows = parts.iter().map(|part| part.1.len()).sum();
        let all = entries.iter().map(Range::len).sum();
        let mut offsets = self.room::<usize>(rows + 1)?;
        let (mut columns, mut values) = (self.room::<u32>(all)?, self.room::<T>(all)?);
        let (mut at, mut entry) = (0, 0);
        for ((a, rows), entries) in parts.iter().zip(entries) {
            let (from_offsets, from_columns) = a.pattern().buffers();
            let from = [
                read(from_offsets)?,
                number(rows.start),
                number(entries.start),
            ];
            let to = [write(&mut offsets)?, number(at), number(entry)];
            let arguments = [&[number(rows.len())][..], &from, &to].concat();
            self.items(FILE, "part_offsets", &[], rows.len() + 1, &arguments)?;
            self.copied(from_columns, entries.clone(), &mut columns, entry)?;
            self.copied(a.values_buffer(), entries.clone(), &mut values, entry)?;
            (at, entry) = (at + rows.len(), entry + entries.len());
        }
        let size = Size::new(rows, parts.first().map_or(0, |part| part.0.size().cols));
        let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
        Ok(Csr::of_buffers(&pattern, values))
    }

    /// The values at some places behind the first ones, one after the other.
    pub fn packed<T: Element>(
        &self,
        from: &Buffer<T>,
        first: usize,
        places: &Buffer<u32>,
    ) -> Result<Buffer<T>> {
        let mut packed = self.room(places.len())?;
        let known = [number(places.len()), read(places)?, read(from)?];
        let arguments = [&known[..], &[number(first), write(&mut packed)?]].concat();
        let (define, _) = words_of::<T>();
        self.items(FILE, "part_pack", &[define], places.len(), &arguments)?;
        Ok(packed)
    }

    /// Copies a run of values to a place.
    pub fn copied<T: Element>(
        &self,
        from: &Buffer<T>,
        run: Range<usize>,
        to: &mut Buffer<T>,
        at: usize,
    ) -> Result<()> {
        let (define, each) = words_of::<T>();
        let words = run.len() * each;
        let arguments = [
            number(words),
            read(from)?,
            number(run.start * each),
            write(to)?,
            number(at * each),
        ];
        self.items(FILE, "part_copy", &[define], words, &arguments)
    }

    /// Rows that are those of three matrices of a size beside each other.
    pub fn beside<T: Scalar>(&self, [a, b, c]: [&Csr<T>; 3]) -> Result<Csr<T>> {
        let rows = a.size().rows;
        let [begin, middle, end] = [a, b, c].map(|of| read(of.pattern().buffers().0));
        let (begin, middle, end) = (begin?, middle?, end?);
        let mut offsets = self.room::<usize>(rows + 1)?;
        let arguments = [number(rows), begin, middle, end, write(&mut offsets)?];
        self.items(FILE, "part_beside", &[], rows + 1, &arguments)?;
        let entries = a.nonzeros() + b.nonzeros() + c.nonzeros();
        let (mut columns, mut values) = (self.room::<u32>(entries)?, self.room::<T>(entries)?);
        let (define, each) = words_of::<T>();
        let places = [[NOTHING, NOTHING], [begin, NOTHING], [begin, middle]];
        for (of, before) in [a, b, c].into_iter().zip(places) {
            let from = [&graph(of.pattern())?[..], &[read(of.values_buffer())?]].concat();
            let to = [read(&offsets)?, write(&mut columns)?, write(&mut values)?];
            let arguments = [&[number(rows)][..], &from, &[word(each)], &before, &to].concat();
            self.items(FILE, "part_place", &[define], rows, &arguments)?;
        }
        let pattern = Arc::new(Pattern::of_buffers(a.size(), offsets, columns));
        Ok(Csr::of_buffers(&pattern, values))
    }

    /// Rows in any order.
    pub fn taken<T: Scalar>(&self, a: &Csr<T>, rows: Vec<u32>) -> Result<Csr<T>> {
        let (count, list) = (rows.len(), Buffer::from_vec(self.executor, rows));
        let mut lengths = self.room::<u32>(count)?;
        let from = graph(a.pattern())?;
        let arguments = [number(count), from[0], read(&list)?, write(&mut lengths)?];
        self.items(FILE, "part_lengths", &[], count, &arguments)?;
        let (offsets, entries) = self.offsets(&lengths)?;
        let (mut columns, mut values) = (self.room::<u32>(entries)?, self.room::<T>(entries)?);
        let (define, each) = words_of::<T>();
        let given = [read(a.values_buffer())?, word(each), read(&list)?];
        let to = [read(&offsets)?, write(&mut columns)?, write(&mut values)?];
        let arguments = [&[number(count)][..], &from, &given, &to].concat();
        self.items(FILE, "part_take", &[define], count, &arguments)?;
        let size = Size::new(count, a.size().cols);
        let pattern = Arc::new(Pattern::of_buffers(size, offsets, columns));
        Ok(Csr::of_buffers(&pattern, values))
    }

    /// The entries of a pattern in own columns, and those in others.
    pub fn split(&self, a: &Pattern, own: &Range<usize>) -> Result<SplitPattern> {
        let rows = a.size().rows;
        let given = [&[number(rows)][..], &graph(a)?, &of_own(own)].concat();
        let (mut counts, mut flags) = (self.room(rows)?, self.room(rows)?);
        let results = [write(&mut counts)?, write(&mut flags)?];
        self.items(
            FILE,
            "part_counts",
            &[],
            rows,
            &[&given[..], &results].concat(),
        )?;
        let (own_offsets, entries) = self.offsets(&counts)?;
        let (listed, count) = self.offsets(&flags)?;
        let (mut own_columns, mut list) = (self.room(entries)?, self.room(count)?);
        let mut columns = self.room(a.nonzeros() - entries)?;
        let mut offsets = self.zeros(count + 1)?;
        let results = [
            read(&own_offsets)?,
            read(&listed)?,
            write(&mut own_columns)?,
            write(&mut list)?,
            write(&mut offsets)?,
            write(&mut columns)?,
        ];
        self.items(
            FILE,
            "part_columns",
            &[],
            rows,
            &[&given[..], &results].concat(),
        )?;
        let size = Size::new(rows, own.len());
        Ok(SplitPattern {
            own: Pattern::of_buffers(size, own_offsets, own_columns),
            rows: list,
            offsets,
            columns,
        })
    }

    /// The values of a matrix in own columns, whose pattern is known, and those in others.
    pub fn split_values<T: Scalar>(
        &self,
        a: &Csr<T>,
        own: &Range<usize>,
        split: &Pattern,
    ) -> Result<[Buffer<T>; 2]> {
        let (rows, entries) = (a.size().rows, split.nonzeros());
        let (mut inside, mut outside) = (self.room(entries)?, self.room(a.nonzeros() - entries)?);
        let (define, each) = words_of::<T>();
        let arguments = [
            &[number(rows)][..],
            &graph(a.pattern())?,
            &of_own(own),
            &[
                read(split.buffers().0)?,
                read(a.values_buffer())?,
                word(each),
            ],
            &[write(&mut inside)?, write(&mut outside)?],
        ]
        .concat();
        self.items(FILE, "part_values", &[define], rows, &arguments)?;
        Ok([inside, outside])
    }
}
