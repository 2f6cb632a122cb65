//! Stencil matrices on threads and vector units.
//!
//! A line of cells along x is done at a time. The lines it is coupled with are found once, and those
//! outside the grid left out; inside the line the loop over registers has no branches. Only the first
//! and last cell, which have no neighbour on one side, are done by themselves.

mod dispatch;
mod product;
mod sweep;
mod transfer;

pub(crate) use dispatch::Vectors;
use dispatch::{Kernel, dispatch};
pub(crate) use product::product;
pub(crate) use sweep::{gauss_seidel, scratch_length};
pub(crate) use transfer::{prolong, restrict};

use super::simd::Simd;
use crate::backend::reference::stencil::StencilArrays;
use crate::scalar::Scalar;

/// Entries of a row of the largest stencil with four unknowns a cell.
const POINTS: usize = 4 * 27;
/// Registers that are summed up side by side, so that additions need not wait for each other.
const UNROLL: usize = 4;
/// Bytes that memory moves at a time.
const CACHE_LINE: usize = 64;

/// Which neighbours of a line take part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// All.
    All,
    /// Those on other lines.
    Others,
    /// Those on the line itself.
    Own,
}

/// What is done with sums. No closure: those are not always inlined, and then have no instructions.
trait Finish<V: Vectors> {
    /// Takes the sums of `count` rows of a line from `at` on.
    ///
    /// # Safety
    /// As for [`Simd`].
    unsafe fn finish<S: Simd<Real = V>>(&mut self, at: usize, count: usize, sums: S::Register);
}

/// One line of the rows of an unknown: for every offset and unknown there where its entries begin, and the numbers they multiply.
struct Line<M, V> {
    a: [*const M; POINTS],
    x: [*const V; POINTS],
    dx: [i8; POINTS],
    count: usize,
    length: usize,
    /// Entries to the same ones of the line that is done next.
    ahead: usize,
}

impl<M: Scalar, V> Line<M, V> {
    /// The rows of an unknown; `x` has a number for every row.
    #[inline(always)]
    fn new(
        matrix: &StencilArrays<'_, M>,
        line: usize,
        unknown: usize,
        x: *const V,
        part: Part,
    ) -> Self {
        let (length, points, r) = (matrix.grid.length(), matrix.offsets.len(), matrix.unknowns);
        let mut made = Self {
            a: [std::ptr::null(); POINTS],
            x: [std::ptr::null(); POINTS],
            dx: [0; POINTS],
            count: 0,
            length,
            // Sweeps leave out every second line.
            ahead: length * points * r * if part == Part::All || r > 1 { 1 } else { 2 },
        };
        let place = matrix.grid.place(line);
        for (point, &offset) in matrix.offsets.iter().enumerate() {
            let Some(other) = matrix.grid.beside(place, offset) else {
                continue;
            };
            let own = offset[1] == 0 && offset[2] == 0;
            if part != Part::All && own != (part == Part::Own) {
                continue;
            }
            for column in 0..r {
                let first = (((line * r + unknown) * points + point) * r + column) * length;
                made.a[made.count] = matrix.values[first..][..length].as_ptr();
                made.x[made.count] = x
                    .wrapping_add(column * matrix.grid.cells() + other * length)
                    .wrapping_offset(offset[0].into());
                made.dx[made.count] = offset[0];
                made.count += 1;
            }
        }
        made
    }

    /// The sums of `BLOCKS` registers of rows from `at` on, `count` lanes of each.
    ///
    /// # Safety
    /// As for [`Simd`]; none of the rows is the first or last of the line.
    #[inline(always)]
    unsafe fn sums<S: Simd, const BLOCKS: usize>(
        &self,
        at: usize,
        count: usize,
    ) -> [S::Register; BLOCKS]
    where
        V: Scalar,
    {
        // SAFETY: the caller's: rows and their neighbours are on the lines.
        unsafe {
            let mut sums = [S::zero(); BLOCKS];
            for point in 0..self.count {
                let (a, x) = (self.a[point].add(at), self.x[point].wrapping_add(at));
                prefetch(a.wrapping_add(self.ahead), BLOCKS * S::LANES);
                for (block, sum) in sums.iter_mut().enumerate() {
                    let a = S::load(a.add(block * S::LANES), count);
                    let x = S::load(x.add(block * S::LANES), count);
                    *sum = S::multiply_add(a, x, *sum);
                }
            }
            sums
        }
    }

    /// The sum of the first or last row, in the first lane.
    ///
    /// # Safety
    /// As for [`Simd`].
    #[inline(always)]
    unsafe fn edge_sum<S: Simd>(&self, at: usize) -> S::Register
    where
        V: Scalar,
    {
        // SAFETY: the caller's; neighbours outside the line are left out.
        unsafe {
            let mut sum = S::zero();
            for point in 0..self.count {
                let there = at.checked_add_signed(self.dx[point].into());
                if there.is_some_and(|x| x < self.length) {
                    let a = S::load(self.a[point].add(at), 1);
                    let x = S::load(self.x[point].wrapping_add(at), 1);
                    sum = S::multiply_add(a, x, sum);
                }
            }
            sum
        }
    }

    /// Hands the sums of all rows over.
    ///
    /// # Safety
    /// As for [`Simd`].
    #[inline(always)]
    unsafe fn each_sum<S: Simd<Real = V>>(&self, mut to: impl Finish<V>)
    where
        V: Vectors,
    {
        let (mut at, end) = (1, self.length - 1);
        // SAFETY: the caller's; `sums` gets inner rows only.
        unsafe {
            to.finish::<S>(0, 1, self.edge_sum::<S>(0));
            while at + UNROLL * S::LANES <= end {
                let sums = self.sums::<S, UNROLL>(at, S::LANES);
                for (block, sum) in sums.into_iter().enumerate() {
                    to.finish::<S>(at + block * S::LANES, S::LANES, sum);
                }
                at += UNROLL * S::LANES;
            }
            while at + S::LANES <= end {
                to.finish::<S>(at, S::LANES, self.sums::<S, 1>(at, S::LANES)[0]);
                at += S::LANES;
            }
            if at < end {
                to.finish::<S>(at, end - at, self.sums::<S, 1>(at, end - at)[0]);
            }
            if end > 0 {
                to.finish::<S>(end, 1, self.edge_sum::<S>(end));
            }
        }
    }
}

/// Asks for values that are needed soon: lines are too short for the processor to see the stream.
#[inline(always)]
fn prefetch<M>(values: *const M, count: usize) {
    #[cfg(target_arch = "x86_64")]
    for byte in (0..count * size_of::<M>()).step_by(CACHE_LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint; the address need not exist.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.cast::<i8>().wrapping_add(byte)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, count);
}

/// Writes the first `count` lanes.
///
/// # Safety
/// As for [`Simd`]; that many numbers can be written.
#[inline(always)]
unsafe fn store<S: Simd>(a: S::Register, to: *mut S::Real, count: usize) {
    // SAFETY: the caller's.
    unsafe {
        if count == S::LANES {
            return S::store(a, std::slice::from_raw_parts_mut(to, S::LANES));
        }
        let mut lanes = [num_traits::Zero::zero(); 16];
        S::store(a, &mut lanes[..S::LANES]);
        std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
    }
}
