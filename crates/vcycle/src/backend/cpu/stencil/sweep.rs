//! Gauss-Seidel in eight colours.
//!
//! Planes of one parity are independent and go to threads; in a plane the even lines come first, then
//! the odd ones; in a line what other lines contribute is summed up once, then the even cells change,
//! then the odd ones. Nothing has to wait for its neighbour inside a register.

use super::{Finish, Kernel, Line, Part, Vectors, dispatch, prefetch, store};
use crate::backend::cpu::simd::Simd;
use crate::backend::cpu::{Shared, Threads};
use crate::backend::reference::stencil::{Order, StencilArrays};
use crate::scalar::Scalar;
use crate::structured::Grid;

/// One where the cells of a parity are, in registers that begin at an even cell.
const COLOURS: [[f32; 16]; 2] = {
    let mut colours = [[0.0; 16]; 2];
    let mut lane = 0;
    while lane < 16 {
        colours[lane % 2][lane] = 1.0;
        lane += 1;
    }
    colours
};

/// Numbers of scratch for a line: what other lines contribute, and the line between two zeros.
fn line_scratch(grid: Grid) -> usize {
    2 * grid.length() + 2
}

fn planes(grid: Grid) -> usize {
    grid.lines() / grid.lines_per_plane()
}

/// Numbers of scratch that a sweep needs.
pub(crate) fn scratch_length(grid: Grid) -> usize {
    planes(grid).div_ceil(2) * line_scratch(grid)
}

/// A sweep towards `A x = b`; `scratch` has [`scratch_length`] numbers. No diagonal entry is zero.
pub(crate) fn gauss_seidel<M: Scalar, V: Vectors>(
    threads: &Threads,
    a: StencilArrays<'_, M>,
    order: Order,
    b: &[V],
    x: &mut [V],
    scratch: &mut [V],
) {
    let (grid, share) = (a.grid, line_scratch(a.grid));
    assert!(x.len() == grid.cells() && b.len() == x.len());
    assert!(scratch.len() >= scratch_length(grid));
    let bytes = size_of_val(a.values) / 2;
    let (x, scratch) = (Shared(x.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
    for parity in order.parities() {
        let count = (planes(grid) + 1 - parity) / 2;
        threads.for_each(count, bytes, &|place| {
            // SAFETY: every task has its share.
            let scratch = unsafe { scratch.slice(place * share..(place + 1) * share) };
            let (plane, x) = (2 * place + parity, x.pointer());
            dispatch::<M, V>(Plane {
                a,
                order,
                plane,
                b,
                x,
                scratch,
            });
        });
    }
}

/// One plane; `x` points to all cells, and other threads change planes of the same parity only.
struct Plane<'a, M, V> {
    a: StencilArrays<'a, M>,
    order: Order,
    plane: usize,
    b: &'a [V],
    x: *mut V,
    scratch: &'a mut [V],
}

impl<M: Scalar, V: Vectors> Kernel<V> for Plane<'_, M, V> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(self) {
        let (length, per_plane) = (self.a.grid.length(), self.a.grid.lines_per_plane());
        let (outer, padded) = self.scratch.split_at_mut(length);
        for parity in self.order.parities() {
            for line in (parity..per_plane).step_by(2) {
                let line = self.plane * per_plane + line;
                let others = Line::new(&self.a, line, self.x.cast_const(), Part::Others);
                // SAFETY: the caller's; lines of this plane are this task's, and those of other
                // planes that it reads have the other parity.
                unsafe {
                    let b = self.b.as_ptr().add(line * length);
                    let out = outer.as_mut_ptr();
                    others.each_sum::<S>(Rest { b, out });
                    let own = std::slice::from_raw_parts_mut(self.x.add(line * length), length);
                    padded[1..=length].copy_from_slice(own);
                    (padded[0], padded[length + 1]) = (V::zero(), V::zero());
                    let matrix = Line::new(&self.a, line, self.x.cast_const(), Part::Own);
                    for parity in self.order.parities() {
                        relax::<S, M>(&matrix, &COLOURS[parity], outer, padded);
                    }
                    own.copy_from_slice(&padded[1..=length]);
                }
            }
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

/// Changes the cells of a colour on a line: `x += (rest - A x) / diagonal`.
///
/// # Safety
/// As for [`Simd`]; `padded` is the line between two numbers, `rest` as long as the line.
#[inline(always)]
unsafe fn relax<S: Simd, M: Scalar>(
    matrix: &Line<M, S::Real>,
    colour: &[f32; 16],
    rest: &[S::Real],
    padded: &mut [S::Real],
) {
    let (length, mut at) = (matrix.length, 0);
    // SAFETY: the caller's; loads end with the line, or with the number behind it.
    unsafe {
        let colour = S::load(colour.as_ptr(), S::LANES);
        let (rest, padded) = (rest.as_ptr(), padded.as_mut_ptr());
        while at + S::LANES <= length {
            relax_cells::<S, M>(matrix, colour, rest, padded, at, S::LANES);
            at += S::LANES;
        }
        if at < length {
            relax_cells::<S, M>(matrix, colour, rest, padded, at, length - at);
        }
    }
}

/// [`relax`] for `count` cells from `at` on.
///
/// # Safety
/// As for [`relax`].
#[inline(always)]
unsafe fn relax_cells<S: Simd, M: Scalar>(
    matrix: &Line<M, S::Real>,
    colour: S::Register,
    rest: *const S::Real,
    padded: *mut S::Real,
    at: usize,
    count: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut residual = S::load(rest.add(at), count);
        let mut diagonal = S::zero();
        for point in 0..matrix.count {
            let a = matrix.a[point].add(at);
            prefetch(a.wrapping_add(matrix.ahead), S::LANES);
            let (a, dx) = (S::load(a, count), isize::from(matrix.dx[point]));
            let x = S::load(padded.add(at + 1).offset(dx).cast_const(), count);
            residual = S::subtract(residual, S::multiply_add(a, x, S::zero()));
            if dx == 0 {
                diagonal = a;
            }
        }
        let change = S::multiply_add(colour, S::divide(residual, diagonal), S::zero());
        let to = padded.add(at + 1);
        store::<S>(S::add(S::load(to.cast_const(), count), change), to, count);
    }
}
