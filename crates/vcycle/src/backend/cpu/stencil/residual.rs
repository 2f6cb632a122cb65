//! Residuals of a plane.

use std::array;

use super::own::{Numbered, Own};
use super::product::Rows;
use super::{Finish, Kernel, Part, Streams, Vectors, dispatch, store};
use crate::backend::cpu::simd::Simd;
use crate::backend::reference::stencil::{Form, Order, StencilArrays};
use crate::scalar::Scalar;

/// A residual `q (b - A x)`, `q` one number a row or ones.
#[derive(Clone, Copy)]
pub(crate) struct Residual<'a, M, V> {
    pub(crate) a: StencilArrays<'a, M>,
    pub(crate) b: &'a [V],
    pub(crate) x: &'a [V],
    pub(crate) q: Option<&'a [V]>,
    /// The order of the sweep from zero that made `x`. It has solved every row with what was known then: what
    /// is left are entries with cells that changed later.
    pub(crate) swept: Option<Order>,
}

impl<M: Scalar, V: Vectors> Residual<'_, M, V> {
    /// The residuals of a plane, unknown by unknown.
    pub(super) fn plane(self, plane: usize, out: &mut [V]) {
        match self.a.unknowns {
            1 => dispatch::<M, V>(Plane::<1, M, V>(self, plane, out)),
            2 => dispatch::<M, V>(Plane::<2, M, V>(self, plane, out)),
            3 => dispatch::<M, V>(Plane::<3, M, V>(self, plane, out)),
            _ => dispatch::<M, V>(Plane::<4, M, V>(self, plane, out)),
        }
    }
}

/// A plane of a residual with `R` unknowns, and where it goes.
struct Plane<'a, const R: usize, M, V>(Residual<'a, M, V>, usize, &'a mut [V]);

impl<const R: usize, M: Scalar, V: Vectors> Kernel<V> for Plane<'_, R, M, V> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(self) {
        let Self(residual, plane, out) = self;
        let (length, lines) = (residual.a.grid.length(), residual.a.grid.lines_per_plane());
        let part = residual.swept.map_or(Part::All, Part::Later);
        let mut streams = [0, 1].map(|_| Streams::new(residual.a, part));
        assert!(out.len() >= R * lines * length);
        for line in 0..lines {
            let out = array::from_fn(|unknown| {
                let first = (unknown * lines + line) * length;
                out[first..first + length].as_mut_ptr()
            });
            // SAFETY: the caller's; the lines of `out` are long enough.
            unsafe {
                residual.line::<S, R>(&mut streams[line % 2], plane * lines + line, out);
            }
        }
    }
}

impl<M: Scalar, V: Vectors> Residual<'_, M, V> {
    /// # Safety
    /// As for [`Simd`]; a line can be written to each of `out`.
    #[inline(always)]
    unsafe fn line<S: Simd<Real = V>, const R: usize>(
        &self,
        streams: &mut Streams<'_, M>,
        line: usize,
        out: [*mut V; R],
    ) {
        let (length, cells) = (self.a.grid.length(), self.a.grid.cells());
        let first = |unknown: usize| unknown * cells + line * length;
        // SAFETY: the caller's; vectors have a number for every row.
        unsafe {
            for (unknown, &to) in out.iter().enumerate() {
                let sums = streams.line(line, unknown, self.x.as_ptr());
                let y = std::slice::from_raw_parts_mut(to, length);
                match self.swept {
                    Some(_) => sums.each_sum::<S>(Negative(to)),
                    None => sums.each_sum::<S>(Rows {
                        form: Form::Residual { b: self.b },
                        first: first(unknown),
                        x: self.x,
                        y,
                    }),
                }
            }
            if let Some(order) = self.swept {
                let numbers = Numbered {
                    rests: [std::ptr::null(); R],
                    x: array::from_fn(|unknown| self.x.as_ptr().add(first(unknown)).cast_mut()),
                    from_zero: false,
                };
                let own = Own::<M, R>::new(&self.a, line);
                own.less_sides::<S>(order.parities()[0], &numbers, out);
            }
            if let Some(q) = self.q {
                for (unknown, &to) in out.iter().enumerate() {
                    multiply::<S>(&q[first(unknown)..][..length], to);
                }
            }
        }
    }
}

/// Sums, and the sign changed.
struct Negative<V>(*mut V);

impl<V: Vectors> Finish<V> for Negative<V> {
    #[inline(always)]
    unsafe fn finish<S: Simd<Real = V>>(&mut self, at: usize, count: usize, sum: S::Register) {
        // SAFETY: the caller's; there is a number for every row of the line.
        unsafe { store::<S>(S::subtract(S::zero(), sum), self.0.add(at), count) }
    }
}

/// # Safety
/// As for [`Simd`]; as many numbers can be written as there are factors.
#[inline(always)]
unsafe fn multiply<S: Simd>(by: &[S::Real], to: *mut S::Real) {
    for at in (0..by.len()).step_by(S::LANES) {
        let count = S::LANES.min(by.len() - at);
        // SAFETY: the caller's.
        unsafe {
            let factor = S::load(by.as_ptr().add(at), count);
            let value = S::load(to.add(at).cast_const(), count);
            let product = S::multiply_add(factor, value, S::zero());
            store::<S>(product, to.add(at), count);
        }
    }
}
