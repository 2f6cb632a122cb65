//! Triangular solves by levels or blocks: what does not depend on each other, side by side.

use std::ops::Range;

use super::{Shared, Threads};
use crate::reference;
pub use crate::reference::triangular::TriangleArrays;
use crate::scalar::Scalar;

/// Steps of a level that one task makes, at least.
const STEPS_PER_TASK: usize = 256;
/// Entries a level must have in the mean: the threads wait for each other after every one.
const ENTRIES_PER_LEVEL: usize = 8 * 1024;
/// How many times slower a solve is whose every step leaps to another part of the vectors, as the
/// levels of a grid numbered line by line do: measured 4 to 5 times.
const COST_OF_LEAPS: usize = 5;

/// Rows sorted by level: those of one level depend on rows of earlier levels alone (Anderson
/// and Saad 1989).
pub struct Levels {
    /// The rows, level after level.
    pub order: Vec<u32>,
    /// Where each level begins in the order, and at the end the number of rows.
    pub bounds: Vec<usize>,
}

impl Levels {
    /// The levels of a triangle whose entries off the diagonal are given; `rows` is an order its
    /// rows can be solved in.
    pub fn new(
        rows: impl Iterator<Item = u32> + Clone,
        offsets: &[usize],
        columns: &[u32],
    ) -> Self {
        let (levels, bounds) = levels_of(rows.clone(), offsets, columns);
        let order = sort_by_level(rows, &levels, &bounds);
        Self { order, bounds }
    }

    /// The same; none where one thread is as fast.
    pub fn wide(
        threads: &Threads,
        rows: impl Iterator<Item = u32> + Clone,
        offsets: &[usize],
        columns: &[u32],
    ) -> Option<Self> {
        let (levels, bounds) = levels_of(rows.clone(), offsets, columns);
        let mean = (columns.len() + levels.len()) / (bounds.len() - 1).max(1);
        if threads.count() == 1 || mean < ENTRIES_PER_LEVEL {
            return None;
        }
        let order = sort_by_level(rows, &levels, &bounds);
        let worth = threads.count() > COST_OF_LEAPS * leaps(&order) / order.len();
        worth.then_some(Self { order, bounds })
    }
}

/// The level of every row, and where each level begins.
fn levels_of(
    rows: impl Iterator<Item = u32>,
    offsets: &[usize],
    columns: &[u32],
) -> (Vec<u32>, Vec<usize>) {
    let mut levels = vec![0_u32; offsets.len() - 1];
    let mut bounds = vec![0];
    for row in rows.map(|row| row as usize) {
        let needed = &columns[offsets[row]..offsets[row + 1]];
        let level = needed.iter().map(|&c| levels[c as usize] + 1).max();
        levels[row] = level.unwrap_or(0);
        let level = levels[row] as usize;
        if level + 1 == bounds.len() {
            bounds.push(0);
        }
        bounds[level + 1] += 1;
    }
    for level in 1..bounds.len() {
        bounds[level] += bounds[level - 1];
    }
    (levels, bounds)
}

/// Steps whose row is no neighbour of the row before.
fn leaps(order: &[u32]) -> usize {
    let steps = order.windows(2);
    steps.filter(|rows| rows[0].abs_diff(rows[1]) > 1).count()
}

fn sort_by_level(rows: impl Iterator<Item = u32>, levels: &[u32], bounds: &[usize]) -> Vec<u32> {
    let mut next = bounds.to_vec();
    let mut order = vec![0; levels.len()];
    for row in rows {
        let place = &mut next[levels[row as usize] as usize];
        order[*place] = row;
        *place += 1;
    }
    order
}

/// `A y = b`; `bounds` are those of the levels. Each row's sum has its fixed order, so the bits
/// are those of the serial solve.
///
/// # Safety
/// Every row is solved by one step, and depends on rows of earlier levels alone.
pub unsafe fn solve<T: Scalar>(
    threads: &Threads,
    bounds: &[usize],
    a: TriangleArrays<'_, T>,
    b: &[T],
    y: &mut [T],
    cols: usize,
) {
    let bytes = |steps: &Range<usize>| bytes(&a, steps, cols);
    if !threads.worth(bytes(&(0..a.order.len()))) {
        return reference::triangular::solve(a, b, y, cols);
    }
    assert!(y.len() >= b.len());
    let y = Shared(y.as_mut_ptr());
    let step = |step: usize| solve_step(a, step, b, &y, cols);
    for steps in bounds.windows(2).map(|ends| ends[0]..ends[1]) {
        let tasks = steps.len().div_ceil(STEPS_PER_TASK);
        threads.for_each(tasks, bytes(&steps), &|task| {
            let first = steps.start + task * STEPS_PER_TASK;
            (first..(first + STEPS_PER_TASK).min(steps.end)).for_each(step);
        });
    }
}

/// `A y = b` where the steps between consecutive `bounds` depend on each other alone.
///
/// # Safety
/// Every row is solved by one step, and depends on rows of earlier steps of its block alone.
pub unsafe fn solve_blocks<T: Scalar>(
    threads: &Threads,
    bounds: &[usize],
    a: TriangleArrays<'_, T>,
    b: &[T],
    y: &mut [T],
    cols: usize,
) {
    assert!(y.len() >= b.len());
    let y = Shared(y.as_mut_ptr());
    let bytes = bytes(&a, &(0..a.order.len()), cols);
    threads.for_each(bounds.len() - 1, bytes, &|block| {
        (bounds[block]..bounds[block + 1]).for_each(|step| solve_step(a, step, b, &y, cols));
    });
}

/// What some steps move.
fn bytes<T: Scalar>(a: &TriangleArrays<'_, T>, steps: &Range<usize>, cols: usize) -> usize {
    let offsets = a.off_diagonal.offsets;
    let entries = offsets[steps.end] - offsets[steps.start] + steps.len() * cols;
    entries * (size_of::<T>() + size_of::<u32>())
}

fn solve_step<T: Scalar>(
    a: TriangleArrays<'_, T>,
    step: usize,
    b: &[T],
    y: &Shared<T>,
    cols: usize,
) {
    let at = |place: usize| {
        assert!(place < b.len());
        y.pointer().wrapping_add(place)
    };
    for column in 0..cols {
        // SAFETY: `y` has as many numbers as `b`. By the conditions of the callers, the rows read belong to earlier levels, which
        // are complete, or to earlier steps of the same block, which one thread makes; the row written is that of this step alone.
        unsafe {
            let value = a.solution(step, b, |place| *at(place), column, cols);
            *at(a.place(step, column, cols)) = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two halves, the second dependent on the first; rows of a half are `stride` apart.
    fn levels(threads: usize, stride: u32) -> Option<Levels> {
        let n = 40_000_u32;
        let order: Vec<u32> = (0..stride)
            .flat_map(|k| (k..n).step_by(stride as usize))
            .collect();
        let (first, second) = order.split_at(order.len() / 2);
        let mut needs = vec![None; n as usize];
        for (&row, &needed) in second.iter().zip(first) {
            needs[row as usize] = Some(needed);
        }
        let mut offsets = vec![0];
        offsets.extend(needs.iter().scan(0, |sum, needed| {
            *sum += usize::from(needed.is_some());
            Some(*sum)
        }));
        let columns: Vec<u32> = needs.into_iter().flatten().collect();
        let threads = Threads::new(threads).unwrap();
        Levels::wide(&threads, order.into_iter(), &offsets, &columns)
    }

    #[test]
    fn scattered_levels_need_more_threads() {
        assert!(levels(1, 1).is_none());
        assert_eq!(levels(2, 1).unwrap().bounds, [0, 20_000, 40_000]);
        assert!(levels(2, 2).is_none());
        assert_eq!(levels(8, 2).unwrap().order[..2], [0, 2]);
    }

    #[test]
    fn a_chain_has_no_levels_worth_having() {
        let n = 50_000;
        let offsets: Vec<usize> = [0].into_iter().chain(0..n).collect();
        let columns: Vec<u32> = (0..n as u32 - 1).collect();
        let threads = Threads::new(8).unwrap();
        assert!(Levels::wide(&threads, 0..n as u32, &offsets, &columns).is_none());
    }
}
