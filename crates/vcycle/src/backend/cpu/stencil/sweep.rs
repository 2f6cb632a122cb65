//! Gauss-Seidel in eight colours.
//!
//! Planes of one parity come first, then the others; in a plane lines of one parity, then the others; in a
//! line what other lines contribute is summed up once, then the cells of one parity change, then the others.
//! Nothing has to wait for its neighbour inside a register. A plane or line of the second parity is done
//! as soon as those on both sides are: the results are the same, and its neighbours are still in the
//! cache. The unknowns of a cell change together: their block is solved with.

use std::array;
use std::ops::Range;

use super::own::{Numbered, Own};
use super::{Finish, Kernel, Part, Streams, Vectors, dispatch, store};
use crate::backend::cpu::simd::Simd;
use crate::backend::cpu::{Shared, Threads};
use crate::backend::reference::stencil::{Order, Start, StencilArrays};
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

/// Numbers of scratch that a sweep needs.
pub(crate) fn scratch_length(grid: Grid, unknowns: usize) -> usize {
    planes(grid).div_ceil(planes_per_task(grid)) * unknowns * grid.length()
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
    let (grid, share) = (a.grid, a.unknowns * a.grid.length());
    assert!(x.len() == grid.cells() * a.unknowns && b.len() == x.len());
    assert!(scratch.len() >= scratch_length(grid, a.unknowns));
    let (per_task, planes) = (planes_per_task(grid), planes(grid));
    let (tasks, [first, _]) = (planes.div_ceil(per_task), order.parities());
    if start == Start::Zero {
        clear_ends(threads, grid.length(), x);
    }
    let (x, scratch) = (Shared(x.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
    let work = |task: usize, planes: Vec<usize>| {
        let work = Work {
            a,
            order,
            start,
            planes,
            b,
            x: x.pointer(),
            // SAFETY: every task has its share.
            scratch: unsafe { scratch.slice(task * share..(task + 1) * share) },
        };
        match a.unknowns {
            1 => dispatch::<M, V>(Together::<1, _>(work)),
            2 => dispatch::<M, V>(Together::<2, _>(work)),
            3 => dispatch::<M, V>(Together::<3, _>(work)),
            _ => dispatch::<M, V>(Together::<4, _>(work)),
        }
    };
    threads.for_each(tasks, size_of_val(a.values), &|task| {
        let range = task * per_task..((task + 1) * per_task).min(planes);
        work(task, wave(range, planes, first));
    });
    // Between tasks there are planes of the second parity that need both.
    threads.for_each(tasks - 1, size_of_val(a.values) / per_task, &|task| {
        work(task, vec![(task + 1) * per_task - 1 + first]);
    });
}

/// Puts zeros where lines begin and end: kernels read beyond lines, and multiply by zero what they find.
fn clear_ends<V: Vectors>(threads: &Threads, length: usize, x: &mut [V]) {
    let per_task = CELLS.div_ceil(length) * length;
    threads.for_pieces(x, per_task, |_, x| {
        for line in x.chunks_exact_mut(length) {
            (line[0], line[length - 1]) = (V::zero(), V::zero());
        }
    });
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

/// Some planes; `x` points to all cells, and other threads change no plane that is read here.
struct Work<'a, M, V> {
    a: StencilArrays<'a, M>,
    order: Order,
    start: Start,
    planes: Vec<usize>,
    b: &'a [V],
    x: *mut V,
    scratch: &'a mut [V],
}

/// Work on cells of `R` unknowns.
struct Together<const R: usize, W>(W);

impl<const R: usize, M: Scalar, V: Vectors> Kernel<V> for Together<R, Work<'_, M, V>> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(mut self) {
        let per_plane = self.0.a.grid.lines_per_plane();
        let part = match self.0.start {
            Start::Zero => Part::Earlier(self.0.order),
            Start::Guess => Part::Others,
        };
        let mut streams = [0, 1].map(|_| Streams::new(self.0.a, part));
        let [first, _] = self.0.order.parities();
        let lines = wave(0..per_plane, per_plane, first);
        for plane in std::mem::take(&mut self.0.planes) {
            for &line in &lines {
                let streams = &mut streams[line % 2];
                // SAFETY: the caller's; lines of this plane are this task's, and those of other
                // planes that it reads are done or wait for it.
                unsafe { self.0.relax_line::<S, R>(streams, plane * per_plane + line) };
            }
        }
    }
}

impl<M: Scalar, V: Vectors> Work<'_, M, V> {
    /// The cells of both colours of a line.
    ///
    /// # Safety
    /// As for [`Simd`]; nobody else has the line, and nobody changes its neighbours.
    #[inline(always)]
    unsafe fn relax_line<S: Simd<Real = V>, const R: usize>(
        &mut self,
        streams: &mut Streams<'_, M>,
        line: usize,
    ) {
        let (length, cells) = (self.a.grid.length(), self.a.grid.cells());
        let rests: [*mut V; R] =
            array::from_fn(|unknown| self.scratch[unknown * length..].as_mut_ptr());
        let place = |unknown: usize| unknown * cells + line * length;
        // SAFETY: the caller's; vectors have a number for every row.
        unsafe {
            for (unknown, &out) in rests.iter().enumerate() {
                let b = self.b.as_ptr().add(place(unknown));
                let others = streams.line(line, unknown, self.x.cast_const());
                others.each_sum::<S>(Rest { b, out });
            }
            let [first, _] = self.order.parities();
            let numbers = Numbered {
                rests: rests.map(|rest| rest.cast_const()),
                x: array::from_fn(|unknown| self.x.add(place(unknown))),
                from_zero: self.start == Start::Zero,
            };
            Own::<M, R>::new(&self.a, line).relax::<S>(first, &numbers);
        }
    }
}

/// What the cells of a line themselves have to make up for.
struct Rest<V> {
    b: *const V,
    out: *mut V,
}

impl<V: Vectors> Finish<V> for Rest<V> {
    #[inline(always)]
    unsafe fn finish<S: Simd<Real = V>>(&mut self, at: usize, count: usize, sum: S::Register) {
        // SAFETY: the caller's; both have a number for every row of the line.
        unsafe {
            let rest = S::subtract(S::load(self.b.add(at), count), sum);
            store::<S>(rest, self.out.add(at), count);
        }
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
