//! Products, residuals and relaxations.

use std::ops::Range;

use num_traits::Zero;

use super::{Finish, Kernel, Part, Streams, Vectors, dispatch, store};
use crate::backend::cpu::simd::Simd;
use crate::backend::cpu::{Shared, Threads};
use crate::backend::reference::stencil::{Form, StencilArrays};
use crate::scalar::Scalar;

/// Cells that one task does, at least; tasks are whole lines.
const CELLS: usize = 8 * 1024;

/// `y` by a [`Form`]; all vectors have a number for every row, unknown by unknown.
pub(crate) fn product<M: Scalar, V: Vectors>(
    threads: &Threads,
    a: StencilArrays<'_, M>,
    form: Form<'_, V>,
    x: &[V],
    y: &mut [V],
) {
    let (length, lines) = (a.grid.length(), a.grid.lines());
    assert!(x.len() == length * lines * a.unknowns && y.len() == x.len());
    if let Form::Residual { b } | Form::Relaxed { b, .. } = form {
        assert!(b.len() == y.len());
    }
    if let Form::Relaxed { d, .. } = form {
        assert!(d.len() == y.len());
    }
    let per_task = CELLS.div_ceil(length);
    let bytes = size_of_val(a.values) + 2 * size_of_val(x);
    let shared = Shared(y.as_mut_ptr());
    threads.for_each(lines.div_ceil(per_task), bytes, &|task| {
        let lines = task * per_task..((task + 1) * per_task).min(lines);
        dispatch::<M, V>(Lines {
            a,
            form,
            x,
            lines,
            y: shared.pointer(),
        });
    });
}

/// Some lines; `y` points to all rows, and other threads write those of other lines.
struct Lines<'a, M, V> {
    a: StencilArrays<'a, M>,
    form: Form<'a, V>,
    x: &'a [V],
    lines: Range<usize>,
    y: *mut V,
}

impl<M: Scalar, V: Vectors> Kernel<V> for Lines<'_, M, V> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(self) {
        let (length, cells) = (self.a.grid.length(), self.a.grid.cells());
        let mut streams = Streams::new(self.a, Part::All);
        for line in self.lines {
            for unknown in 0..self.a.unknowns {
                let sums = streams.line(line, unknown, self.x.as_ptr());
                let first = unknown * cells + line * length;
                // SAFETY: the caller's; vectors have a number for every row, and these are ours.
                unsafe {
                    let y = std::slice::from_raw_parts_mut(self.y.add(first), length);
                    sums.each_sum::<S>(Rows {
                        form: self.form,
                        first,
                        x: self.x,
                        y,
                    });
                }
            }
        }
    }
}

/// The rows of a line; `y` are theirs, all else is of the whole grid.
pub(super) struct Rows<'a, V> {
    pub(super) form: Form<'a, V>,
    pub(super) first: usize,
    pub(super) x: &'a [V],
    pub(super) y: &'a mut [V],
}

impl<V: Vectors> Finish<V> for Rows<'_, V> {
    #[inline(always)]
    unsafe fn finish<S: Simd<Real = V>>(&mut self, at: usize, count: usize, sum: S::Register) {
        // SAFETY: the caller's; the rows are in all vectors.
        unsafe {
            let y = self.y.as_mut_ptr().add(at);
            let value = finish::<S>(&self.form, self.first + at, self.x, y, count, sum);
            store::<S>(value, y, count);
        }
    }
}

/// The rows from `row` on, made of their sums.
///
/// # Safety
/// As for [`Simd`]; `count` rows from there are in all vectors.
#[inline(always)]
unsafe fn finish<S: Simd>(
    form: &Form<'_, S::Real>,
    row: usize,
    x: &[S::Real],
    y: *const S::Real,
    count: usize,
    sum: S::Register,
) -> S::Register {
    // SAFETY: the caller's.
    unsafe {
        match *form {
            Form::Product => sum,
            Form::Residual { b } => S::subtract(S::load(b.as_ptr().add(row), count), sum),
            Form::Advanced { alpha, beta } => {
                let scaled = scale::<S>(alpha, sum);
                weighted::<S>(beta, y, count, scaled)
            }
            Form::Relaxed {
                b,
                d,
                alpha,
                beta,
                gamma,
            } => {
                let residual = S::subtract(S::load(b.as_ptr().add(row), count), sum);
                let step = S::multiply_add(
                    S::load(d.as_ptr().add(row), count),
                    scale::<S>(alpha, residual),
                    S::zero(),
                );
                let moved =
                    S::multiply_add(splat::<S>(beta), S::load(x.as_ptr().add(row), count), step);
                weighted::<S>(gamma, y, count, moved)
            }
        }
    }
}

/// The number in every lane.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
pub(super) unsafe fn splat<S: Simd>(value: S::Real) -> S::Register {
    // SAFETY: the caller's.
    unsafe { S::load([value; 16].as_ptr(), S::LANES) }
}

/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn scale<S: Simd>(weight: S::Real, a: S::Register) -> S::Register {
    // SAFETY: the caller's.
    unsafe { S::multiply_add(splat::<S>(weight), a, S::zero()) }
}

/// `weight y + a`; with a weight of zero `y` is not read.
///
/// # Safety
/// As for [`Simd`]; `count` numbers can be read.
#[inline(always)]
unsafe fn weighted<S: Simd>(
    weight: S::Real,
    y: *const S::Real,
    count: usize,
    a: S::Register,
) -> S::Register {
    if weight.is_zero() {
        return a;
    }
    // SAFETY: the caller's.
    unsafe { S::multiply_add(splat::<S>(weight), S::load(y, count), a) }
}
