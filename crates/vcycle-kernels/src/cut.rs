//! Cuts the rows of a pattern into pieces of equal work, independent of the number of threads.

use std::ops::Range;

/// Entries in a piece of work: enough to hide the cost of a task.
const ENTRIES_PER_PIECE: usize = 32 * 1024;
/// Pieces of any matrix: enough to balance the threads of a large machine.
const PIECES: usize = 1024;
/// Slices of any matrix; each needs memory for sums over the columns it reaches.
const SLICES: usize = 16;

/// Rows whose products with the transpose are summed apart from those of other slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The rows.
    pub rows: Range<usize>,
    /// The columns between the first and the last entry of these rows.
    pub columns: Range<usize>,
    /// Columns of the slices before.
    pub start: usize,
}

/// Bounds of row ranges of about equal work. `work(row)` is that of all rows before `row`: their
/// entries, and one for each row itself.
pub fn balance(rows: usize, work: impl Fn(usize) -> usize) -> Vec<usize> {
    cut(rows, &work, pieces(work(rows)))
}

/// How many pieces so much work is cut into.
fn pieces(work: usize) -> usize {
    (work / ENTRIES_PER_PIECE).clamp(1, PIECES)
}

/// The work before each of the pieces that so much is cut into: a piece begins at the first row with that much before it.
pub fn work_before_pieces(all: usize) -> Vec<usize> {
    let count = pieces(all);
    (0..count).map(|piece| target(piece, count, all)).collect()
}

/// The work before a piece.
fn target(piece: usize, count: usize, all: usize) -> usize {
    (piece as u128 * all as u128 / count as u128) as usize
}

/// As many slices, up to 16, as need no more sums than there are entries.
pub fn slices(offsets: &[usize], columns: &[u32]) -> Vec<Slice> {
    let most = SLICES.min(columns.len() / ENTRIES_PER_PIECE).max(1);
    let mut count = most;
    loop {
        let bounds = cut(offsets.len() - 1, &|row| offsets[row] + row, count);
        let slices = reach(&bounds, offsets, columns);
        let sums = slices
            .last()
            .map_or(0, |last| last.start + last.columns.len());
        if count == 1 || sums <= columns.len() {
            return slices;
        }
        count /= 2;
    }
}

/// Cuts rows into at most `count` ranges of about equal work.
fn cut(rows: usize, work: &dyn Fn(usize) -> usize, count: usize) -> Vec<usize> {
    let all = work(rows);
    let mut bounds: Vec<usize> = (0..count)
        .map(|piece| partition_point(rows, |row| work(row) < target(piece, count, all)))
        .chain([rows])
        .collect();
    bounds.dedup();
    if bounds.len() == 1 {
        bounds.push(rows);
    }
    bounds
}

/// The first of `0..=count` for which `before` does not hold.
fn partition_point(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = (low + high) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The slices between `bounds`, with the columns each reaches.
fn reach(bounds: &[usize], offsets: &[usize], columns: &[u32]) -> Vec<Slice> {
    let mut start = 0;
    let slice = |rows: Range<usize>| {
        let (mut low, mut high) = (u32::MAX, 0);
        for row in rows.clone() {
            if let [first, .., last] | [first @ last] = columns[offsets[row]..offsets[row + 1]] {
                (low, high) = (low.min(first), high.max(last + 1));
            }
        }
        let columns = low.min(high) as usize..high as usize;
        let before = start;
        start += columns.len();
        Slice {
            rows,
            columns,
            start: before,
        }
    };
    bounds
        .windows(2)
        .map(|pair| pair[0]..pair[1])
        .map(slice)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_balanced_by_entries() {
        let mut offsets: Vec<usize> = (0..=1000).collect();
        offsets.push(1000 + 3 * ENTRIES_PER_PIECE);
        offsets.extend((1..=100_000).map(|row| 1000 + 3 * ENTRIES_PER_PIECE + row));
        let pieces = balance(offsets.len() - 1, |row| offsets[row] + row);
        assert_eq!((pieces[0], *pieces.last().unwrap()), (0, offsets.len() - 1));
        assert!(pieces.is_sorted_by(|a, b| a < b));
        assert!(pieces.len() > 4);
    }

    #[test]
    fn an_empty_matrix_is_one_piece() {
        assert_eq!(balance(0, |_| 0), [0, 0]);
        assert_eq!(slices(&[0], &[]).len(), 1);
    }

    #[test]
    fn slices_of_a_band_reach_little_more_than_their_rows() {
        let n = 8 * ENTRIES_PER_PIECE;
        let offsets: Vec<usize> = (0..=n).map(|row| 2 * row).collect();
        let columns: Vec<u32> = (0..n as u32).flat_map(|row| [row, row + 1]).collect();
        let slices = slices(&offsets, &columns);
        assert_eq!(slices.len(), SLICES);
        for slice in &slices {
            assert_eq!(slice.columns, slice.rows.start..slice.rows.end + 1);
        }
        assert_eq!(slices[3].start, 3 * (n / SLICES + 1));
    }

    #[test]
    fn slices_that_reach_everywhere_are_few() {
        let n = 4 * ENTRIES_PER_PIECE;
        let offsets: Vec<usize> = (0..=n).map(|row| 2 * row).collect();
        let columns: Vec<u32> = (0..n).flat_map(|_| [0, n as u32 - 1]).collect();
        assert_eq!(slices(&offsets, &columns).len(), 2);
    }
}
