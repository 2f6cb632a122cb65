//! Matrices made row by row, in parallel, with nothing in memory but the matrix.

use std::ops::Range;

use vcycle_core::communicator::Communicator;

use crate::executor::check_memory;
use crate::matrix::{Partition, RowsOf, balance, cut_rows};
use crate::prelude::*;

/// Rows that one task counts.
const ROWS_PER_TASK: usize = 1024;

/// A column and a value.
const ENTRY_BYTES: usize = size_of::<u32>() + size_of::<f64>();

/// A square matrix that can say the entries of any of its rows.
pub(super) trait Rows: Sync {
    fn rows(&self) -> usize;

    /// Calls `visit(column, value)` for the entries of `row`, their columns increasing.
    fn each_entry(&self, row: usize, visit: impl FnMut(usize, f64));

    /// How many entries `row` has.
    fn count(&self, row: usize) -> usize {
        let mut count = 0;
        self.each_entry(row, |_, _| count += 1);
        count
    }
}

/// Columns before the first own row that entries of a rank may be in, and behind it: numbers of 32 bits tell them apart.
const REACH: usize = 1 << 31;

/// The own rows of a rank; columns are counted from [`REACH`] before them.
struct Part<'m, M> {
    matrix: &'m M,
    own: Range<usize>,
}

impl<M: Rows> Rows for Part<'_, M> {
    fn rows(&self) -> usize {
        self.own.len()
    }

    fn each_entry(&self, row: usize, mut visit: impl FnMut(usize, f64)) {
        let first = self.own.start;
        let visit = |column: usize, value: f64| visit(column + REACH - first, value);
        self.matrix.each_entry(first + row, visit);
    }
}

/// What the first column is of the matrix that one of several ranks makes of so many rows; it may be negative.
pub(super) fn first_column(rank: &Executor, rows: usize) -> u64 {
    let own = rank.team().map(|team| own_rows(team.as_ref(), rows).start);
    own.map_or(0, |own| (own as u64).wrapping_sub(REACH as u64))
}

fn own_rows(team: &dyn Communicator, rows: usize) -> Range<usize> {
    let own = Partition::even(rows as u64, 1, team.size()).range(team.rank());
    own.start as usize..own.end as usize
}

/// The matrix; on one rank of a team its own rows, about as many for every rank, whose columns are counted from
/// [`first_column`] on.
pub(super) fn assemble(executor: &Executor, matrix: &impl Rows) -> Result<Csr<f64>> {
    let rows = matrix.rows();
    let Some(team) = executor.team() else {
        return assembled(executor, matrix, rows);
    };
    let own = own_rows(team.as_ref(), rows);
    assembled(&executor.alone(), &Part { matrix, own }, 2 * REACH - 1)
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
            (*column, *value) = (new_column as u32, new_value);
        });
    }
}

#[cfg(test)]
mod tests {
    use vcycle_core::communicator::{Communicator, Counters, Meanwhile, Span};

    use crate::gallery::build_part;
    use crate::prelude::*;

    /// A rank in the midst of so many that do the same that nobody has to be asked.
    #[derive(Debug)]
    struct OneOfMany {
        rank: usize,
        ranks: usize,
        rows: u64,
        counters: Counters,
    }

    impl OneOfMany {
        /// What a neighbour asks for, as this rank asks that on the other side.
        fn shifted(&self, bytes: &[u8], by: u64) -> Vec<u8> {
            let rows = bytes.as_chunks::<8>().0.iter();
            let shifted = rows.map(|&row| u64::from_ne_bytes(row).wrapping_add(by).to_ne_bytes());
            shifted.collect::<Vec<_>>().concat()
        }
    }

    impl Communicator for OneOfMany {
        fn rank(&self) -> usize {
            self.rank
        }

        fn size(&self) -> usize {
            self.ranks
        }

        fn counters(&self) -> &Counters {
            &self.counters
        }

        fn add(&self, _values: &mut [f64], _meanwhile: Option<Meanwhile<'_>>) -> Result<()> {
            Ok(())
        }

        unsafe fn transfer(
            &self,
            _sent: &[Span],
            _received: &[Span],
            meanwhile: Meanwhile<'_>,
        ) -> Result<()> {
            meanwhile()
        }

        fn swap(&self, mut bytes: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
            if bytes[0] != bytes[self.rank] || bytes[self.rank].is_empty() {
                let [before, after] = [self.rank - 1, self.rank + 1];
                let asked = self.shifted(&bytes[after], self.rows.wrapping_neg());
                bytes[after] = self.shifted(&bytes[before], self.rows);
                bytes[before] = asked;
            }
            Ok(bytes)
        }

        fn part(&self, _colour: usize) -> Result<Arc<dyn Communicator>> {
            unreachable!("no team is cut")
        }
    }

    #[test]
    fn rows_beyond_32_bits_are_made_by_their_rank() {
        let (ranks, rows) = (1 << 18, 20_480);
        let rank = ranks - 100;
        let team: Arc<dyn Communicator> = Arc::new(OneOfMany {
            rank,
            ranks,
            rows,
            counters: Counters::default(),
        });
        let rank = Executor::cpu_with_threads(1).unwrap();
        let rank = rank.with_team(&team).unwrap();
        let (a, b) = build_part("poisson7:32x32x5242880", &rank)
            .unwrap()
            .unwrap();
        let own = a.columns().own_rows();
        assert_eq!((b.len() as u64, own.end - own.start), (rows, rows));
        assert_eq!(a.rows().total(), 5_368_709_120);
        assert!(own.start == rows * team.rank() as u64 && own.start > 1 << 32);
        // The row of the second point of the second line.
        let (columns, values) = a.local().row(33);
        let columns: Vec<u64> = columns
            .iter()
            .map(|&column| a.columns().global(column as usize).wrapping_sub(own.start))
            .collect();
        let expected = [33_u64.wrapping_sub(1024), 1, 32, 33, 34, 65, 1057];
        assert_eq!(columns, expected);
        assert_eq!(values[3], 6.0);
        assert_eq!(
            (a.columns().neighbours(), a.columns().sent_count()),
            (2, 2048)
        );
    }
}
