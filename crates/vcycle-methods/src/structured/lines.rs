//! Loops over the lines of a grid on several threads, and arithmetic on lines.

use std::ops::Range;

use crate::executor::cut;
use crate::matrix::zeroed;
use crate::multiversion;
use crate::prelude::*;

use super::{Grid, StencilMatrix};

/// Cells that one task makes, about.
const CELLS: usize = 4 * 1024;

/// Numbers made line by line, `numbers` a cell: `work(line, numbers of the line)`, which are zeros before.
pub(super) fn made_of_lines(
    executor: &Executor,
    grid: Grid,
    numbers: usize,
    work: impl Fn(usize, &mut [f64]) + Sync + Send,
) -> Result<Vec<f64>> {
    let mut values = zeroed(executor, grid.cells() * numbers)?;
    for_lines(
        executor,
        grid.length(),
        numbers,
        &mut values,
        || (),
        |(), line, out| work(line, out),
    );
    Ok(values)
}

/// `work(scratch, line, numbers of the line)` for lines of `length` cells, `numbers` for each.
pub(super) fn for_lines<S: Send>(
    executor: &Executor,
    length: usize,
    numbers: usize,
    out: &mut [f64],
    scratch: impl Fn() -> S + Sync + Send,
    work: impl Fn(&mut S, usize, &mut [f64]) + Sync + Send,
) {
    let (share, per_task) = (length * numbers, CELLS.div_ceil(length));
    let (lines, bytes) = (out.len() / share, size_of_val(out));
    let starts = (0..lines).step_by(per_task);
    let lengths = starts
        .clone()
        .map(|first| per_task.min(lines - first) * share);
    let tasks = starts.zip(cut(out, lengths)).collect();
    executor.run_with(bytes, tasks, scratch, |scratch, (first, out)| {
        for (line, out) in out.chunks_mut(share).enumerate() {
            work(scratch, first + line, out);
        }
    });
}

impl StencilMatrix<f64> {
    /// [`map_lines`] for the own ones of a matrix.
    pub(super) fn map_own_lines<R: Send>(
        &self,
        work: impl Fn(Range<usize>) -> R + Sync + Send,
    ) -> Vec<R> {
        let own = self.own_cells().lines(self.grid()).into_iter();
        map_lines(self.executor(), self.bytes(), own, work)
    }
}

/// Lines that a task of [`map_lines`] looks at, at most.
const LINES: usize = 32;

/// `work` for some of so many lines at a time, in order.
pub(super) fn map_lines<R: Send>(
    executor: &Executor,
    bytes: usize,
    lines: impl Iterator<Item = Range<usize>>,
    work: impl Fn(Range<usize>) -> R + Sync + Send,
) -> Vec<R> {
    let tasks = lines.flat_map(|lines| {
        let firsts = lines.clone().step_by(LINES);
        firsts.map(move |first| first..(first + LINES).min(lines.end))
    });
    executor.run(bytes, tasks.collect(), work)
}

multiversion! {
    pub(super) fn add[](from: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(from).for_each(|(out, from)| *out += from);
    }
}
