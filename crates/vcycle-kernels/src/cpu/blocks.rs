//! Products with a block-diagonal matrix over ranges of blocks.

use super::Threads;
use crate::Transpose;
use crate::reference;
pub use crate::reference::blocks::BlockArrays;
use crate::scalar::Scalar;

/// `y = B x`; `bounds` are first rows of blocks, with about equal work between them.
pub fn apply<T: Scalar>(
    threads: &Threads,
    bounds: &[usize],
    transpose: Option<Transpose>,
    a: BlockArrays<'_, T>,
    x: &[T],
    y: &mut [T],
    cols: usize,
) {
    let bytes = size_of_val(a.full) + size_of_val(a.single) + size_of_val(a.half);
    threads.for_row_ranges(bounds, y, cols, bytes, &|first, y| {
        let x = &x[first * cols..first * cols + y.len()];
        let blocks = blocks(a, first, y.len() / cols);
        reference::blocks::apply(transpose, blocks, x, y, cols);
    });
}

/// The blocks of the rows `first..first + count`, sharing the arrays.
fn blocks<T>(a: BlockArrays<'_, T>, first: usize, count: usize) -> BlockArrays<'_, T> {
    let from = a.starts.partition_point(|&start| start < first);
    let to = a.starts.partition_point(|&start| start < first + count);
    BlockArrays {
        starts: &a.starts[from..=to],
        places: &a.places[from..to],
        ..a
    }
}
