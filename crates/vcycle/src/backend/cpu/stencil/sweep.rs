//! Gauss-Seidel in eight colours.
//!
//! Planes of one parity are independent and go to threads; in a plane the even lines come first, then
//! the odd ones; in a line what other lines contribute is summed up once, then the even cells change,
//! then the odd ones. Nothing has to wait for its neighbour inside a register. The unknowns of a cell
//! change together: their block is solved with.

use std::array;

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

/// Numbers of scratch for a line, of each unknown: what other lines contribute, and the line between two
/// zeros before and after its first colour.
fn line_scratch(grid: Grid, unknowns: usize) -> usize {
    unknowns * (grid.length() + 2 * (grid.length() + 2))
}

fn planes(grid: Grid) -> usize {
    grid.lines() / grid.lines_per_plane()
}

/// Numbers of scratch that a sweep needs.
pub(crate) fn scratch_length(grid: Grid, unknowns: usize) -> usize {
    planes(grid).div_ceil(2) * line_scratch(grid, unknowns)
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
    let (grid, share) = (a.grid, line_scratch(a.grid, a.unknowns));
    assert!(x.len() == grid.cells() * a.unknowns && b.len() == x.len());
    assert!(scratch.len() >= scratch_length(grid, a.unknowns));
    let bytes = size_of_val(a.values) / 2;
    let (x, scratch) = (Shared(x.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
    for parity in order.parities() {
        let count = (planes(grid) + 1 - parity) / 2;
        threads.for_each(count, bytes, &|place| {
            // SAFETY: every task has its share.
            let scratch = unsafe { scratch.slice(place * share..(place + 1) * share) };
            let plane = Plane {
                a,
                order,
                plane: 2 * place + parity,
                b,
                x: x.pointer(),
                scratch,
            };
            match a.unknowns {
                1 => dispatch::<M, V>(Together::<1, _>(plane)),
                2 => dispatch::<M, V>(Together::<2, _>(plane)),
                3 => dispatch::<M, V>(Together::<3, _>(plane)),
                _ => dispatch::<M, V>(Together::<4, _>(plane)),
            }
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

/// Work on cells of `R` unknowns.
struct Together<const R: usize, W>(W);

impl<const R: usize, M: Scalar, V: Vectors> Kernel<V> for Together<R, Plane<'_, M, V>> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(self) {
        let mut plane = self.0;
        let per_plane = plane.a.grid.lines_per_plane();
        for parity in plane.order.parities() {
            for line in (parity..per_plane).step_by(2) {
                // SAFETY: the caller's; lines of this plane are this task's, and those of other
                // planes that it reads have the other parity.
                unsafe { plane.relax_line::<S, R>(plane.plane * per_plane + line) };
            }
        }
    }
}

impl<M: Scalar, V: Vectors> Plane<'_, M, V> {
    /// The cells of both colours of a line. A colour is read from one place and written to another:
    /// registers that overlap need not wait for each other.
    ///
    /// # Safety
    /// As for [`Simd`]; nobody else has the line, and nobody changes its neighbours.
    #[inline(always)]
    unsafe fn relax_line<S: Simd<Real = V>, const R: usize>(&mut self, line: usize) {
        let (length, cells) = (self.a.grid.length(), self.a.grid.cells());
        let (rests, padded) = self.scratch.split_at_mut(R * length);
        padded.fill(V::zero());
        let (before, between) = padded.split_at_mut(R * (length + 2));
        // SAFETY: the caller's; vectors have a number for every row.
        unsafe {
            let x = self.x.cast_const();
            let first = |unknown: usize| unknown * cells + line * length;
            for (unknown, rest) in rests.chunks_mut(length).enumerate() {
                let b = self.b.as_ptr().add(first(unknown));
                let others = Line::new(&self.a, line, unknown, x, Part::Others);
                let out = rest.as_mut_ptr();
                others.each_sum::<S>(Rest { b, out });
                let own = std::slice::from_raw_parts(x.add(first(unknown)), length);
                before[unknown * (length + 2) + 1..][..length].copy_from_slice(own);
            }
            let own: [_; R] =
                array::from_fn(|unknown| Line::new(&self.a, line, unknown, x, Part::Own));
            let rests = array::from_fn(|unknown| rests[unknown * length..].as_ptr());
            let inner = |unknown: usize| unknown * (length + 2) + 1;
            let [one, other] = self.order.parities();
            let (middle, end) = (between.as_mut_ptr(), self.x);
            let from = array::from_fn(|unknown| before[inner(unknown)..].as_ptr());
            let to = array::from_fn(|unknown| middle.add(inner(unknown)));
            relax::<S, M, R>(&own, &COLOURS[one], Colour { rests, from, to });
            let from = to.map(|to| to.cast_const());
            let to = array::from_fn(|unknown| end.add(first(unknown)));
            relax::<S, M, R>(&own, &COLOURS[other], Colour { rests, from, to });
        }
    }
}

/// For every unknown of a line what other lines leave to it, its numbers, and where the new ones go.
struct Colour<V, const R: usize> {
    rests: [*const V; R],
    from: [*const V; R],
    to: [*mut V; R],
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

/// Changes the cells of a colour on a line: `x += D^-1 (rest - A x)`, `D` the block of a cell.
///
/// # Safety
/// As for [`Simd`]; all pointers are to a line, and numbers can be read before and behind it.
#[inline(always)]
unsafe fn relax<S: Simd, M: Scalar, const R: usize>(
    matrix: &[Line<M, S::Real>; R],
    colour: &[f32; 16],
    line: Colour<S::Real, R>,
) {
    let (length, mut at) = (matrix[0].length, 0);
    // SAFETY: the caller's; loads end with the line, or with the number behind it.
    unsafe {
        let colour = S::load(colour.as_ptr(), S::LANES);
        while at + S::LANES <= length {
            relax_cells::<S, M, R>(matrix, colour, &line, at, S::LANES);
            at += S::LANES;
        }
        if at < length {
            relax_cells::<S, M, R>(matrix, colour, &line, at, length - at);
        }
    }
}

/// [`relax`] for `count` cells from `at` on.
///
/// # Safety
/// As for [`relax`].
#[inline(always)]
unsafe fn relax_cells<S: Simd, M: Scalar, const R: usize>(
    matrix: &[Line<M, S::Real>; R],
    colour: S::Register,
    line: &Colour<S::Real, R>,
    at: usize,
    count: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let mut residuals = [S::zero(); R];
        let mut block = [[S::zero(); R]; R];
        for (unknown, streams) in matrix.iter().enumerate() {
            let mut sum = S::zero();
            for stream in 0..streams.count {
                let a = streams.a[stream].add(at);
                prefetch(a.wrapping_add(streams.ahead), S::LANES);
                let (a, dx, column) = (S::load(a, count), streams.dx[stream], stream % R);
                let x = S::load(line.from[column].add(at).offset(dx.into()), count);
                sum = S::multiply_add(a, x, sum);
                if dx == 0 {
                    block[unknown][column] = a;
                }
            }
            residuals[unknown] = S::subtract(S::load(line.rests[unknown].add(at), count), sum);
        }
        let changes = eliminated::<S, R>(block, residuals);
        for (unknown, change) in changes.into_iter().enumerate() {
            let old = S::load(line.from[unknown].add(at), count);
            let new = S::multiply_add(colour, change, old);
            store::<S>(new, line.to[unknown].add(at), count);
        }
    }
}

/// The solutions of small systems, one a lane, by elimination without exchanges of rows.
///
/// # Safety
/// As for [`Simd`].
#[inline(always)]
unsafe fn eliminated<S: Simd, const R: usize>(
    mut a: [[S::Register; R]; R],
    mut b: [S::Register; R],
) -> [S::Register; R] {
    // SAFETY: the caller's.
    unsafe {
        let less = |a, b, c| S::subtract(a, S::multiply_add(b, c, S::zero()));
        for pivot in 0..R {
            for row in pivot + 1..R {
                let factor = S::divide(a[row][pivot], a[pivot][pivot]);
                for column in pivot + 1..R {
                    a[row][column] = less(a[row][column], factor, a[pivot][column]);
                }
                b[row] = less(b[row], factor, b[pivot]);
            }
        }
        for row in (0..R).rev() {
            for column in row + 1..R {
                b[row] = less(b[row], a[row][column], b[column]);
            }
            b[row] = S::divide(b[row], a[row][row]);
        }
        b
    }
}
