//! Columns of many entries, looked at by all threads.

use super::local_numbers::LocalNumbers;
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Executor;
use crate::operations::parts;
use crate::scalar::Element;

/// Columns that one task looks at.
const PART: usize = 64 * 1024;

/// The `number` of every column.
pub(super) fn mapped(
    executor: &Executor,
    columns: &[u32],
    number: impl Fn(u32) -> u32 + Sync + Send,
) -> Vec<u32> {
    let mut made = vec![0; columns.len()];
    map_into(executor, columns, &mut made, number);
    made
}

/// Writes what becomes of each of some values.
pub(super) fn map_into<T: Element>(
    executor: &Executor,
    values: &[T],
    made: &mut [T],
    map: impl Fn(T) -> T + Sync + Send,
) {
    let parts = made.chunks_mut(PART).zip(values.chunks(PART)).collect();
    let work = |(made, values): (&mut [T], &[T])| {
        let pairs = made.iter_mut().zip(values);
        pairs.for_each(|(made, value)| *made = map(*value));
    };
    executor.run(2 * size_of_val(values), parts, work);
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

/// The columns with entries that are not own ones, by increasing number.
pub(super) fn others_among(pattern: &Pattern, numbers: &LocalNumbers) -> Result<Vec<u32>> {
    let (own, others) = (numbers.own(), numbers.others().len());
    if let Some(marks) = parts::others_marked(pattern, &own, others)? {
        let marks = marks.host()?.iter().enumerate();
        let marked = marks.filter(|(_, mark)| **mark != 0);
        return Ok(marked
            .map(|(place, _)| numbers.of_other(place) as u32)
            .collect());
    }
    let (first, count) = (own.start as u32, own.len() as u32);
    let look = |columns: &[u32]| -> Vec<u32> {
        let others = columns.iter().copied();
        let others = others.filter(|column| column.wrapping_sub(first) >= count);
        others.collect()
    };
    let columns = pattern.columns();
    let pieces = columns.chunks(PART).collect();
    let found = pattern.executor().run(size_of_val(columns), pieces, look);
    let mut others = found.concat();
    others.sort_unstable();
    others.dedup();
    Ok(others)
}
