//! Matrices made row by row, in parallel, with nothing in memory but the matrix.

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::linop::Size;
use crate::matrix::Csr;

/// Rows that one task makes.
const ROWS_PER_TASK: usize = 1024;

/// A column and a value.
const ENTRY_BYTES: usize = size_of::<u32>() + size_of::<f64>();

/// A square matrix that can say the entries of any of its rows.
pub(super) trait Rows: Sync {
    fn rows(&self) -> usize;

    /// Calls `visit(column, value)` for the entries of `row`, their columns increasing.
    fn each_entry(&self, row: usize, visit: impl FnMut(u32, f64));
}

/// Goes over the rows twice: to count their entries, then to write them.
pub(super) fn assemble(executor: &Executor, matrix: &impl Rows) -> Result<Csr<f64>> {
    let rows = matrix.rows();
    // No row is empty; how many entries there are shows only once they are counted.
    check_memory(executor, rows, size_of::<usize>() + ENTRY_BYTES)?;
    let offsets = offsets(executor, matrix);
    let entries = offsets[rows];
    check_memory(executor, entries, ENTRY_BYTES)?;
    let mut columns = vec![0; entries];
    let mut values = vec![0.0; entries];
    let tasks = split(&offsets, &mut columns, &mut values);
    for_each(executor, tasks, |task| task.fill(matrix));
    let size = Size::square(rows);
    Ok(Csr::from_canonical(
        executor, size, offsets, columns, values,
    ))
}

fn offsets(executor: &Executor, matrix: &impl Rows) -> Vec<usize> {
    let mut offsets = vec![0; matrix.rows() + 1];
    let tasks = offsets[1..].chunks_mut(ROWS_PER_TASK).enumerate().collect();
    for_each(executor, tasks, |(task, counts): (usize, &mut [usize])| {
        for (row, count) in counts.iter_mut().enumerate() {
            matrix.each_entry(task * ROWS_PER_TASK + row, |_, _| *count += 1);
        }
    });
    let mut total = 0;
    for offset in &mut offsets {
        total += *offset;
        *offset = total;
    }
    offsets
}

/// Some rows and the memory of their entries.
struct Task<'a> {
    first_row: usize,
    rows: usize,
    columns: &'a mut [u32],
    values: &'a mut [f64],
}

impl Task<'_> {
    fn fill(self, matrix: &impl Rows) {
        let mut entries = self.columns.iter_mut().zip(self.values);
        for row in self.first_row..self.first_row + self.rows {
            matrix.each_entry(row, |new_column, new_value| {
                let (column, value) = entries.next().expect("entries as counted");
                (*column, *value) = (new_column, new_value);
            });
        }
    }
}

fn split<'a>(
    offsets: &[usize],
    mut columns: &'a mut [u32],
    mut values: &'a mut [f64],
) -> Vec<Task<'a>> {
    let all = offsets.len() - 1;
    (0..all)
        .step_by(ROWS_PER_TASK)
        .map(|first_row| {
            let rows = ROWS_PER_TASK.min(all - first_row);
            let entries = offsets[first_row + rows] - offsets[first_row];
            Task {
                first_row,
                rows,
                columns: columns.split_off_mut(..entries).expect("entries counted"),
                values: values.split_off_mut(..entries).expect("entries counted"),
            }
        })
        .collect()
}

fn for_each<T: Send>(executor: &Executor, tasks: Vec<T>, work: impl Fn(T) + Sync + Send) {
    match executor {
        Executor::Cpu(threads) if threads.count() > 1 => {
            threads.install(|| tasks.into_par_iter().for_each(work));
        }
        _ => tasks.into_iter().for_each(work),
    }
}

/// Fails if the machine has less memory to give: Linux would promise it and then kill.
pub(super) fn check_memory(executor: &Executor, count: usize, bytes_each: usize) -> Result<()> {
    let bytes = count.saturating_mul(bytes_each);
    let promised = Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    if promised && available_memory().is_none_or(|available| bytes <= available) {
        return Ok(());
    }
    Err(Error::OutOfMemory {
        bytes,
        executor: executor.name().to_owned(),
    })
}

/// What the system says it can give without swapping, where it says so.
fn available_memory() -> Option<usize> {
    let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = facts
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: usize = line.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_memory_is_refused() {
        let refused = check_memory(&Executor::reference(), usize::MAX, ENTRY_BYTES);
        assert!(matches!(refused, Err(Error::OutOfMemory { .. })));
        assert!(check_memory(&Executor::reference(), 1000, ENTRY_BYTES).is_ok());
    }
}
