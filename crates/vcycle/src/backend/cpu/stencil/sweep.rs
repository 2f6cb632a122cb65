//! Gauss-Seidel in eight colours.
//!
//! Planes of one parity come first, then the others; in a plane lines of one parity, then the others; in a
//! line what other lines contribute is summed up once, then the cells of one parity change, then the others.
//! Nothing has to wait for its neighbour inside a register. A plane or line of the second parity is done
//! as soon as those on both sides are: the results are the same, and its neighbours are still in the
//! cache. The unknowns of a cell change together: their block is solved with.

use std::ops::Range;

use super::coarse::{Correction, Prolonged};
use super::own::{OwnLine, Task};
use super::product::Line;
use super::{Part, Streams, Vectors, dispatch};
use crate::backend::cpu::{Shared, Threads};
use crate::backend::reference::stencil::{Form, Order, Start, StencilArrays};
use crate::scalar::Scalar;
use crate::structured::Grid;

/// Planes that one task does, and cells, at least.
const PLANES: usize = 16;
const CELLS: usize = 32 * 1024;

/// Planes that one task does: an even number.
fn planes_per_task(grid: Grid) -> usize {
    let wanted = CELLS / (grid.lines_per_plane() * grid.length());
    wanted.max(PLANES).next_multiple_of(2)
}

fn planes(grid: Grid) -> usize {
    grid.lines() / grid.lines_per_plane()
}

/// Numbers of scratch that a sweep needs, `more` for each task besides its own.
pub(crate) fn scratch_length(grid: Grid, unknowns: usize, more: usize) -> usize {
    planes(grid).div_ceil(planes_per_task(grid)) * (unknowns * grid.length() + more)
}

/// A sweep towards `A x = b`; `scratch` has [`scratch_length`] numbers. No
/// diagonal entry is zero.
pub(crate) fn gauss_seidel<M: Scalar, V: Vectors>(
    threads: &Threads,
    a: StencilArrays<'_, M>,
    (order, start): (Order, Start),
    b: &[V],
    x: &mut [V],
    scratch: &mut [V],
) {
    if start == Start::Zero {
        clear_ends(a.grid.lines_per_plane() * a.grid.length(), x);
    }
    sweep(threads, a, (order, start), (None, None), b, x, scratch);
}

/// A sweep from the guess in `x` and a correction of it, plane by plane: what is corrected is still in the
/// cache when it changes again, and then when it is `done`. There are [`Correction::scratch`] more numbers of scratch
/// for each task.
pub(crate) fn corrected_gauss_seidel<M: Scalar, V: Vectors>(
    threads: &Threads,
    a: StencilArrays<'_, M>,
    order: Order,
    (correction, done): (Correction<'_, M, V>, Option<Done<'_, V>>),
    b: &[V],
    x: &mut [V],
    scratch: &mut [V],
) {
    assert!(correction.rows() == x.len());
    let guess = (order, Start::Guess);
    sweep(threads, a, guess, (Some(correction), done), b, x, scratch);
}

fn sweep<M: Scalar, V: Vectors>(
    threads: &Threads,
    a: StencilArrays<'_, M>,
    (order, start): (Order, Start),
    (correction, done): (Option<Correction<'_, M, V>>, Option<Done<'_, V>>),
    b: &[V],
    x: &mut [V],
    scratch: &mut [V],
) {
    let (grid, line) = (a.grid, a.unknowns * a.grid.length());
    let more = correction.as_ref().map_or(0, Correction::scratch);
    assert!(x.len() == grid.cells() * a.unknowns && b.len() == x.len());
    assert!(scratch.len() >= scratch_length(grid, a.unknowns, more));
    let (per_task, planes) = (planes_per_task(grid), planes(grid));
    let (tasks, [first, _]) = (planes.div_ceil(per_task), order.parities());
    let (x, scratch) = (Shared(x.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
    let share = |task: usize, part: Range<usize>| {
        let first = task * (line + more);
        // SAFETY: every task has its share.
        unsafe { scratch.slice(first + part.start..first + part.end) }
    };
    let work = |task: usize, planes: Vec<usize>, corrected: Option<Corrected<'_, M, V>>| {
        let work = Work {
            a,
            order,
            start,
            b,
            x: x.pointer(),
            scratch: share(task, 0..line),
            corrected,
            done,
        };
        // SAFETY: planes beside those of other tasks wait until all others are done.
        unsafe { work.run(&planes) };
    };
    let between = size_of_val(a.values) / per_task;
    let prolonged = |task: usize| {
        let scratch = share(task, line..line + more);
        correction.map(|correction| Prolonged::new(correction, scratch))
    };
    // Planes on either side of where tasks meet are looked at by both.
    threads.for_each(tasks - 1, between, &|task| {
        if let Some(mut prolonged) = prolonged(task) {
            for plane in [(task + 1) * per_task - 1, (task + 1) * per_task] {
                // SAFETY: every plane is done by one task.
                unsafe { prolonged.add(plane, x.pointer()) };
            }
        }
    });
    threads.for_each(tasks, size_of_val(a.values), &|task| {
        let range = task * per_task..((task + 1) * per_task).min(planes);
        let left = range.start + usize::from(task > 0)..range.end - usize::from(range.end < planes);
        let corrected = prolonged(task).map(|prolonged| Corrected { prolonged, left });
        work(task, wave(range, planes, first), corrected);
    });
    // Between tasks there are planes of the second parity that need both.
    threads.for_each(tasks - 1, between, &|task| {
        work(task, vec![(task + 1) * per_task - 1 + first], None);
    });
}

/// Puts zeros where planes begin and end: kernels read beyond lines, and multiply by zero what they find.
fn clear_ends<V: Vectors>(length: usize, x: &mut [V]) {
    for part in x.chunks_exact_mut(length) {
        (part[0], part[length - 1]) = (V::zero(), V::zero());
    }
}

/// The members of a range in an order in which those of the first parity come before those beside them,
/// and not much before. The range is part of `0..count` and begins with an even number; members of the second
/// parity that lie beside another range are left out.
fn wave(range: Range<usize>, count: usize, first: usize) -> Vec<usize> {
    let mut order = Vec::with_capacity(range.len());
    let inside = |place: usize| {
        let begins = place == range.start && place > 0;
        !begins && (place + 1 < range.end || place + 1 == count)
    };
    for place in (range.start + first..range.end + 1).step_by(2) {
        if place < range.end {
            order.push(place);
        }
        if place > range.start && inside(place - 1) {
            order.push(place - 1);
        }
    }
    order
}

/// Planes that are still to be corrected, one after the other.
struct Corrected<'a, M, V> {
    prolonged: Prolonged<'a, M, V>,
    left: Range<usize>,
}

/// What is to be done with cells that will not change any more, given those and all numbers.
pub(crate) type Done<'a, V> = &'a (dyn Fn(Range<usize>, *const V) + Sync);

/// Planes of one task; `x` points to all cells.
struct Work<'a, M, V> {
    a: StencilArrays<'a, M>,
    order: Order,
    start: Start,
    b: &'a [V],
    x: *mut V,
    scratch: &'a mut [V],
    corrected: Option<Corrected<'a, M, V>>,
    done: Option<Done<'a, V>>,
}

impl<M: Scalar, V: Vectors> Work<'_, M, V> {
    /// # Safety
    /// Nobody else has the planes, and nobody changes their neighbours.
    unsafe fn run(mut self, planes: &[usize]) {
        let per_plane = self.a.grid.lines_per_plane();
        let part = match self.start {
            Start::Zero => Part::Earlier(self.order),
            Start::Guess => Part::Others,
        };
        let mut streams = [0, 1].map(|_| Streams::new(self.a, part));
        let lines = wave(0..per_plane, per_plane, self.order.parities()[0]);
        for &plane in planes {
            // SAFETY: the caller's.
            unsafe { self.prepare(plane) };
            for &line in &lines {
                // SAFETY: the caller's.
                unsafe { self.relax_line(&mut streams[line % 2], plane * per_plane + line) };
            }
            if let Some(done) = self.done {
                let cells = per_plane * self.a.grid.length();
                done(plane * cells..(plane + 1) * cells, self.x);
            }
        }
    }

    /// What a plane needs before its cells change.
    ///
    /// # Safety
    /// Nobody else has the plane or its neighbours that are still to be corrected.
    unsafe fn prepare(&mut self, plane: usize) {
        if self.start == Start::Zero {
            let length = self.a.grid.lines_per_plane() * self.a.grid.length();
            for unknown in 0..self.a.unknowns {
                let first = unknown * self.a.grid.cells() + plane * length;
                // SAFETY: the caller's.
                let cells = unsafe { std::slice::from_raw_parts_mut(self.x.add(first), length) };
                clear_ends(self.a.grid.length(), cells);
            }
        }
        if let Some(corrected) = &mut self.corrected {
            while corrected.left.start < corrected.left.end.min(plane + 2) {
                // SAFETY: the caller's.
                unsafe { corrected.prolonged.add(corrected.left.start, self.x) };
                corrected.left.start += 1;
            }
        }
    }

    /// The cells of both colours of a line.
    ///
    /// # Safety
    /// Nobody else has the line, and nobody changes its neighbours.
    unsafe fn relax_line(&mut self, streams: &mut Streams<'_, M>, line: usize) {
        let length = self.a.grid.length();
        for (unknown, y) in self.scratch.chunks_mut(length).enumerate() {
            dispatch::<M, V>(Line {
                streams: &mut *streams,
                line,
                unknown,
                form: Form::Residual { b: self.b },
                x: self.x.cast_const(),
                y,
            });
        }
        let own = OwnLine {
            matrix: self.a,
            line,
            first: self.order.parities()[0],
            task: Task::Relax {
                from_zero: self.start == Start::Zero,
            },
            rests: self.scratch.as_mut_ptr(),
            stride: length,
            x: self.x,
        };
        // SAFETY: the caller's; there is scratch for a line of every unknown.
        unsafe { own.run() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_leaves_out_what_needs_other_ranges() {
        assert_eq!(wave(0..5, 5, 0), [0, 2, 1, 4, 3]);
        assert_eq!(wave(0..4, 4, 1), [1, 0, 3, 2]);
        assert_eq!(wave(0..5, 5, 1), [1, 0, 3, 2, 4]);
        assert_eq!(wave(0..1, 1, 1), [0]);
        assert_eq!(wave(4..8, 12, 0), [4, 6, 5]);
        assert_eq!(wave(4..8, 12, 1), [5, 7, 6]);
        assert_eq!(wave(4..5, 5, 1), Vec::<usize>::new());
        assert_eq!(wave(4..6, 6, 0), [4, 5]);
    }
}
