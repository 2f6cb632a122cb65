//! Products with a single vector by gathering its values into registers.

use num_traits::Zero;

use super::column::{LONG, long_sum};
use super::{Combination, Product};
use crate::backend::cpu::simd::{Level, Simd, avx2, avx512, level};
use crate::scalar::{Field, Kind, Mixes, Real, Scalar};

/// The rows of `y`, `first` being the number of the first; false where the host or the types do
/// not allow it, and then nothing was done.
pub(super) fn rows<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    y: &mut [Y],
) -> bool {
    let possible = const {
        matches!(M::Accumulator::KIND, Kind::F64 | Kind::F32)
            && matches!(X::KIND, Kind::F64 | Kind::F32)
    };
    if !possible || product.x.len() > i32::MAX as usize {
        return false;
    }
    // SAFETY: the host has the instructions of its level; columns lie inside `x`, whose places
    // fit 31 bits, and all types are real.
    unsafe {
        match level() {
            Level::Avx512 => rows_avx512(product, first, y),
            Level::Avx2 => rows_avx2(product, first, y),
            Level::Portable => return false,
        }
    }
    true
}

macro_rules! gathering {
    ($($name:ident: $simd:ident, $features:literal;)*) => {$(
        #[target_feature(enable = $features)]
        unsafe fn $name<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
            product: &Product<'_, M, X, Y>,
            first: usize,
            y: &mut [Y],
        ) {
            // SAFETY: the caller's.
            unsafe {
                if const { matches!(M::Accumulator::KIND, Kind::F32) } {
                    groups!($simd::Singles, product, first, y);
                } else {
                    groups!($simd::Doubles, product, first, y);
                }
            }
        }
    )*};
}

/// As many rows at a time as a register has lanes. A macro, for the closure must be written in
/// the function that enables the instructions.
macro_rules! groups {
    ($simd:ty, $product:ident, $first:ident, $y:ident) => {{
        const LANES: usize = <$simd>::LANES;
        let by = $product.combination(0);
        let sum = |columns: &[u32], values: &[M]| {
            let row = lanes::<$simd, M, X>(columns, values, $product.x);
            M::Accumulator::from_f64(sums::<$simd, LANES>(&[row])[0].to_f64())
        };
        for (group, y) in $y.chunks_mut(LANES).enumerate() {
            let first = $first + group * LANES;
            let offsets = &$product.a.offsets[first..=first + y.len()];
            let short = offsets[y.len()] - offsets[0] <= LONG;
            match y.try_into() {
                Ok(y) if short => together::<$simd, M, X, Y, LANES>($product, &by, first, y),
                _ => {
                    for (row, y) in (first..).zip(y) {
                        let (columns, values) = $product.row(row);
                        $product.store(&by, long_sum(columns, values, &sum), row, y);
                    }
                }
            }
        }
    }};
}

gathering! {
    rows_avx512: avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    rows_avx2: avx2, "avx2,fma,f16c";
}

/// As many rows as a register has lanes, their sums over lanes formed together.
///
/// # Safety
/// As [`Simd`] asks.
#[inline(always)]
unsafe fn together<S: Simd, M: Mixes<X, Y>, X: Scalar, Y: Scalar, const LANES: usize>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<M::Accumulator>,
    first: usize,
    y: &mut [Y; LANES],
) {
    // SAFETY: the caller's.
    let sums: [S::Real; LANES] = unsafe {
        let mut rows = [S::zero(); LANES];
        for index in 0..LANES {
            let (columns, values) = product.row(first + index);
            rows[index] = lanes::<S, M, X>(columns, values, product.x);
        }
        sums::<S, LANES>(&rows)
    };
    let sums = sums.map(|sum| M::Accumulator::from_f64(sum.to_f64()));
    product.store_all(by, sums, first, y);
}

/// The sums of up to `LANES` registers, each in the same order wherever it stands.
///
/// # Safety
/// As [`Simd`] asks.
#[inline(always)]
unsafe fn sums<S: Simd, const LANES: usize>(rows: &[S::Register]) -> [S::Real; LANES] {
    let mut sums = [S::Real::zero(); LANES];
    // SAFETY: the caller's.
    unsafe {
        let mut all = [S::zero(); LANES];
        all[..rows.len()].copy_from_slice(rows);
        S::sums(&all, &mut sums);
    }
    sums
}

/// The products of one row, summed in the lanes of a register.
///
/// # Safety
/// As [`Simd`] asks.
#[inline(always)]
unsafe fn lanes<S: Simd, M: Scalar, X: Scalar>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> S::Register {
    let (mut columns, mut values, mut left) = (columns.as_ptr(), values.as_ptr(), columns.len());
    // SAFETY: the caller's; the pointers move on by what is left at most.
    unsafe {
        let mut sum = S::zero();
        while left > S::LANES {
            let x = S::gather(x.as_ptr(), columns, S::LANES);
            sum = S::multiply_add(S::load(values, S::LANES), x, sum);
            (columns, values) = (columns.add(S::LANES), values.add(S::LANES));
            left -= S::LANES;
        }
        let x = S::gather(x.as_ptr(), columns, left);
        S::multiply_add(S::load(values, left), x, sum)
    }
}
