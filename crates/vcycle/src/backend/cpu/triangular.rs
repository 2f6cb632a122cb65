//! Triangular solves by levels: rows that do not depend on each other, side by side.

use rayon::prelude::*;

use super::Threads;
use crate::backend::reference;
pub(crate) use crate::backend::reference::triangular::TriangleArrays;
use crate::scalar::Scalar;

/// Rows of a level that one task solves.
const ROWS_PER_TASK: usize = 256;

/// Rows sorted by level: those of one level depend on rows of earlier levels alone (Anderson
/// and Saad 1989).
#[derive(Clone)]
pub(crate) struct Levels {
    order: Vec<u32>,
    bounds: Vec<usize>,
    widest: usize,
}

impl Levels {
    /// The levels of a triangle whose entries off the diagonal are given.
    pub(crate) fn new(offsets: &[usize], columns: &[u32], upper: bool) -> Self {
        let rows = offsets.len() - 1;
        let mut levels = vec![0_usize; rows];
        let mut bounds = vec![0];
        for step in 0..rows {
            let row = if upper { rows - 1 - step } else { step };
            let needed = &columns[offsets[row]..offsets[row + 1]];
            let level = needed.iter().map(|&c| levels[c as usize] + 1).max();
            levels[row] = level.unwrap_or(0);
            if levels[row] + 1 == bounds.len() {
                bounds.push(0);
            }
            bounds[levels[row] + 1] += 1;
        }
        let widest = bounds.iter().copied().max().unwrap_or(0);
        for level in 1..bounds.len() {
            bounds[level] += bounds[level - 1];
        }
        Self {
            order: sort_by_level(&levels, &bounds),
            bounds,
            widest,
        }
    }

    /// The rows of every level, one after the other.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.bounds
            .windows(2)
            .map(|ends| &self.order[ends[0]..ends[1]])
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.order[..]) + size_of_val(&self.bounds[..])
    }
}

fn sort_by_level(levels: &[usize], bounds: &[usize]) -> Vec<u32> {
    let mut next = bounds.to_vec();
    let mut order = vec![0; levels.len()];
    for (row, &level) in levels.iter().enumerate() {
        order[next[level]] = row as u32;
        next[level] += 1;
    }
    order
}

/// `A y = b`. Each row's sum has its fixed order, so the bits are those of the serial solve.
pub(crate) fn solve<T: Scalar>(
    threads: &Threads,
    levels: &Levels,
    a: TriangleArrays<'_, T>,
    b: &[T],
    y: &mut [T],
    cols: usize,
) {
    let entry = size_of::<T>() + size_of::<u32>();
    let row_bytes = a.off_diagonal.values.len() * entry / a.rows().max(1) + size_of::<T>() * cols;
    // Where no level is worth more than one thread, the order of the rows reads memory best.
    let Some(pool) = threads.worth(levels.widest * row_bytes) else {
        return reference::triangular::solve(a, b, y, cols);
    };
    let y = SharedRows::new(y);
    pool.install(|| {
        for rows in levels.iter() {
            let each = |rows: &[u32]| solve_rows(a, rows, b, &y, cols);
            match threads.worth(rows.len() * row_bytes) {
                Some(_) => rows.par_chunks(ROWS_PER_TASK).for_each(each),
                None => each(rows),
            }
        }
    });
}

fn solve_rows<T: Scalar>(
    a: TriangleArrays<'_, T>,
    rows: &[u32],
    b: &[T],
    y: &SharedRows<T>,
    cols: usize,
) {
    for row in rows.iter().map(|&row| row as usize) {
        for column in 0..cols {
            // SAFETY: the rows read belong to earlier levels, which are complete; this row is
            // written by this task alone.
            unsafe {
                let value = a.solution(row, b, |place| y.read(place), column, cols);
                y.write(row * cols + column, value);
            }
        }
    }
}

/// Memory that tasks write at places of their own.
struct SharedRows<T> {
    start: *mut T,
    length: usize,
}

// SAFETY: every access is through `read` and `write`, whose callers exclude races.
unsafe impl<T: Send> Sync for SharedRows<T> {}

impl<T: Copy> SharedRows<T> {
    fn new(values: &mut [T]) -> Self {
        Self {
            start: values.as_mut_ptr(),
            length: values.len(),
        }
    }

    /// # Safety
    /// Nobody writes to `place` at the same time.
    #[inline(always)]
    unsafe fn read(&self, place: usize) -> T {
        assert!(place < self.length);
        // SAFETY: in range, and the caller excludes races.
        unsafe { *self.start.add(place) }
    }

    /// # Safety
    /// Nobody reads or writes `place` at the same time.
    #[inline(always)]
    unsafe fn write(&self, place: usize, value: T) {
        assert!(place < self.length);
        // SAFETY: in range, and the caller excludes races.
        unsafe { *self.start.add(place) = value };
    }
}
