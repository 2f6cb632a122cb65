//! What kernels of registers share: prefetching, and the way from the lanes of a register to the result.

use super::{Combination, Product, store_all};
use crate::scalar::{Field, Scalar, convert};
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

/// Stores the combinations of the sums in a register, from the lane `skipped` on, one for each of `y`.
///
/// # Safety
/// The host has the instructions of `S`, AVX2 at least.
#[inline(always)]
pub(super) unsafe fn store<S: Simd, M: Scalar, X: Scalar, Y: Scalar, const LANES: usize>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<S::Real>,
    (register, skipped): (S::Register, usize),
    first: usize,
    y: &mut [Y],
) {
    let mut sums = [S::Real::from_f64(0.0); LANES];
    S::store(register, &mut sums);
    match <&mut [Y; LANES]>::try_from(&mut *y) {
        Ok(y) if by.plain => {
            for lane in 0..LANES {
                y[lane] = convert(sums[lane]);
            }
        }
        _ => {
            let sums = &sums[skipped..skipped + y.len()];
            store_all(&product.vectors, by, sums, (first, 0), y);
        }
    }
}
