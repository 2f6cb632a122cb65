//! Transposed matrices.

use std::ops::Range;

use vcycle_kernels::compiled;

use super::build::{Arrays, Value, zeroed};
use crate::executor::cut;
use crate::operations::products;
use crate::prelude::*;

/// Fewer entries than this are sorted by one thread.
const SERIAL_ENTRIES: usize = 64 * 1024;
/// Columns of one bucket at most: their counters stay in the cache.
const BUCKET_COLUMNS: usize = 64 * 1024;

impl<T: Scalar> Csr<T> {
    /// `A^T`.
    ///
    /// ```
    /// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates}};
    /// let a = Csr::from_arrays(
    ///     &Executor::cpu(), Size::new(2, 3),
    ///     vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0], Duplicates::Refuse,
    /// )?;
    /// let t = a.transpose()?;
    /// assert_eq!((t.offsets(), t.columns(), t.values()),
    ///            (&[0, 1, 2, 3][..], &[0, 1, 0][..], &[1.0, 3.0, 2.0][..]));
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn transpose(&self) -> Result<Self> {
        compiled!(any T: fn(&Csr<T>) -> Result<Csr<T>> = |a| {
            check_rows(a.size())?;
            match products::transpose(a)? {
                Some(transpose) => Ok(transpose),
                None => a.transposed(|value| value),
            }
        })(self)
    }

    /// `A^H`: the transpose with every entry conjugated.
    pub fn adjoint(&self) -> Result<Self> {
        compiled!(any T: fn(&Csr<T>) -> Result<Csr<T>> = |a| match const { T::KIND.is_complex() } {
            true => match products::adjoint(a)? {
                Some(adjoint) => Ok(adjoint),
                None => a.transposed(|value| T::store(value.load().conj())),
            },
            false => a.transpose(),
        })(self)
    }

    fn transposed(&self, map: impl Fn(T) -> T + Sync + Send) -> Result<Self> {
        let arrays = transposed(&self.pattern, self.values(), map)?;
        Ok(arrays.into_csr(self.executor(), self.size().transposed()))
    }
}

impl Pattern {
    /// The positions of the transposed matrix.
    pub fn transpose(&self) -> Result<Arc<Pattern>> {
        check_rows(self.size())?;
        if let Some(transpose) = products::transpose_pattern(self)? {
            return Ok(Arc::new(transpose));
        }
        let nothing = vec![(); self.nonzeros()];
        let arrays = transposed(self, &nothing, |()| ())?;
        Ok(arrays.into_pattern(self.executor(), self.size().transposed()))
    }
}

/// One entry, in coordinates.
#[derive(Clone, Copy, Default)]
struct Coordinates<V> {
    column: u32,
    row: u32,
    value: V,
}

fn check_rows(size: Size) -> Result<()> {
    if size.rows <= u32::MAX as usize {
        return Ok(());
    }
    let reason = format!(
        "{} rows do not fit the 32-bit columns of a transpose",
        size.rows
    );
    Err(Error::structure("csr", reason))
}

fn transposed<V: Value>(
    pattern: &Pattern,
    values: &[V],
    map: impl Fn(V) -> V + Sync + Send,
) -> Result<Arrays<V>> {
    let (executor, size) = (pattern.executor(), pattern.size());
    check_rows(size)?;
    let mut arrays = Arrays {
        offsets: zeroed(executor, size.cols + 1)?,
        columns: zeroed(executor, pattern.nonzeros())?,
        values: zeroed(executor, pattern.nonzeros())?,
    };
    arrays.offsets[size.cols] = pattern.nonzeros();
    if executor.threads() == 1 || pattern.nonzeros() < SERIAL_ENTRIES {
        sort_by_column(pattern, values, map, &mut arrays);
    } else {
        sort_in_buckets(executor, pattern, values, map, &mut arrays);
    }
    Ok(arrays)
}

/// `visit(row, place)` for the entries of some rows, one after the other. Loops over places: what goes over several
/// slices at once, or is made of iterators within iterators, takes several times as long.
#[inline(always)]
fn for_each_entry(pattern: &Pattern, rows: Range<usize>, mut visit: impl FnMut(u32, usize)) {
    let offsets = pattern.offsets();
    for row in rows {
        for place in offsets[row]..offsets[row + 1] {
            visit(row as u32, place);
        }
    }
}

/// Counting sort of all entries.
fn sort_by_column<V: Value>(
    pattern: &Pattern,
    values: &[V],
    map: impl Fn(V) -> V,
    out: &mut Arrays<V>,
) {
    let (size, columns) = (pattern.size(), pattern.columns());
    let offsets = &mut out.offsets[..size.cols];
    columns.iter().for_each(|&c| offsets[c as usize] += 1);
    begin_columns(offsets);
    for_each_entry(pattern, 0..size.rows, |row, place| {
        let next = &mut offsets[columns[place] as usize];
        out.columns[*next] = row;
        out.values[*next] = map(values[place]);
        *next += 1;
    });
    end_columns(offsets, 0);
}

/// Turns the number of entries of every column into the place of its first.
fn begin_columns(counts: &mut [usize]) {
    let mut next = 0;
    for count in counts {
        next += std::mem::replace(count, next);
    }
}

/// Every offset has moved to the end of its column, the start of the next; `base` is the place of the first column in
/// the whole matrix.
fn end_columns(offsets: &mut [usize], base: usize) {
    let mut start = base;
    for offset in offsets {
        start = std::mem::replace(offset, start) + base;
    }
}

/// The entries of a range of rows, grouped by ranges of columns.
struct Bucketed<V> {
    entries: Vec<Coordinates<V>>,
    /// For every bucket the place of its first entry, and at the end the number of entries.
    starts: Vec<usize>,
}

impl<V: Value> Bucketed<V> {
    fn new(
        pattern: &Pattern,
        values: &[V],
        rows: Range<usize>,
        map: impl Fn(V) -> V,
        (shift, buckets): (u32, usize),
    ) -> Self {
        let columns = pattern.columns();
        let places = pattern.offsets()[rows.start]..pattern.offsets()[rows.end];
        let mut next = vec![0; buckets + 1];
        for &column in &columns[places.clone()] {
            next[(column >> shift) as usize + 1] += 1;
        }
        for bucket in 0..buckets {
            next[bucket + 1] += next[bucket];
        }
        let starts = next.clone();
        let mut entries = vec![Coordinates::default(); places.len()];
        for_each_entry(pattern, rows, |row, place| {
            let (column, value) = (columns[place], map(values[place]));
            let to = &mut next[(column >> shift) as usize];
            entries[*to] = Coordinates { column, row, value };
            *to += 1;
        });
        Self { entries, starts }
    }

    fn bucket(&self, bucket: usize) -> &[Coordinates<V>] {
        &self.entries[self.starts[bucket]..self.starts[bucket + 1]]
    }
}

/// Groups ranges of rows by ranges of columns, then sorts each range of columns: two passes whose
/// writes stay near each other, and no counters shared between threads.
fn sort_in_buckets<V: Value>(
    executor: &Executor,
    pattern: &Pattern,
    values: &[V],
    map: impl Fn(V) -> V + Sync + Send,
    out: &mut Arrays<V>,
) {
    let cols = pattern.size().cols;
    let bytes = pattern.bytes() + size_of_val(values);
    let width = BUCKET_COLUMNS.min(cols.div_ceil(4 * executor.threads()));
    let shift = width.next_power_of_two().ilog2();
    let buckets = cols.div_ceil(1 << shift);
    let blocks = executor.run(bytes, row_blocks(pattern), |rows| {
        Bucketed::new(pattern, values, rows, &map, (shift, buckets))
    });
    let lengths: Vec<usize> = (0..buckets)
        .map(|bucket| blocks.iter().map(|block| block.bucket(bucket).len()).sum())
        .collect();
    let widths = (0..buckets).map(|bucket| (cols - (bucket << shift)).min(1 << shift));
    let mut base = 0;
    let bases = lengths.iter().map(|length| {
        base += length;
        base - length
    });
    let tasks = bases
        .enumerate()
        .zip(cut(&mut out.offsets, widths))
        .zip(cut(&mut out.columns, lengths.clone()))
        .zip(cut(&mut out.values, lengths.clone()))
        .collect();
    executor.run(
        bytes,
        tasks,
        |((((bucket, base), offsets), rows), values): (_, &mut [V])| {
            let first = bucket << shift;
            for block in &blocks {
                let entries = block.bucket(bucket).iter();
                entries.for_each(|entry| offsets[entry.column as usize - first] += 1);
            }
            begin_columns(offsets);
            for block in &blocks {
                for entry in block.bucket(bucket) {
                    let next = &mut offsets[entry.column as usize - first];
                    rows[*next] = entry.row;
                    values[*next] = entry.value;
                    *next += 1;
                }
            }
            end_columns(offsets, base);
        },
    );
}

/// Ranges of rows of about equal work, a few per thread.
fn row_blocks(pattern: &Pattern) -> Vec<Range<usize>> {
    let pieces = pattern.pieces();
    let step = (pieces.len() - 1).div_ceil(4 * pattern.executor().threads());
    let bounds: Vec<usize> = pieces
        .iter()
        .copied()
        .step_by(step)
        .chain([pattern.size().rows])
        .collect();
    super::build::ranges(&bounds)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dense, random};
    use super::*;

    #[test]
    fn transposes_agree_with_dense_ones() {
        for (rows, cols) in [(0, 0), (0, 3), (3, 0), (1, 1), (7, 4), (5, 9)] {
            let a = random::<c64>(&Executor::reference(), rows, cols, 0.4, 1);
            let (t, h) = (a.transpose().unwrap(), a.adjoint().unwrap());
            let (a, t, h) = (dense(&a), dense(&t), dense(&h));
            for row in 0..rows {
                for column in 0..cols {
                    assert_eq!(t[column][row], a[row][column]);
                    assert_eq!(h[column][row], a[row][column].conj());
                }
            }
        }
    }
}
