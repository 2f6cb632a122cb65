//! Rows of a sparse matrix filled independently of each other, for set-ups.

use super::cpu::Threads;
use crate::executor::Executor;

/// Rows in one piece of work.
const ROWS_PER_PIECE: usize = 64;

/// `work(row, values_of_row)` for every row; `offsets` says where the rows begin in `values`.
pub(crate) fn fill_rows<V: Send>(
    executor: &Executor,
    offsets: &[usize],
    values: &mut [V],
    work: impl Fn(usize, &mut [V]) + Sync + Send,
) {
    match executor {
        Executor::Reference => fill_from(offsets, 0, values, &work),
        Executor::Cpu(threads) => fill_pieces(threads, offsets, values, &work),
    }
}

fn fill_pieces<V: Send>(
    threads: &Threads,
    offsets: &[usize],
    values: &mut [V],
    work: &(impl Fn(usize, &mut [V]) + Sync + Send),
) {
    let end = values.len();
    let starts = offsets.iter().step_by(ROWS_PER_PIECE).copied();
    let bounds: Vec<usize> = starts.filter(|&start| start < end).chain([end]).collect();
    // The work on an entry grows with the length of its row.
    let bytes = size_of_val(values) * (end / offsets.len());
    if end > 0 {
        threads.for_row_ranges(&bounds, values, 1, bytes, |first, values| {
            fill_from(offsets, first, values, work);
        });
    }
}

/// The rows whose entries are `values`, the first of them entry `first` of the matrix.
fn fill_from<V>(
    offsets: &[usize],
    first: usize,
    mut values: &mut [V],
    work: &impl Fn(usize, &mut [V]),
) {
    let mut row = offsets.partition_point(|&offset| offset < first);
    while !values.is_empty() {
        let (of_row, rest) = values.split_at_mut(offsets[row + 1] - offsets[row]);
        work(row, of_row);
        values = rest;
        row += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_filled_once_on_any_executor() {
        let lengths = (0..3000).map(|row| (row * 7) % 90);
        let mut offsets = vec![0];
        offsets.extend(lengths.scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        }));
        let expected: Vec<usize> = offsets
            .windows(2)
            .enumerate()
            .flat_map(|(row, ends)| vec![row; ends[1] - ends[0]])
            .collect();
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
