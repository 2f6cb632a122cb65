//! Products with a single vector.

use num_traits::Zero;

use super::Product;
#[cfg(target_arch = "x86_64")]
use crate::backend::cpu::simd::{Level, Simd, avx2, avx512, level};
#[cfg(target_arch = "x86_64")]
use crate::scalar::Kind;
use crate::scalar::{Field, Mixes, Scalar};

/// Rows with more entries are cut into parts of at most this many, summed side by side.
const LONG: usize = 32 * 1024;
/// Independent sums of the portable kernel, so that additions do not wait for each other.
const SUMS: usize = 4;

/// The rows of `y`, `first` being the number of the first.
pub(super) fn rows<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    y: &mut [Y],
) {
    #[cfg(target_arch = "x86_64")]
    if can_gather::<M, X, Y>(product.x) {
        let single = M::Accumulator::KIND == Kind::F32;
        // SAFETY: the host has the instructions of its level; columns lie inside `x`, whose
        // places fit 31 bits, and all types are real.
        unsafe {
            match (level(), single) {
                (Level::Avx512, false) => return doubles_avx512(product, first, y),
                (Level::Avx512, true) => return singles_avx512(product, first, y),
                (Level::Avx2, false) => return doubles_avx2(product, first, y),
                (Level::Avx2, true) => return singles_avx2(product, first, y),
                (Level::Portable, _) => {}
            }
        }
    }
    each_row(product, first, y, |columns, values| {
        // SAFETY: columns lie inside `x`.
        unsafe { portable_sum::<M, X, Y>(columns, values, product.x) }
    });
}

/// Whether the gathering kernels take these types and this vector.
#[cfg(target_arch = "x86_64")]
fn can_gather<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(x: &[X]) -> bool {
    let fits = x.len() <= i32::MAX as usize;
    fits && !M::Accumulator::KIND.is_complex() && matches!(X::KIND, Kind::F64 | Kind::F32)
}

#[cfg(target_arch = "x86_64")]
macro_rules! gathering_rows {
    ($($name:ident: $simd:ty, $features:literal;)*) => {$(
        #[target_feature(enable = $features)]
        unsafe fn $name<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
            product: &Product<'_, M, X, Y>,
            first: usize,
            y: &mut [Y],
        ) {
            each_row(product, first, y, |columns, values| {
                // SAFETY: the caller's.
                let sum = unsafe { gathered_sum::<$simd, M, X>(columns, values, product.x) };
                M::Accumulator::from_f64(sum)
            });
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
gathering_rows! {
    doubles_avx512: avx512::Doubles, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    singles_avx512: avx512::Singles, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    doubles_avx2: avx2::Doubles, "avx2,fma,f16c";
    singles_avx2: avx2::Singles, "avx2,fma,f16c";
}

/// Stores every row's combination of its `sum`.
#[inline(always)]
fn each_row<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    y: &mut [Y],
    sum: impl Fn(&[u32], &[M]) -> M::Accumulator + Sync,
) {
    let by = product.combination(0);
    for (row, y) in (first..).zip(y) {
        let (columns, values) = product.row(row);
        let value = if columns.len() <= LONG {
            sum(columns, values)
        } else {
            long_sum(columns, values, &sum)
        };
        product.store(&by, value, row, y);
    }
}

/// Halves a long row until its parts are short. The tree follows from the length alone.
#[cold]
fn long_sum<M: Sync, A: Field>(
    columns: &[u32],
    values: &[M],
    sum: &(impl Fn(&[u32], &[M]) -> A + Sync),
) -> A {
    if columns.len() <= LONG {
        return sum(columns, values);
    }
    let middle = columns.len().div_ceil(LONG) / 2 * LONG;
    let (left, right) = super::both(
        || long_sum(&columns[..middle], &values[..middle], sum),
        || long_sum(&columns[middle..], &values[middle..], sum),
    );
    left + right
}

/// # Safety
/// Columns lie inside `x`.
#[inline(always)]
unsafe fn portable_sum<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> M::Accumulator {
    // SAFETY: the caller's.
    let term = |column: u32, value: M| {
        value.matrix() * M::input(unsafe { *x.get_unchecked(column as usize) })
    };
    let mut sums = [M::Accumulator::zero(); SUMS];
    let (columns_body, columns_tail) = columns.as_chunks::<SUMS>();
    let (values_body, values_tail) = values.as_chunks::<SUMS>();
    for (columns, values) in columns_body.iter().zip(values_body) {
        for lane in 0..SUMS {
            sums[lane] += term(columns[lane], values[lane]);
        }
    }
    for (lane, (&column, &value)) in columns_tail.iter().zip(values_tail).enumerate() {
        sums[lane] += term(column, value);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// # Safety
/// As [`Simd`] asks.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn gathered_sum<S: Simd, M: Scalar, X: Scalar>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> f64 {
    let count = columns.len();
    let (columns, values, x) = (columns.as_ptr(), values.as_ptr(), x.as_ptr());
    // SAFETY: the caller's; places stay below `count`.
    unsafe {
        let add = |sum: S::Register, place: usize, lanes: usize| {
            let a = S::load(values.add(place), lanes);
            let x = S::gather(x, columns.add(place), lanes);
            S::multiply_add(a, x, sum)
        };
        let (mut even, mut odd) = (S::zero(), S::zero());
        let mut place = 0;
        while place + 2 * S::LANES <= count {
            even = add(even, place, S::LANES);
            odd = add(odd, place + S::LANES, S::LANES);
            place += 2 * S::LANES;
        }
        if place + S::LANES <= count {
            even = add(even, place, S::LANES);
            place += S::LANES;
        }
        odd = add(odd, place, count - place);
        S::sum(S::add(even, odd))
    }
}
