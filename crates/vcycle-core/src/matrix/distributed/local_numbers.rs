//! Local numbers of rows, and columns that have them.

use std::ops::Range;

use crate::operations::parts::{self, Renumbering};
use crate::prelude::*;
use crate::scalar::Element;

/// Marks a row that is not numbered.
pub(super) const NOT_HERE: u32 = u32::MAX;

/// Own rows and some of other ranks, numbered in the order of their global numbers.
///
/// As local numbers keep that order, sums over the entries of a row are formed as they are without ranks.
#[derive(Clone, Debug)]
pub struct LocalNumbers {
    own: Range<u64>,
    /// Those of other ranks, by increasing number.
    others: Vec<u64>,
    /// How many of them come before the own ones.
    before: usize,
}

impl LocalNumbers {
    /// Own rows, and others in any order; own ones among them are left out.
    pub fn new(own: Range<u64>, mut others: Vec<u64>) -> Self {
        others.retain(|row| !own.contains(row));
        let others = distinct(others);
        Self {
            before: others.partition_point(|&row| row < own.start),
            own,
            others,
        }
    }

    /// How many rows are numbered.
    pub fn len(&self) -> usize {
        self.own_count() + self.others.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of this rank.
    pub fn own_count(&self) -> usize {
        (self.own.end - self.own.start) as usize
    }

    /// The local numbers of the own rows.
    pub fn own(&self) -> Range<usize> {
        self.before..self.before + self.own_count()
    }

    /// The global numbers of the own rows.
    pub fn own_rows(&self) -> Range<u64> {
        self.own.clone()
    }

    /// The rows of other ranks, by increasing number.
    pub fn others(&self) -> &[u64] {
        &self.others
    }

    /// How many of the others come before the own rows.
    pub fn before(&self) -> usize {
        self.before
    }

    /// The global number of a row.
    #[inline]
    pub fn global(&self, local: usize) -> u64 {
        match self.own_or_other(local) {
            Ok(own) => self.own.start + own as u64,
            Err(other) => self.others[other],
        }
    }

    /// Which of the own rows has a local number, or which of the [others](Self::others).
    #[inline]
    pub(super) fn own_or_other(&self, local: usize) -> Result<usize, usize> {
        match local.checked_sub(self.before) {
            None => Err(local),
            Some(own) if own < self.own_count() => Ok(own),
            Some(_) => Err(local - self.own_count()),
        }
    }

    /// The local number of a row, if it is numbered here.
    #[inline]
    pub fn local(&self, global: u64) -> Option<u32> {
        if self.own.contains(&global) {
            return Some((self.before as u64 + global - self.own.start) as u32);
        }
        let place = self.others.binary_search(&global).ok()?;
        Some(self.of_other(place) as u32)
    }

    /// The local number of one of the [others](Self::others).
    #[inline]
    pub fn of_other(&self, place: usize) -> usize {
        match place < self.before {
            true => place,
            false => place + self.own_count(),
        }
    }

    /// The rows of these nodes, `block` rows each.
    #[must_use]
    pub fn multiplied(&self, block: usize) -> Self {
        let size = block as u64;
        let rows = |node: &u64| node * size..(node + 1) * size;
        Self {
            own: self.own.start * size..self.own.end * size,
            others: self.others.iter().flat_map(rows).collect(),
            before: self.before * block,
        }
    }

    /// How columns with the numbers of another one with the same own rows get these; rows that are not numbered here get
    /// [`NOT_HERE`].
    pub(super) fn renumbering(&self, other: &LocalNumbers) -> Renumbering {
        debug_assert_eq!(self.own, other.own);
        let mut finder = self.finder();
        let others = other.others.iter();
        Renumbering {
            own: other.own(),
            to: self.before,
            others: others.map(|&row| finder.find(0, row)).collect(),
        }
    }

    /// Looks for many rows.
    pub(super) fn finder(&self) -> Finder<'_> {
        Finder {
            numbers: self,
            last: Vec::new(),
            next: 0,
        }
    }
}

/// Numbers that lie less than so many times their count apart are marked, others sorted.
const DENSE: u64 = 16;

/// Each of the rows once, by increasing number.
pub(super) fn distinct(mut rows: Vec<u64>) -> Vec<u64> {
    let ends = rows.iter().min().zip(rows.iter().max());
    let Some((&least, &most)) = ends else {
        return rows;
    };
    if most - least >= DENSE * rows.len() as u64 {
        rows.sort_unstable();
        rows.dedup();
        return rows;
    }
    let mut is_there = vec![false; (most - least) as usize + 1];
    rows.iter()
        .for_each(|row| is_there[(row - least) as usize] = true);
    rows.clear();
    let marks = (least..).zip(is_there);
    rows.extend(marks.filter_map(|(row, is_there)| is_there.then_some(row)));
    rows
}

/// Finds the local numbers of rows, quickly where they are found as those before: the columns of a row follow each other, and those
/// of the next row are the same or the next ones.
pub(super) struct Finder<'n> {
    numbers: &'n LocalNumbers,
    /// By the place in a row: where among the others the last one was.
    last: Vec<usize>,
    /// Behind the one that was found last.
    next: usize,
}

impl Finder<'_> {
    /// The local number of a row, or [`NOT_HERE`].
    #[inline]
    pub fn find(&mut self, place: usize, global: u64) -> u32 {
        let numbers = self.numbers;
        if numbers.own.contains(&global) {
            return (numbers.before as u64 + global - numbers.own.start) as u32;
        }
        if place >= self.last.len() {
            self.last.resize(place + 1, 0);
        }
        let last = self.last[place];
        let likely = [self.next, last, last + 1];
        let is_there = |other: &usize| numbers.others.get(*other) == Some(&global);
        let found = match likely.into_iter().find(is_there) {
            Some(other) => Ok(other),
            None => numbers.others.binary_search(&global),
        };
        match found {
            Ok(other) => {
                self.last[place] = other;
                self.next = other + 1;
                numbers.of_other(other) as u32
            }
            Err(_) => NOT_HERE,
        }
    }
}

/// Columns that one task looks at.
const PART: usize = 64 * 1024;

/// The `number` of every column.
pub(super) fn mapped(
    executor: &Executor,
    columns: &[u32],
    number: impl Fn(u32) -> u32 + Sync + Send,
) -> Vec<u32> {
    let mut made = vec![0; columns.len()];
    map_into(executor, columns, &mut made, number);
    made
}

/// Writes what becomes of each of some values.
pub(super) fn map_into<T: Element>(
    executor: &Executor,
    values: &[T],
    made: &mut [T],
    map: impl Fn(T) -> T + Sync + Send,
) {
    let parts = made.chunks_mut(PART).zip(values.chunks(PART)).collect();
    let work = |(made, values): (&mut [T], &[T])| {
        let pairs = made.iter_mut().zip(values);
        pairs.for_each(|(made, value)| *made = map(*value));
    };
    executor.run(2 * size_of_val(values), parts, work);
}

/// A pattern of `cols` columns with other numbers.
pub(super) fn renumbered(pattern: &Pattern, by: &Renumbering, cols: usize) -> Result<Arc<Pattern>> {
    if let Some(made) = parts::renumbered(pattern, by, cols)? {
        return Ok(made);
    }
    let executor = pattern.executor();
    let columns = mapped(executor, pattern.columns(), |column| by.number(column));
    let size = Size::new(pattern.size().rows, cols);
    let columns = Buffer::from_vec(executor, columns);
    let pattern = Pattern::of_buffers(size, pattern.buffers().0.clone(), columns);
    Ok(Arc::new(pattern))
}

/// The columns with entries that are not own ones, by increasing number.
pub(super) fn others_among(pattern: &Pattern, numbers: &LocalNumbers) -> Result<Vec<u32>> {
    let (own, others) = (numbers.own(), numbers.others().len());
    if let Some(marks) = parts::others_marked(pattern, &own, others)? {
        let marks = marks.host()?.iter().enumerate();
        let marked = marks.filter(|(_, mark)| **mark != 0);
        return Ok(marked
            .map(|(place, _)| numbers.of_other(place) as u32)
            .collect());
    }
    let (first, count) = (own.start as u32, own.len() as u32);
    let look = |columns: &[u32]| -> Vec<u32> {
        let others = columns.iter().copied();
        let others = others.filter(|column| column.wrapping_sub(first) >= count);
        others.collect()
    };
    let columns = pattern.columns();
    let pieces = columns.chunks(PART).collect();
    let found = pattern.executor().run(size_of_val(columns), pieces, look);
    let mut others = found.concat();
    others.sort_unstable();
    others.dedup();
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_numbered_once_and_in_order() {
        let near = vec![7, 3, 3, 5, 7, 100, 4];
        let far = [near.clone(), vec![1 << 40]].concat();
        assert_eq!(distinct(near), [3, 4, 5, 7, 100]);
        assert_eq!(distinct(far.clone()), [3, 4, 5, 7, 100, 1 << 40]);
        assert!(distinct(Vec::new()).is_empty());
        let numbers = LocalNumbers::new(4..8, far);
        assert_eq!(numbers.others(), [3, 100, 1 << 40]);
        assert_eq!((numbers.own(), numbers.local(100)), (1..5, Some(5)));
    }
}
