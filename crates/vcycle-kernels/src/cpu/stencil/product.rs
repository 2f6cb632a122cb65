//! Products, residuals and relaxations; residuals of a plane.

use num_traits::Zero;

use super::line::prefetch;
use super::own::{OwnLine, OwnTask, Sides};
use super::{
    FinishSums, LineKernel, Part, Streams, Vectors, dispatch, has_kernels, multiply, splat, store,
};
use crate::compiled_fn;
use crate::cpu::{Shared, Threads};
use crate::reference;
use crate::reference::stencil::{Direction, Form, StencilArrays};
use crate::scalar::Scalar;
use crate::simd::Simd;

/// Cells that one task does, at least; tasks are whole lines.
const CELLS: usize = 64 * 1024;

compiled_fn! {
    /// `y` by a [`Form`]; all vectors have a number for every row, unknown by unknown.
    pub fn product[stencils M: Scalar, V: Vectors](
        threads: &Threads,
        a: StencilArrays<'_, M>,
        form: Form<'_, V>,
        x: &[V],
        y: &mut [V],
    ) {
        if !has_kernels::<M, V>() {
            return reference::stencil::product(a, form, x, y);
        }
        let (length, lines) = (a.grid.length(), a.grid.lines());
        assert!(Some(x.len()) == a.grid.cells().checked_mul(a.unknowns) && y.len() == x.len());
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
            let mut streams = Streams::new(a, Part::All);
            for line in task * per_task..((task + 1) * per_task).min(lines) {
                for unknown in 0..a.unknowns {
                    let first = unknown * a.grid.cells() + line * length;
                    dispatch::<M, V>(Line {
                        streams: &mut streams,
                        line,
                        unknown,
                        form,
                        x: x.as_ptr(),
                        // SAFETY: every line is done by one task, and lies inside `y`, whose length was checked.
                        y: unsafe { shared.slice(first..first + length) },
                    });
                }
            }
        });
    }
}

/// A residual `q (b - A x)`, `q` one number a row or ones.
#[derive(Clone, Copy)]
pub struct Residual<'a, M, V> {
    /// The matrix.
    pub a: StencilArrays<'a, M>,
    /// The right-hand side, one number a row.
    pub b: &'a [V],
    /// The solution so far, one number a row.
    pub x: &'a [V],
    /// What residuals are multiplied by, one number a row; ones where there is none.
    pub q: Option<&'a [V]>,
    /// The order of the sweep from zero that made `x`. It has solved every row with what was known then: what
    /// is left are entries with cells that changed later.
    pub swept: Option<Direction>,
}

impl<M: Scalar, V: Vectors> Residual<'_, M, V> {
    /// The residuals of a plane, unknown by unknown.
    pub(super) fn plane(&self, plane: usize, out: &mut [V]) {
        let lines = self.a.grid.lines_per_plane();
        let part = self.swept.map_or(Part::All, Part::Later);
        let mut streams = [0, 1].map(|_| Streams::new(self.a, part));
        let sides = Sides::of(&self.a);
        for line in 0..lines {
            self.line((&mut streams[line % 2], sides), [plane, line], out);
        }
    }

    fn line(
        &self,
        (streams, sides): (&mut Streams<'_, M>, Sides),
        [plane, line]: [usize; 2],
        out: &mut [V],
    ) {
        let (grid, lines) = (self.a.grid, self.a.grid.lines_per_plane());
        let (length, line_of_grid) = (grid.length(), plane * lines + line);
        let form = match self.swept {
            None => Form::Residual { b: self.b },
            Some(_) => Form::Advanced {
                alpha: V::zero() - V::one(),
                beta: V::zero(),
            },
        };
        for unknown in 0..self.a.unknowns {
            let first = (unknown * lines + line) * length;
            dispatch::<M, V>(Line {
                streams: &mut *streams,
                line: line_of_grid,
                unknown,
                form,
                x: self.x.as_ptr(),
                y: &mut out[first..first + length],
            });
        }
        if let Some(order) = self.swept {
            let own = OwnLine {
                matrix: self.a,
                sides,
                line: line_of_grid,
                first: order.parities()[0],
                task: OwnTask::LessSides,
                rests: out[line * length..].as_mut_ptr(),
                stride: lines * length,
                x: self.x.as_ptr().cast_mut(),
            };
            // SAFETY: `out` has the plane of every unknown; the numbers are read only.
            unsafe { own.run() };
        }
        for (unknown, q) in self
            .q
            .iter()
            .flat_map(|q| q.chunks(grid.cells()))
            .enumerate()
        {
            let first = (unknown * lines + line) * length;
            let q = &q[line_of_grid * length..][..length];
            multiply(q, &mut out[first..first + length]);
        }
    }
}

/// The rows of an unknown on a line by a [`Form`]. `y` are theirs; `x` and the vectors of the form have a number for
/// every row of the grid.
pub(super) struct Line<'a, 'm, M, V> {
    pub(super) streams: &'a mut Streams<'m, M>,
    pub(super) line: usize,
    pub(super) unknown: usize,
    pub(super) form: Form<'a, V>,
    pub(super) x: *const V,
    pub(super) y: &'a mut [V],
}

impl<M: Scalar, V: Vectors> LineKernel<V> for Line<'_, '_, M, V> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(&mut self) {
        let grid = self.streams.grid();
        let rows = LineRows {
            form: self.form,
            first: self.unknown * grid.cells() + self.line * grid.length(),
            ahead: self.streams.rows_ahead(),
            base: V::from_f64(self.streams.base()),
            x: self.x,
            y: &mut *self.y,
        };
        let sums = self.streams.line(self.line, self.unknown, self.x);
        sums.each_sum::<S>(rows)
    }
}

/// Where the sums of a line go.
struct LineRows<'a, V> {
    form: Form<'a, V>,
    first: usize,
    ahead: usize,
    base: V,
    x: *const V,
    y: &'a mut [V],
}

impl<V: Vectors> FinishSums<V> for LineRows<'_, V> {
    #[inline(always)]
    unsafe fn finish<S: Simd<Real = V>>(&mut self, at: usize, count: usize, sum: S::Register) {
        let y = self.y.as_mut_ptr().add(at);
        if let Form::Residual { b } = self.form {
            prefetch(b.as_ptr().wrapping_add(self.first + at + self.ahead), count);
        }
        let row = self.first + at;
        let sum = weighted::<S>(self.base, self.x.add(row), count, sum);
        let value = finish::<S>(&self.form, row, self.x, y, count, sum);
        store::<S>(value, y, count);
    }
}

/// The rows from `row` on, made of their sums.
///
/// # Safety
/// The host has the instructions of `S`. `x` and the vectors of `form` have `count` rows from `row` on, and so many
/// numbers can be read from `y`; they are at most a register.
#[inline(always)]
unsafe fn finish<S: Simd>(
    form: &Form<'_, S::Real>,
    row: usize,
    x: *const S::Real,
    y: *const S::Real,
    count: usize,
    sum: S::Register,
) -> S::Register {
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
            let moved = S::multiply_add(splat::<S>(beta), S::load(x.add(row), count), step);
            weighted::<S>(gamma, y, count, moved)
        }
    }
}

#[inline(always)]
unsafe fn scale<S: Simd>(weight: S::Real, a: S::Register) -> S::Register {
    S::multiply_add(splat::<S>(weight), a, S::zero())
}

/// `weight y + a`; with a weight of zero `y` is not read.
///
/// # Safety
/// The host has the instructions of `S`; `count` numbers can be read from `y`, at most a register.
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
    S::multiply_add(splat::<S>(weight), S::load(y, count), a)
}
