//! Builds matrices row by row: threads make ranges of rows, which are joined in their order.

use std::mem::MaybeUninit;
use std::ops::Range;

use crate::cut::balance;
use crate::executor::{check_memory, cut};
use crate::prelude::*;

/// What an entry carries: a number, or nothing where only positions matter.
pub trait Value: Copy + Default + Send + Sync {}
impl<V: Copy + Default + Send + Sync> Value for V {}

/// The arrays of a CSR matrix under construction, rows sorted.
pub struct Arrays<V> {
    pub(super) offsets: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) values: Vec<V>,
}

impl<T: Scalar> Arrays<T> {
    /// The matrix with these arrays.
    pub fn into_csr(self, executor: &Executor, size: Size) -> Csr<T> {
        Csr::from_canonical(executor, size, self.offsets, self.columns, self.values)
    }
}

impl Arrays<()> {
    /// The pattern with these arrays.
    pub fn into_pattern(self, executor: &Executor, size: Size) -> Arc<Pattern> {
        let pattern = Pattern::new(executor, size, self.offsets, self.columns);
        Arc::new(pattern)
    }
}

/// What rows are expected to have at least: memory that is there from the start is not moved.
const ENTRIES_A_ROW: usize = 4;

/// Consecutive rows, to which entries are appended in increasing column.
pub struct Rows<V> {
    ends: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<V>,
}

impl<V: Value> Rows<V> {
    fn new(rows: usize) -> Self {
        Self {
            ends: Vec::with_capacity(rows),
            columns: Vec::with_capacity(ENTRIES_A_ROW * rows),
            values: Vec::with_capacity(ENTRIES_A_ROW * rows),
        }
    }

    /// Reserves memory for more entries of the current row.
    #[inline(always)]
    pub fn reserve(&mut self, executor: &Executor, entries: usize) -> Result<()> {
        let free = self.columns.capacity() - self.columns.len();
        match entries <= free.min(self.values.capacity() - self.values.len()) {
            true => Ok(()),
            false => self.grow(executor, entries),
        }
    }

    #[cold]
    fn grow(&mut self, executor: &Executor, entries: usize) -> Result<()> {
        let columns = self.columns.try_reserve(entries);
        columns
            .and_then(|()| self.values.try_reserve(entries))
            .map_err(|_| out_of_memory::<V>(executor, self.columns.len() + entries))
    }

    /// Appends entries to the current row.
    #[inline(always)]
    pub fn append(&mut self, executor: &Executor, (columns, values): (&[u32], &[V])) -> Result<()> {
        let count = columns.len().min(values.len());
        self.append_kept(executor, count, |at| (true, columns[at], values[at]))
    }

    /// Appends entries that are given as pairs.
    #[inline(always)]
    pub fn append_entries(&mut self, executor: &Executor, entries: &[(u32, V)]) -> Result<()> {
        let entry = |at: usize| (true, entries[at].0, entries[at].1);
        self.append_kept(executor, entries.len(), entry)
    }

    /// Appends the entries in some columns.
    #[inline(always)]
    pub fn append_by(
        &mut self,
        executor: &Executor,
        columns: &[u32],
        value: impl Fn(u32) -> V,
    ) -> Result<()> {
        let entry = |at: usize| (true, columns[at], value(columns[at]));
        self.append_kept(executor, columns.len(), entry)
    }

    /// Appends those of `count` entries that are to be kept: `entry(at)` says whether it is, its column and
    /// its value. Which these are is as good as random, so that there is no branch on it.
    #[inline(always)]
    pub fn append_kept(
        &mut self,
        executor: &Executor,
        count: usize,
        entry: impl Fn(usize) -> (bool, u32, V),
    ) -> Result<()> {
        let first = self.columns.len();
        self.reserve(executor, count + 1)?;
        let columns = &mut self.columns.spare_capacity_mut()[..count + 1];
        let values = &mut self.values.spare_capacity_mut()[..count + 1];
        let mut kept = 0;
        for at in 0..count {
            let (keep, column, value) = entry(at);
            columns[kept].write(column);
            values[kept].write(value);
            kept += usize::from(keep);
        }
        // SAFETY: as many have been written: the last that was kept, and all before it.
        unsafe {
            self.columns.set_len(first + kept);
            self.values.set_len(first + kept);
        }
        Ok(())
    }

    /// An entry more of the row that is being made; columns increase.
    #[inline]
    pub fn push(&mut self, column: u32, value: V) {
        self.columns.push(column);
        self.values.push(value);
    }

    #[inline]
    fn end_row(&mut self) {
        self.ends.push(self.columns.len());
    }
}

fn out_of_memory<V>(executor: &Executor, entries: usize) -> Error {
    Error::OutOfMemory {
        bytes: entries.saturating_mul(size_of::<u32>() + size_of::<V>()),
        executor: executor.name().to_owned(),
    }
}

/// Default values, or a typed error.
pub fn zeroed<V: Value>(executor: &Executor, len: usize) -> Result<Vec<V>> {
    check_memory(executor, len, size_of::<V>())?;
    Ok(vec![V::default(); len])
}

/// Room for so many values, or a typed error.
fn reserved<V: Value>(executor: &Executor, len: usize) -> Result<Vec<V>> {
    check_memory(executor, len, size_of::<V>())?;
    Ok(Vec::with_capacity(len))
}

/// The ranges between consecutive bounds.
pub fn ranges(bounds: &[usize]) -> Vec<Range<usize>> {
    bounds.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// Makes the rows between the first and the last of `bounds`: `fill(scratch, row, rows)` appends
/// one row. `bytes` is about what is moved in all.
pub fn build<V: Value, S: Send>(
    executor: &Executor,
    bounds: &[usize],
    bytes: usize,
    scratch: impl Fn() -> S + Sync + Send,
    fill: impl Fn(&mut S, usize, &mut Rows<V>) -> Result<()> + Sync + Send,
) -> Result<Arrays<V>> {
    let make = |scratch: &mut S, range: Range<usize>| {
        let mut rows = Rows::new(range.len());
        for row in range {
            fill(scratch, row, &mut rows)?;
            rows.end_row();
        }
        Ok(rows)
    };
    build_parts(executor, bounds, bytes, &scratch, &make)
}

/// Makes a range of rows, with scratch.
type MakeRows<'m, S, V> = &'m (dyn Fn(&mut S, Range<usize>) -> Result<Rows<V>> + Sync);

/// [`build`] without the types of its closures.
fn build_parts<V: Value, S: Send>(
    executor: &Executor,
    bounds: &[usize],
    bytes: usize,
    scratch: &(dyn Fn() -> S + Sync),
    make: MakeRows<'_, S, V>,
) -> Result<Arrays<V>> {
    let parts = executor.run_with_any(bytes, ranges(bounds), scratch, make);
    join(executor, parts.into_iter().collect::<Result<_>>()?)
}

fn join<V: Value>(executor: &Executor, parts: Vec<Rows<V>>) -> Result<Arrays<V>> {
    let lengths: Vec<usize> = parts.iter().map(|part| part.columns.len()).collect();
    let rows: Vec<usize> = parts.iter().map(|part| part.ends.len()).collect();
    let entries = lengths.iter().sum();
    let mut offsets = reserved::<usize>(executor, rows.iter().sum::<usize>() + 1)?;
    let mut columns = reserved::<u32>(executor, entries)?;
    let mut values = reserved::<V>(executor, entries)?;
    offsets.push(0);
    let mut first = 0;
    let starts = lengths.iter().map(|length| {
        first += length;
        first - length
    });
    let tasks = parts
        .into_iter()
        .zip(starts)
        .zip(cut(offsets.spare_capacity_mut(), rows.clone()))
        .zip(cut(columns.spare_capacity_mut(), lengths.clone()))
        .zip(cut(values.spare_capacity_mut(), lengths.clone()))
        .map(|((((part, start), offsets), columns), values)| {
            (part, start, (offsets, columns, values))
        })
        .collect();
    let bytes = entries * (size_of::<u32>() + size_of::<V>());
    executor.run(bytes, tasks, |(part, start, places): (Rows<V>, _, _)| {
        part.place(start, places)
    });
    // SAFETY: the parts fill as many places of each, from the first on.
    unsafe {
        offsets.set_len(1 + rows.iter().sum::<usize>());
        columns.set_len(entries);
        values.set_len(entries);
    }
    Ok(Arrays {
        offsets,
        columns,
        values,
    })
}

/// Memory for offsets, columns and values.
type Places<'a, V> = (
    &'a mut [MaybeUninit<usize>],
    &'a mut [MaybeUninit<u32>],
    &'a mut [MaybeUninit<V>],
);

impl<V: Value> Rows<V> {
    /// Writes them where they belong in the whole matrix; `start` is the place of the first entry.
    fn place(self, start: usize, (offsets, columns, values): Places<'_, V>) {
        for (offset, end) in offsets.iter_mut().zip(&self.ends) {
            offset.write(start + end);
        }
        for (place, column) in columns.iter_mut().zip(&self.columns) {
            place.write(*column);
        }
        for (place, value) in values.iter_mut().zip(&self.values) {
            place.write(*value);
        }
    }
}

/// Some rows and the memory of their columns and values.
pub type RowsOf<'a, V> = (Range<usize>, &'a mut [u32], &'a mut [V]);

/// Cuts the columns and values of a matrix at the rows that `bounds` name.
pub fn cut_rows<'a, V>(
    offsets: &[usize],
    bounds: &[usize],
    columns: &'a mut [u32],
    values: &'a mut [V],
) -> Vec<RowsOf<'a, V>> {
    let columns = cut(columns, lengths(offsets, bounds));
    let values = cut(values, lengths(offsets, bounds));
    let parts = ranges(bounds).into_iter().zip(columns).zip(values);
    parts.map(|((rows, c), v)| (rows, c, v)).collect()
}

/// The number of entries between consecutive bounds.
fn lengths(offsets: &[usize], bounds: &[usize]) -> impl Iterator<Item = usize> {
    bounds
        .windows(2)
        .map(|rows| offsets[rows[1]] - offsets[rows[0]])
}

/// Writes values row by row: `work(row, values of the row)`.
pub fn fill_rows<V: Send>(
    executor: &Executor,
    offsets: &[usize],
    values: &mut [V],
    work: impl Fn(usize, &mut [V]) + Sync + Send,
) {
    let bounds = balance(offsets.len() - 1, |row| offsets[row] + row);
    let work = |(): &mut (), row: usize, values: &mut [V]| {
        work(row, values);
        Ok(())
    };
    fill_rows_with(executor, offsets, &bounds, values, || (), work).expect("work that cannot fail");
}

/// [`fill_rows`] with scratch memory, the rows cut at `bounds`.
pub fn fill_rows_with<V: Send, S: Send>(
    executor: &Executor,
    offsets: &[usize],
    bounds: &[usize],
    values: &mut [V],
    scratch: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, usize, &mut [V]) -> Result<()> + Sync + Send,
) -> Result<()> {
    let part = |scratch: &mut S, rows: Range<usize>, mut values: &mut [V]| {
        for row in rows {
            let (mine, rest) = values.split_at_mut(offsets[row + 1] - offsets[row]);
            work(scratch, row, mine)?;
            values = rest;
        }
        Ok(())
    };
    fill_parts(executor, (offsets, bounds), values, &scratch, &part)
}

/// Fills the values of some rows.
type Fill<'f, V, S> = &'f (dyn Fn(&mut S, Range<usize>, &mut [V]) -> Result<()> + Sync);

/// [`fill_rows_with`] without the types of its closures.
fn fill_parts<V: Send, S: Send>(
    executor: &Executor,
    (offsets, bounds): (&[usize], &[usize]),
    values: &mut [V],
    scratch: &(dyn Fn() -> S + Sync),
    part: Fill<'_, V, S>,
) -> Result<()> {
    let bytes = size_of_val(values) + size_of_val(offsets);
    let parts = cut(values, lengths(offsets, bounds));
    let tasks = ranges(bounds).into_iter().zip(parts).collect();
    let one =
        |scratch: &mut S, (rows, values): (Range<usize>, &mut [V])| part(scratch, rows, values);
    let done = executor.run_with_any(bytes, tasks, scratch, &one);
    done.into_iter().collect()
}

impl<T: Scalar> Csr<T> {
    /// The matrix on the same pattern whose entries are `value(row, place)`.
    #[doc(hidden)]
    pub fn from_places(
        pattern: &Arc<Pattern>,
        value: impl Fn(usize, usize) -> T + Sync + Send,
    ) -> Result<Self> {
        let mut values = zeroed(pattern.executor(), pattern.nonzeros())?;
        fill_rows(
            pattern.executor(),
            pattern.offsets(),
            &mut values,
            |row, out| {
                for (out, place) in out.iter_mut().zip(pattern.range(row)) {
                    *out = value(row, place);
                }
            },
        );
        Self::with_pattern(pattern, values)
    }

    /// A number for every row: `of_row(scratch, row)`.
    #[doc(hidden)]
    pub fn map_rows<V: Value, S: Send>(
        &self,
        scratch: impl Fn() -> S + Sync + Send,
        of_row: impl Fn(&mut S, usize) -> V + Sync + Send,
    ) -> Vec<V> {
        let mut numbers = Vec::with_capacity(self.size().rows);
        let rows = ranges(self.pattern.pieces());
        let lengths = rows.iter().map(|rows| rows.len());
        let parts = cut(numbers.spare_capacity_mut(), lengths);
        let tasks = rows.iter().cloned().zip(parts).collect();
        let work = |scratch: &mut S, (rows, out): (Range<usize>, &mut [MaybeUninit<V>])| {
            for (row, out) in rows.zip(out) {
                out.write(of_row(scratch, row));
            }
        };
        self.executor().run_with(self.bytes(), tasks, scratch, work);
        // SAFETY: the pieces are all rows, and each has written its part.
        unsafe { numbers.set_len(self.size().rows) };
        numbers
    }

    /// `part(rows)` for ranges of rows of about equal work, in order; the ranges depend on the
    /// pattern alone.
    #[doc(hidden)]
    pub fn map_pieces<R: Send>(&self, part: impl Fn(Range<usize>) -> R + Sync + Send) -> Vec<R> {
        let tasks = ranges(self.pattern.pieces());
        self.executor().run(self.bytes(), tasks, part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_filled_once_on_any_executor() {
        let mut offsets = vec![0];
        for row in 0..3000 {
            offsets.push(offsets[row] + (row * 7) % 90);
        }
        let of_row = |row: usize| vec![row; offsets[row + 1] - offsets[row]];
        let expected: Vec<usize> = (0..3000).flat_map(of_row).collect();
        for executor in [
            Executor::reference(),
            Executor::cpu_with_threads(3).unwrap(),
        ] {
            let mut values = vec![0; expected.len()];
            fill_rows(&executor, &offsets, &mut values, |row, values| {
                values.iter_mut().for_each(|value| *value += row);
            });
            assert_eq!(values, expected);
        }
    }
}
