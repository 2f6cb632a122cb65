//! What kernels of registers share: prefetching, and the way from the lanes of a register to the result.

use super::{Combination, Product, store_all};
use crate::cpu::stencil::Vectors;
use crate::scalar::{Scalar, convert};
use crate::simd::Simd;

/// Bytes between what is read and what is asked for.
const AHEAD: usize = 2048;

/// Asks for what will be read soon; the processor's own prefetching ends at every page.
#[inline(always)]
pub(super) fn prefetch<T>(from: *const T) {
    let ahead = from.cast::<i8>().wrapping_add(AHEAD);
    // SAFETY: a hint, allowed for any address.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(ahead) };
}

/// Rows of a product with a single vector that have something in common, and what becomes of their sums.
///
/// The host has AVX2 at least, and the places of `x` fit 31 bits. `A` is a real type; `X` is one that is no half and, like `M`,
/// no wider than `A`.
pub(super) struct Rows<'p, A, M, X, Y: Scalar> {
    pub(super) product: &'p Product<'p, M, X, Y>,
    pub(super) by: &'p Combination<A>,
    /// The first of them.
    pub(super) first: usize,
}

impl<A: Vectors, M: Scalar, X: Scalar, Y: Scalar> Rows<'_, A, M, X, Y> {
    /// Stores the combinations of the sums in a register, from the lane `skipped` on, one for each of `y`, which begins with
    /// a `row`.
    #[inline(always)]
    pub(super) unsafe fn store<S: Simd<Real = A>, const LANES: usize>(
        &self,
        (register, skipped): (S::Register, usize),
        row: usize,
        y: &mut [Y],
    ) {
        let mut sums = [A::from_f64(0.0); LANES];
        S::store(register, &mut sums);
        match <&mut [Y; LANES]>::try_from(&mut *y) {
            Ok(y) if self.by.plain => {
                for lane in 0..LANES {
                    y[lane] = convert(sums[lane]);
                }
            }
            _ => {
                let sums = &sums[skipped..skipped + y.len()];
                store_all(&self.product.vectors, self.by, sums, (row, 0), y);
            }
        }
    }
}
