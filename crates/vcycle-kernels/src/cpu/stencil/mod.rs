//! Stencil matrices on threads and vector units.
//!
//! A line of cells along x is done at a time, all its registers side by side, so that the matrix is read
//! from its first number to its last. The neighbours outside the grid are left out line by line along y
//! and z; along x the matrix has zeros for them, and what they multiply is whatever lies beside the line.
//!
//! Functions on registers are unsafe: the host has to have the instructions of `S`, and there have to be as many numbers,
//! entries and rows behind pointers as they say.

#![allow(
    unsafe_op_in_unsafe_fn,
    reason = "these functions are unsafe as a whole: what they ask for is what the functions they call ask for"
)]

mod coarse;
mod dispatch;
mod galerkin;
mod line;
mod own;
mod product;
mod rows;
mod sweep;
mod transfer;
mod transfer_sum;

pub use coarse::{Axes, Correction, add_prolonged, restrict_residual};
use dispatch::{LineKernel, dispatch, portable};
pub use dispatch::{Vectors, has_kernels};
pub use galerkin::Product;
use line::{FinishSums, Part, Streams};
pub use product::{Residual, product};
pub use rows::{product_of_rows, rows_scratch};
pub use sweep::{gauss_seidel, scratch_length};
pub use transfer::{deal, prolong, restrict};

use crate::scalar::Real;
use crate::{multiversion, simd::Simd};

/// The number in every lane.
#[inline(always)]
unsafe fn splat<S: Simd>(value: S::Real) -> S::Register {
    S::load([value; 16].as_ptr(), S::LANES)
}

/// Writes the first `count` lanes.
///
/// # Safety
/// The host has the instructions of `S`, and `count` is at most its lanes; that many numbers can be written.
#[inline(always)]
unsafe fn store<S: Simd>(a: S::Register, to: *mut S::Real, count: usize) {
    if count == S::LANES {
        return S::store(a, std::slice::from_raw_parts_mut(to, S::LANES));
    }
    let mut lanes = [num_traits::Zero::zero(); 16];
    S::store(a, &mut lanes[..S::LANES]);
    std::ptr::copy_nonoverlapping(lanes.as_ptr(), to, count);
}

multiversion! {
    /// Number by number.
    pub fn multiply[V: Real](by: &[V], to: &mut [V]) {
        to.iter_mut().zip(by).for_each(|(to, by)| *to *= *by);
    }
}
