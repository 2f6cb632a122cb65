//! Stencil matrices on threads and vector units.
//!
//! A line of cells along x is done at a time, all its registers side by side, so that the matrix is read
//! from its first number to its last. The neighbours outside the grid are left out line by line along y
//! and z; along x the matrix has zeros for them, and what they multiply is whatever lies beside the line.

mod block;
mod coarse;
mod dispatch;
mod galerkin;
mod line;
mod own;
mod product;
mod residual;
mod rows;
mod sweep;
mod transfer;

pub(crate) use coarse::{Axes, Correction, add_prolonged, restrict_residual};
use dispatch::{Kernel, dispatch, portable};
pub(crate) use dispatch::{Vectors, has_kernels};
pub(crate) use galerkin::Product;
use line::{Finish, Part, Streams};
pub(crate) use product::product;
pub(crate) use residual::Residual;
pub(crate) use rows::{product_of_rows, rows_scratch};
pub(crate) use sweep::{gauss_seidel, scratch_length};
pub(crate) use transfer::{deal, prolong, restrict};

use super::simd::{Simd, multiversion};
use crate::scalar::Real;

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

multiversion! {
    /// Number by number.
    pub(crate) fn multiply[V: Real](by: &[V], to: &mut [V]) {
        to.iter_mut().zip(by).for_each(|(to, by)| *to *= *by);
    }
}
