//! Entries in any order, made into compressed sparse rows.

use std::ops::Range;

use vcycle_core::matrix::{RowsOf, cut_rows};

use super::memory::{filled, reserve};
use crate::error::Problem;
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::{Csr, Duplicates};
use crate::scalar::Field;

/// So many rows are accepted however few entries there are.
const ROWS_AT_LEAST: usize = 1 << 20;
/// Above that, so many rows an entry: a header must not make us take memory for nothing.
const ROWS_PER_ENTRY: usize = 64;

/// Fewer entries are not worth another thread.
const ENTRIES_PER_THREAD: usize = 1 << 16;

/// Which entries stand for two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntrySymmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

impl EntrySymmetry {
    /// The name in a Matrix Market banner.
    pub(super) fn name(self) -> &'static str {
        match self {
            EntrySymmetry::General => "general",
            EntrySymmetry::Symmetric => "symmetric",
            EntrySymmetry::Skew => "skew-symmetric",
            EntrySymmetry::Hermitian => "hermitian",
        }
    }

    /// The value across the diagonal.
    pub(super) fn mirror<T: Field>(self, value: T) -> T {
        match self {
            EntrySymmetry::General | EntrySymmetry::Symmetric => value,
            EntrySymmetry::Skew => -value,
            EntrySymmetry::Hermitian => value.conj(),
        }
    }
}

/// Some entries of a matrix, in the order they were given; indices from 0.
#[derive(Debug)]
pub(super) struct Triplets<T> {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
    /// Every row that an entry or its mirror image lies in is in this range.
    span: Range<usize>,
}

impl<T: Field> Triplets<T> {
    /// Entries within the matrix they will be assembled to.
    pub(super) fn new(
        rows: Vec<u32>,
        columns: Vec<u32>,
        values: Vec<T>,
        symmetry: EntrySymmetry,
    ) -> Self {
        let mut span = span_of(&rows);
        if symmetry != EntrySymmetry::General {
            let mirrored = span_of(&columns);
            span = span.start.min(mirrored.start)..span.end.max(mirrored.end);
        }
        Self {
            rows,
            columns,
            values,
            span,
        }
    }

    /// How many entries there are, mirror images not counted.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The row, column and value of every entry and its mirror image, in the order they were given.
    pub(super) fn entries(&self, symmetry: EntrySymmetry) -> impl Iterator<Item = (u64, u64, T)> {
        let indices = self.rows.iter().zip(&self.columns);
        let both = move |((&row, &column), &value): ((&u32, &u32), &T)| {
            let (row, column) = (u64::from(row), u64::from(column));
            let is_mirrored = symmetry != EntrySymmetry::General && row != column;
            let mirrored = is_mirrored.then(|| (column, row, symmetry.mirror(value)));
            [Some((row, column, value)), mirrored].into_iter().flatten()
        };
        indices.zip(&self.values).flat_map(both)
    }

    /// `each(row - range.start, column, value)` for the entries and mirror images in some rows.
    fn visit(
        &self,
        symmetry: EntrySymmetry,
        range: &Range<usize>,
        mut each: impl FnMut(usize, u32, T),
    ) {
        if self.span.end <= range.start || range.end <= self.span.start {
            return;
        }
        let indices = self.rows.iter().zip(&self.columns);
        for ((&row, &column), &value) in indices.zip(&self.values) {
            if range.contains(&(row as usize)) {
                each(row as usize - range.start, column, value);
            }
            let mirrored = symmetry != EntrySymmetry::General && row != column;
            if mirrored && range.contains(&(column as usize)) {
                each(column as usize - range.start, row, symmetry.mirror(value));
            }
        }
    }
}

/// The entries of a dense matrix that are not zero; `positions` gives row and column of each value.
pub(super) fn from_dense<T: Field>(
    positions: impl Iterator<Item = (usize, usize)>,
    values: &[T],
    symmetry: EntrySymmetry,
) -> Result<Triplets<T>, Problem> {
    let count = values.iter().filter(|value| !value.is_zero()).count();
    let mut rows = reserve(count)?;
    let mut columns = reserve(count)?;
    let mut kept = reserve(count)?;
    for ((row, column), &value) in positions.zip(values) {
        if !value.is_zero() {
            rows.push(row as u32);
            columns.push(column as u32);
            kept.push(value);
        }
    }
    Ok(Triplets::new(rows, columns, kept, symmetry))
}

fn span_of(indices: &[u32]) -> Range<usize> {
    let first = indices.iter().min().map_or(usize::MAX, |&i| i as usize);
    let last = indices.iter().max().map_or(0, |&i| i as usize + 1);
    first..last
}

/// The matrix of all entries of all pieces; within a row, entries keep the order they came in
/// until they are sorted, so that sums of duplicates are reproducible.
///
/// Every thread owns a range of rows and reads all pieces that reach into it.
pub(super) fn assemble<T: Field>(
    executor: &Executor,
    size: Size,
    pieces: Vec<Triplets<T>>,
    symmetry: EntrySymmetry,
    duplicates: Duplicates,
) -> Result<Csr<T>, Problem> {
    let entries: usize = pieces.iter().map(Triplets::len).sum();
    check_plausible(size, entries)?;
    let parts = executor.threads().min(1 + entries / ENTRIES_PER_THREAD);
    let offsets = count(executor, parts, size.rows, &pieces, symmetry)?;
    let (columns, values) = scatter(executor, parts, &offsets, &pieces, symmetry)?;
    drop(pieces);
    Ok(Csr::from_arrays(
        executor, size, offsets, columns, values, duplicates,
    )?)
}

/// Fails if indices cannot number the rows or columns, or nearly all rows are empty.
pub(super) fn check_plausible(size: Size, entries: usize) -> Result<(), Problem> {
    let most = entries.saturating_mul(ROWS_PER_ENTRY).max(ROWS_AT_LEAST);
    if size.rows > most || size.rows.max(size.cols) > u32::MAX as usize {
        return Err(Problem::Implausible { size, entries });
    }
    Ok(())
}

/// The row offsets.
fn count<T: Field>(
    executor: &Executor,
    parts: usize,
    rows: usize,
    pieces: &[Triplets<T>],
    symmetry: EntrySymmetry,
) -> Result<Vec<usize>, Problem> {
    let mut offsets = filled(rows + 1, 0)?;
    let length = rows.div_ceil(parts).max(1);
    let bytes = pieces.iter().map(|piece| size_of_val(&*piece.rows)).sum();
    let parts = offsets[1..].chunks_mut(length).enumerate().collect();
    executor.run(bytes, parts, |(part, counts): (usize, &mut [usize])| {
        let range = part * length..part * length + counts.len();
        for piece in pieces {
            piece.visit(symmetry, &range, |row, _, _| counts[row] += 1);
        }
    });
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    Ok(offsets)
}

/// The columns and values, row by row.
fn scatter<T: Field>(
    executor: &Executor,
    parts: usize,
    offsets: &[usize],
    pieces: &[Triplets<T>],
    symmetry: EntrySymmetry,
) -> Result<(Vec<u32>, Vec<T>), Problem> {
    let entries = offsets[offsets.len() - 1];
    let mut columns = filled(entries, 0)?;
    let mut values = filled(entries, T::zero())?;
    let bytes = size_of_val(&*columns) + size_of_val(&*values);
    let tasks = cut_rows(offsets, &bounds(offsets, parts), &mut columns, &mut values);
    executor.run(bytes, tasks, |(rows, columns, values): RowsOf<'_, T>| {
        let first = offsets[rows.start];
        let offsets = offsets[rows.clone()].iter();
        let mut next: Vec<usize> = offsets.map(|offset| offset - first).collect();
        for piece in pieces {
            piece.visit(symmetry, &rows, |row, column, value| {
                columns[next[row]] = column;
                values[next[row]] = value;
                next[row] += 1;
            });
        }
    });
    Ok((columns, values))
}

/// Bounds of row ranges of about the same number of entries.
fn bounds(offsets: &[usize], parts: usize) -> Vec<usize> {
    let rows = offsets.len() - 1;
    let target = |part: usize| (offsets[rows] as u128 * part as u128 / parts as u128) as usize;
    let bound = |part: usize| offsets.partition_point(|&offset| offset < target(part));
    let inner = (1..parts).map(bound);
    std::iter::once(0).chain(inner).chain([rows]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::c64;

    const GENERAL: EntrySymmetry = EntrySymmetry::General;

    #[test]
    fn pieces_in_any_order_make_sorted_rows() {
        for threads in [1, 3] {
            let executor = Executor::cpu_with_threads(threads).unwrap();
            let pieces = vec![
                Triplets::new(vec![2, 0], vec![1, 3], vec![1.0, 2.0], GENERAL),
                Triplets::new(vec![], vec![], vec![], GENERAL),
                Triplets::new(vec![0, 2], vec![0, 0], vec![3.0, 4.0], GENERAL),
            ];
            let (size, refuse) = (Size::new(3, 4), Duplicates::Refuse);
            let a = assemble(&executor, size, pieces, GENERAL, refuse).unwrap();
            assert_eq!(a.offsets(), [0, 2, 2, 4]);
            assert_eq!(a.columns(), [0, 3, 0, 1]);
            assert_eq!(a.values(), [3.0, 2.0, 4.0, 1.0]);
        }
    }

    /// The matrix of some entries in two rows.
    fn square<T: Field>(
        (rows, columns): (Vec<u32>, Vec<u32>),
        values: Vec<T>,
        symmetry: EntrySymmetry,
        duplicates: Duplicates,
    ) -> Result<Csr<T>, Problem> {
        let pieces = vec![Triplets::new(rows, columns, values, symmetry)];
        assemble(
            &Executor::reference(),
            Size::square(2),
            pieces,
            symmetry,
            duplicates,
        )
    }

    #[test]
    fn one_triangle_becomes_two() {
        let i = c64::new(0.0, 1.0);
        for (symmetry, above) in [
            (EntrySymmetry::Symmetric, i),
            (EntrySymmetry::Skew, -i),
            (EntrySymmetry::Hermitian, -i),
        ] {
            let (entries, values) = ((vec![1, 1], vec![0, 1]), vec![i, c64::new(2.0, 0.0)]);
            let a = square(entries, values, symmetry, Duplicates::Refuse).unwrap();
            assert_eq!(a.entry(0, 1), Some(above));
            assert_eq!((a.entry(1, 0), a.nonzeros()), (Some(i), 3));
        }
    }

    #[test]
    fn duplicates_are_counted_from_one() {
        let build = |duplicates| {
            let entries = (vec![1, 1], vec![0, 0]);
            square(entries, vec![1.0, 2.0], GENERAL, duplicates)
        };
        let refused = build(Duplicates::Refuse);
        assert!(matches!(
            refused,
            Err(Problem::Duplicate { row: 2, column: 1 })
        ));
        assert_eq!(build(Duplicates::Sum).unwrap().values(), [3.0]);
    }

    #[test]
    fn a_size_without_entries_takes_no_memory() {
        for rows in [ROWS_AT_LEAST + 1, u32::MAX as usize, usize::MAX] {
            let (host, none) = (Executor::reference(), Vec::<Triplets<f64>>::new());
            let refused = assemble(&host, Size::square(rows), none, GENERAL, Duplicates::Sum);
            assert!(matches!(refused, Err(Problem::Implausible { .. })));
        }
    }
}
