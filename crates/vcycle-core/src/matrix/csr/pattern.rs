//! The sparsity pattern of a CSR matrix, and the checks of arrays from outside.

use std::ops::Range;

use super::Duplicates;
use super::build::{cut_rows, ranges};
use crate::cut::{self, Slice};
use crate::operations::entries;
use crate::prelude::*;
use crate::runs::{self, Alike, Run, Runs};

impl Pattern {
    /// Rows and columns.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Where the arrays live.
    pub fn executor(&self) -> &Executor {
        self.columns.executor()
    }

    /// Number of entries.
    pub fn nonzeros(&self) -> usize {
        self.columns.len()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.offsets.bytes() + self.columns.bytes()
    }

    /// For every row the place of its first entry, and at the end the number of entries.
    #[inline]
    pub fn offsets(&self) -> &[usize] {
        self.offsets.on_host()
    }

    /// The column of every entry.
    #[inline]
    pub fn columns(&self) -> &[u32] {
        self.columns.on_host()
    }

    /// The places of the entries of one row.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        let offsets = self.offsets();
        offsets[row]..offsets[row + 1]
    }

    /// Bounds of row ranges with about equal work each; the same for any number of threads.
    #[doc(hidden)]
    pub fn pieces(&self) -> &[usize] {
        self.pieces.get_or_init(|| {
            let offsets = self.offsets();
            cut::balance(offsets.len() - 1, |row| offsets[row] + row)
        })
    }

    /// Whether the entries stand at the same positions on the same executor.
    pub fn same_as(&self, other: &Pattern) -> bool {
        if std::ptr::eq(self, other) {
            return true;
        }
        if self.size != other.size || !self.executor().shares_memory_with(other.executor()) {
            return false;
        }
        if let Some(same) = entries::same(self, other).expect("the device still answers") {
            return same;
        }
        self.offsets() == other.offsets() && self.columns() == other.columns()
    }

    /// Runs of rows that are alike, piece by piece, and the columns of nodes.
    pub(crate) fn runs(&self) -> &Runs {
        self.runs.get_or_init(|| {
            let mut list = self.of_pieces(runs::runs).concat();
            // Columns of nodes are kept for one size.
            let Some(size) = list.iter().find_map(node_size) else {
                let nodes = Vec::new();
                return Box::new(Runs { list, nodes });
            };
            for run in &mut list {
                if let Some(other) = node_size(run).filter(|&other| other != size) {
                    run.alike = Alike::Same(other);
                }
            }
            let nodes = self.of_pieces(|piece, offsets, columns| {
                runs::node_columns(&list, size, piece, offsets, columns)
            });
            let nodes = nodes.concat();
            Box::new(Runs { list, nodes })
        })
    }

    /// What is made of every piece of rows, with offsets and columns, by all threads.
    fn of_pieces<T: Send>(
        &self,
        make: impl Fn(Range<usize>, &[usize], &[u32]) -> Vec<T> + Sync + Send,
    ) -> Vec<Vec<T>> {
        let (offsets, columns) = (self.offsets(), self.columns());
        let pieces = ranges(self.pieces());
        let executor = self.executor();
        executor.run(size_of_val(columns), pieces, |piece| {
            make(piece, offsets, columns)
        })
    }

    /// Row offsets and columns, wherever they are.
    #[doc(hidden)]
    pub fn buffers(&self) -> (&Buffer<usize>, &Buffer<u32>) {
        (&self.offsets, &self.columns)
    }

    /// Slices of rows for products with the transpose; the same for any number of threads.
    pub(crate) fn slices(&self) -> &[Slice] {
        self.slices
            .get_or_init(|| cut::slices(self.offsets(), self.columns()))
    }
}

/// The unknowns of a node in a run of nodes.
fn node_size(run: &Run) -> Option<u8> {
    match run.alike {
        Alike::Nodes(size) => Some(size),
        _ => None,
    }
}

/// The error that names an index.
pub(super) fn outside(axis: &'static str, position: usize, index: u32, limit: usize) -> Error {
    Error::IndexOutOfRange {
        position,
        axis,
        index: index as usize,
        limit,
    }
}

fn wrong<V>(reason: String) -> Result<V> {
    Err(Error::structure("csr", reason))
}

/// Fails unless there are as many offsets, columns and values as a matrix of `size` has.
pub(super) fn check_lengths(
    size: Size,
    (offsets, offset): (usize, impl Fn(usize) -> Result<usize>),
    columns: usize,
    values: usize,
) -> Result<()> {
    if size.rows.max(size.cols) > u32::MAX as usize {
        return wrong(format!("{size} does not fit 32-bit indices"));
    }
    if offsets != size.rows + 1 || columns != values {
        return wrong(format!(
            "{offsets} row offsets, {columns} columns and {values} values for {} rows",
            size.rows
        ));
    }
    match (offset(0)?, offset(size.rows)?) {
        (0, end) if end == columns => Ok(()),
        (first, end) => wrong(format!(
            "row offsets run from {first} to {end}, not from 0 to {columns}"
        )),
    }
}

/// Fails, naming the row, unless offsets do not decrease and the columns of rows increase within
/// their range.
pub(super) fn check_order(
    size: Size,
    offsets: &Buffer<usize>,
    columns: &Buffer<u32>,
) -> Result<()> {
    let (limit, entries) = (size.cols, columns.len());
    let row = match entries::check_order(size, offsets, columns)? {
        Some(row) => row,
        None => {
            let (offsets, columns) = (offsets.host()?, columns.host()?);
            let fine = |row: usize| {
                let (first, end) = (offsets[row], offsets[row + 1]);
                let row = columns.get(first..end);
                row.is_some_and(|row| {
                    row.is_sorted_by(|a, b| a < b)
                        && row.last().is_none_or(|&c| (c as usize) < limit)
                })
            };
            (0..size.rows).find(|&row| !fine(row))
        }
    };
    let Some(row) = row else { return Ok(()) };
    let (first, end) = (offsets.get(row)?, offsets.get(row + 1)?);
    if first > end || end > entries {
        return wrong(format!("row offsets decrease after row {row}"));
    }
    let mut last = None;
    for place in first..end {
        let column = columns.get(place)? as usize;
        if last == Some(column) {
            return Err(Error::DuplicateEntry { row, column });
        }
        last = Some(column);
    }
    wrong(format!(
        "the columns of row {row} do not increase, or are out of range"
    ))
}

/// Fails, naming the place, unless the arrays describe a matrix of `size`.
pub(super) fn check_arrays(
    size: Size,
    offsets: &[usize],
    columns: &[u32],
    values: usize,
) -> Result<()> {
    let offset = |row: usize| Ok(offsets[row]);
    check_lengths(size, (offsets.len(), offset), columns.len(), values)?;
    if let Some(row) = (0..size.rows).find(|&row| offsets[row] > offsets[row + 1]) {
        return wrong(format!("row offsets decrease after row {row}"));
    }
    // The largest first: a search that may end anywhere is slower.
    let largest = columns.iter().copied().max();
    let is_outside = |&column: &u32| column as usize >= size.cols;
    let place = largest
        .filter(is_outside)
        .and_then(|_| columns.iter().position(is_outside));
    place.map_or(Ok(()), |place| {
        Err(outside("column", place, columns[place], size.cols))
    })
}

/// Whether the columns of every row increase.
pub(super) fn is_canonical(offsets: &[usize], columns: &[u32]) -> bool {
    offsets
        .windows(2)
        .all(|row| columns[row[0]..row[1]].is_sorted_by(|a, b| a < b))
}

/// Sorts every row by column; equal columns keep their order.
pub(super) fn sort_rows<T: Scalar>(
    executor: &Executor,
    offsets: &[usize],
    columns: &mut [u32],
    values: &mut [T],
) {
    let bounds = cut::balance(offsets.len() - 1, |row| offsets[row] + row);
    let bytes = size_of_val(columns) + size_of_val(values);
    let tasks = cut_rows(offsets, &bounds, columns, values);
    executor.run_with(
        bytes,
        tasks,
        Vec::new,
        |scratch, (rows, columns, values)| {
            let first = offsets[rows.start];
            for row in rows {
                let places = offsets[row] - first..offsets[row + 1] - first;
                sort_row(&mut columns[places.clone()], &mut values[places], scratch);
            }
        },
    );
}

fn sort_row<T: Scalar>(columns: &mut [u32], values: &mut [T], scratch: &mut Vec<(u32, T)>) {
    if columns.is_sorted() {
        return;
    }
    scratch.clear();
    scratch.extend(columns.iter().copied().zip(values.iter().copied()));
    scratch.sort_by_key(|entry| entry.0);
    for ((column, value), &sorted) in columns.iter_mut().zip(values).zip(&*scratch) {
        (*column, *value) = sorted;
    }
}

/// Refuses or sums equal columns of sorted rows; returns the new offsets.
pub(super) fn merge_duplicates<T: Scalar>(
    offsets: Vec<usize>,
    columns: &mut Vec<u32>,
    values: &mut Vec<T>,
    duplicates: Duplicates,
) -> Result<Vec<usize>> {
    if is_canonical(&offsets, columns) {
        return Ok(offsets);
    }
    let mut merged = Vec::with_capacity(offsets.len());
    let mut kept = 0;
    for (row, bounds) in offsets.windows(2).enumerate() {
        merged.push(kept);
        let first = kept;
        for place in bounds[0]..bounds[1] {
            let repeats = kept > first && columns[kept - 1] == columns[place];
            if !repeats {
                columns[kept] = columns[place];
                values[kept] = values[place];
                kept += 1;
            } else if duplicates == Duplicates::Sum {
                values[kept - 1] = T::store(values[kept - 1].load() + values[place].load());
            } else {
                let column = columns[place] as usize;
                return Err(Error::DuplicateEntry { row, column });
            }
        }
    }
    merged.push(kept);
    columns.truncate(kept);
    values.truncate(kept);
    Ok(merged)
}
