//! Gauss-Seidel in eight colours.
//!
//! Planes of one parity come first, then the others; in a plane lines of one parity, then the others; in a
//! line what other lines contribute is summed up once, then the cells of one parity change, then the others.
//! Nothing has to wait for its neighbour inside a register. A plane or line of the second parity is done
//! as soon as those on both sides are: the results are the same, and its neighbours are still in the
//! cache. The unknowns of a cell change together: their block is solved with.

use std::ops::Range;

use super::own::{OwnLine, OwnTask, Sides};
use super::product::Line;
use super::{Part, Streams, Vectors, dispatch, has_kernels};
use crate::compiled_fn;
use crate::cpu::{Shared, Threads};
use crate::grid::Grid;
use crate::reference;
use crate::reference::stencil::{Direction, Form, Start, StencilArrays};
use crate::scalar::Scalar;

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

/// Numbers of scratch that a sweep needs.
pub fn scratch_length(grid: Grid, unknowns: usize) -> usize {
    planes(grid).div_ceil(planes_per_task(grid)) * unknowns * grid.length()
}

compiled_fn! {
    /// A sweep towards `A x = b`; `scratch` has [`scratch_length`] numbers. No
    /// diagonal entry is zero.
    pub fn gauss_seidel[stencils M: Scalar, V: Vectors](
        threads: &Threads,
        a: StencilArrays<'_, M>,
        way: (Direction, Start),
        b: &[V],
        x: &mut [V],
        scratch: &mut [V],
    ) {
        let (order, start) = way;
        if !has_kernels::<M, V>() {
            return reference::stencil::gauss_seidel(a, (order, start), b, x);
        }
        let (grid, share) = (a.grid, a.unknowns * a.grid.length());
        assert!(Some(x.len()) == grid.cells().checked_mul(a.unknowns) && b.len() == x.len());
        assert!(scratch.len() >= scratch_length(grid, a.unknowns));
        if start == Start::Zero {
            clear_ends(grid.lines_per_plane() * grid.length(), x);
        }
        let (per_task, planes) = (planes_per_task(grid), planes(grid));
        let tasks = planes.div_ceil(per_task);
        let (x, scratch) = (Shared(x.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
        let work = |task: usize, planes: Vec<usize>, unchanged: Range<usize>| {
            let work = SweepTask {
                a,
                sides: Sides::of(&a),
                order,
                start,
                b,
                x: x.pointer(),
                // SAFETY: every task has its share.
                scratch: unsafe { scratch.slice(task * share..(task + 1) * share) },
            };
            // SAFETY: no two tasks have a plane in common, and those of the second parity that lie between two
            // tasks wait
            // until all others are done: nobody else changes the planes beside those of a task, or `unchanged` ones.
            unsafe { work.run(&planes, unchanged) };
        };
        threads.for_each(tasks, size_of_val(a.values), &|task| {
            let range = task * per_task..((task + 1) * per_task).min(planes);
            let unchanged = unchanged(&range, planes, order);
            work(task, wave(range, planes, order), unchanged);
        });
        // Between tasks there are planes of the second parity that need both. They are far apart.
        threads.for_each(tasks - 1, size_of_val(a.values) / per_task, &|task| {
            let plane = (task + 1) * per_task - 1 + order.parities()[0];
            work(task, vec![plane], plane - 2..(plane + 3).min(planes));
        });
    }
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
fn wave(range: Range<usize>, count: usize, order: Direction) -> Vec<usize> {
    let [first, _] = order.parities();
    let mut wave = Vec::with_capacity(range.len());
    let inside = |place: usize| {
        let begins = place == range.start && place > 0;
        !begins && (place + 1 < range.end || place + 1 == count)
    };
    for place in (range.start + first..range.end + 1).step_by(2) {
        if place < range.end {
            wave.push(place);
        }
        if place > range.start && inside(place - 1) {
            wave.push(place - 1);
        }
    }
    wave
}

/// The planes that nobody else changes during the wave of a range: its own, and the one of the second parity beside
/// it, which is left out.
fn unchanged(range: &Range<usize>, count: usize, order: Direction) -> Range<usize> {
    let [first, second] = order.parities();
    range.start.saturating_sub(second)..(range.end + first).min(count)
}

/// Planes of one task; `x` points to all cells.
struct SweepTask<'a, M, V> {
    a: StencilArrays<'a, M>,
    sides: Sides,
    order: Direction,
    start: Start,
    b: &'a [V],
    x: *mut V,
    scratch: &'a mut [V],
}

impl<M: Scalar, V: Vectors> SweepTask<'_, M, V> {
    /// # Safety
    /// `x` points to a number for every row of the grid. Nobody else has the planes, and nobody else changes those
    /// beside them or the `unchanged` ones.
    unsafe fn run(mut self, planes: &[usize], unchanged: Range<usize>) {
        let per_plane = self.a.grid.lines_per_plane();
        let cells = per_plane * self.a.grid.length();
        let readable = unchanged.start * cells..unchanged.end * cells;
        let part = match self.start {
            Start::Zero => Part::Earlier(self.order),
            Start::Guess => Part::Others,
        };
        let mut streams = [0, 1].map(|_| Streams::new(self.a, part).reading(readable.clone()));
        let lines = wave(0..per_plane, per_plane, self.order);
        for &plane in planes {
            if self.start == Start::Zero {
                self.clear_ends(plane);
            }
            for &line in &lines {
                self.relax_line(&mut streams[line % 2], plane * per_plane + line);
            }
        }
    }

    /// Puts zeros where the lines of a plane begin and end.
    ///
    /// # Safety
    /// Nobody else has the plane.
    unsafe fn clear_ends(&mut self, plane: usize) {
        let length = self.a.grid.lines_per_plane() * self.a.grid.length();
        for unknown in 0..self.a.unknowns {
            let first = unknown * self.a.grid.cells() + plane * length;
            let cells = std::slice::from_raw_parts_mut(self.x.add(first), length);
            clear_ends(self.a.grid.length(), cells);
        }
    }

    /// The cells of both colours of a line.
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
            sides: self.sides,
            line,
            first: self.order.parities()[0],
            task: OwnTask::Relax {
                from_zero: self.start == Start::Zero,
            },
            rests: self.scratch.as_mut_ptr(),
            stride: length,
            x: self.x,
        };
        own.run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_leaves_out_what_needs_other_ranges() {
        use Direction::{Backward, Forward};
        assert_eq!(wave(0..5, 5, Forward), [0, 2, 1, 4, 3]);
        assert_eq!(wave(0..4, 4, Backward), [1, 0, 3, 2]);
        assert_eq!(wave(0..5, 5, Backward), [1, 0, 3, 2, 4]);
        assert_eq!(wave(0..1, 1, Backward), [0]);
        assert_eq!(wave(4..8, 12, Forward), [4, 6, 5]);
        assert_eq!(wave(4..8, 12, Backward), [5, 7, 6]);
        assert_eq!(wave(4..5, 5, Backward), Vec::<usize>::new());
        assert_eq!(wave(4..6, 6, Forward), [4, 5]);
    }

    /// The entries of a stencil of all neighbours: ones, a hundred for the cell itself, zeros outside the grid.
    fn entries(grid: Grid, offsets: &[[i8; 3]]) -> Vec<f64> {
        let mut values = Vec::new();
        for line in 0..grid.lines() {
            for &offset in offsets {
                let on_grid = grid.neighbour(line, offset).is_some();
                values.extend((0..grid.length()).map(|x| {
                    let there = x.checked_add_signed(offset[0].into());
                    let inside = on_grid && there.is_some_and(|there| there < grid.length());
                    f64::from(u8::from(inside)) * if offset == [0; 3] { 100.0 } else { 1.0 }
                }));
            }
        }
        values
    }

    #[test]
    fn no_cell_is_read_that_another_task_may_change() {
        let steps = [-1, 0, 1];
        let all = steps.map(|z| steps.map(|y| steps.map(|x| [x, y, z])));
        for (size, flat) in [([20, 3, 12], false), ([20, 12, 1], true)] {
            let grid = Grid::new(size).unwrap();
            let offsets = all.as_flattened().as_flattened().iter().copied();
            let offsets: Vec<[i8; 3]> = offsets.filter(|offset| !flat || offset[2] == 0).collect();
            let values = entries(grid, &offsets);
            let a = StencilArrays {
                grid,
                offsets: &offsets,
                unknowns: 1,
                base: 0.0,
                values: &values,
            };
            let (b, cells) = (vec![1.0; grid.cells()], grid.cells() / planes(grid));
            for order in [Direction::Forward, Direction::Backward] {
                let unchanged = unchanged(&(4..8), planes(grid), order);
                let mut x = vec![f64::NAN; grid.cells()];
                x[unchanged.start * cells..unchanged.end * cells].fill(1.0);
                let work = SweepTask {
                    a,
                    sides: Sides::of(&a),
                    order,
                    start: Start::Guess,
                    b: &b,
                    x: x.as_mut_ptr(),
                    scratch: &mut vec![0.0; grid.length()],
                };
                // SAFETY: there is but one task, and `x` has a number for every cell.
                unsafe { work.run(&wave(4..8, planes(grid), order), unchanged.clone()) };
                let changed = &x[unchanged.start * cells..unchanged.end * cells];
                assert!(changed.iter().all(|number| number.is_finite()), "{size:?}");
            }
        }
    }
}
