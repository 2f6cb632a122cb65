//! Columns of many entries, looked at by all threads.

use std::ops::Range;

use crate::executor::Executor;

/// Columns that one task looks at.
const PART: usize = 64 * 1024;

/// The `number` of every column.
pub(super) fn mapped(
    executor: &Executor,
    columns: &[u32],
    number: impl Fn(u32) -> u32 + Sync + Send,
) -> Vec<u32> {
    let mut made = vec![0; columns.len()];
    let parts = made.chunks_mut(PART).zip(columns.chunks(PART)).collect();
    let map = |(made, columns): (&mut [u32], &[u32])| {
        let pairs = made.iter_mut().zip(columns);
        pairs.for_each(|(made, column)| *made = number(*column));
    };
    executor.run(2 * size_of_val(columns), parts, map);
    made
}

/// [`mapped`] in place.
pub(super) fn map_in_place(
    executor: &Executor,
    columns: &mut [u32],
    number: impl Fn(u32) -> u32 + Sync + Send,
) {
    let bytes = size_of_val(columns);
    let map = |columns: &mut [u32]| columns.iter_mut().for_each(|one| *one = number(*one));
    executor.run(bytes, columns.chunks_mut(PART).collect(), map);
}

/// The columns that are not own ones, by increasing number, each once.
pub(super) fn others_among(executor: &Executor, columns: &[u32], own: &Range<usize>) -> Vec<u32> {
    let (first, count) = (own.start as u32, own.len() as u32);
    let look = |columns: &[u32]| -> Vec<u32> {
        let others = columns.iter().copied();
        let others = others.filter(|column| column.wrapping_sub(first) >= count);
        others.collect()
    };
    let parts = executor.run(size_of_val(columns), columns.chunks(PART).collect(), look);
    let mut others = parts.concat();
    others.sort_unstable();
    others.dedup();
    others
}
