//! Matrices made row by row, in parallel, with nothing in memory but the matrix.

use std::ops::Range;

use crate::error::Result;
use crate::executor::{Executor, check_memory};
use crate::linop::Size;
use crate::matrix::{Csr, Partition, RowsOf, balance, cut_rows};

/// Rows that one task counts.
const ROWS_PER_TASK: usize = 1024;

/// A column and a value.
const ENTRY_BYTES: usize = size_of::<u32>() + size_of::<f64>();

/// A square matrix that can say the entries of any of its rows.
pub(super) trait Rows: Sync {
    fn rows(&self) -> usize;

    /// Calls `visit(column, value)` for the entries of `row`, their columns increasing.
    fn each_entry(&self, row: usize, visit: impl FnMut(u32, f64));

    /// How many entries `row` has.
    fn count(&self, row: usize) -> usize {
        let mut count = 0;
        self.each_entry(row, |_, _| count += 1);
        count
    }
}

/// The own rows of a rank.
struct Part<'m, M> {
    matrix: &'m M,
    own: Range<usize>,
}

impl<M: Rows> Rows for Part<'_, M> {
    fn rows(&self) -> usize {
        self.own.len()
    }

    fn each_entry(&self, row: usize, visit: impl FnMut(u32, f64)) {
        self.matrix.each_entry(self.own.start + row, visit);
    }
}

/// The matrix; on one rank of a team its own rows, about as many for every rank.
pub(super) fn assemble(executor: &Executor, matrix: &impl Rows) -> Result<Csr<f64>> {
    let rows = matrix.rows();
    let Some(team) = executor.team() else {
        return assembled(executor, matrix, rows);
    };
    let own = Partition::even(rows as u64, 1, team.size()).range(team.rank());
    let own = own.start as usize..own.end as usize;
    assembled(&executor.alone(), &Part { matrix, own }, rows)
}

/// Goes over the rows twice: to count their entries, then to write them.
fn assembled(executor: &Executor, matrix: &impl Rows, cols: usize) -> Result<Csr<f64>> {
    let rows = matrix.rows();
    // No row is empty; how many entries there are shows only once they are counted.
    check_memory(executor, rows, size_of::<usize>() + ENTRY_BYTES)?;
    let offsets = offsets(executor, matrix);
    let entries = offsets[rows];
    check_memory(executor, entries, ENTRY_BYTES)?;
    let mut columns = vec![0; entries];
    let mut values = vec![0.0; entries];
    let bounds = balance(rows, |row| offsets[row] + row);
    let tasks = cut_rows(&offsets, &bounds, &mut columns, &mut values);
    executor.run(entries * ENTRY_BYTES, tasks, |task| fill(matrix, task));
    let size = Size::new(rows, cols);
    Ok(Csr::from_canonical(
        executor, size, offsets, columns, values,
    ))
}

fn offsets(executor: &Executor, matrix: &impl Rows) -> Vec<usize> {
    let mut offsets = vec![0; matrix.rows() + 1];
    let tasks = offsets[1..].chunks_mut(ROWS_PER_TASK).enumerate().collect();
    let bytes = matrix.rows() * ENTRY_BYTES;
    executor.run(bytes, tasks, |(task, counts): (usize, &mut [usize])| {
        for (row, count) in counts.iter_mut().enumerate() {
            *count = matrix.count(task * ROWS_PER_TASK + row);
        }
    });
    let mut total = 0;
    for offset in &mut offsets {
        total += *offset;
        *offset = total;
    }
    offsets
}

fn fill(matrix: &impl Rows, (rows, columns, values): RowsOf<'_, f64>) {
    let mut entries = columns.iter_mut().zip(values);
    for row in rows {
        matrix.each_entry(row, |new_column, new_value| {
            let (column, value) = entries.next().expect("entries as counted");
            (*column, *value) = (new_column, new_value);
        });
    }
}
