//! Whole arrays from one storage type to another.

use std::any::TypeId;

use crate::multiversion;
use crate::scalar::half_bits::{f16_to_f32, f32_to_f16};
use crate::scalar::{Kind, Scalar, convert, f16, round_to_odd};

/// Values converted at a time where they pass through single precision on the way.
const PIECE: usize = 256;

/// Stores every value of `from` in `to`, in another type: rounded to nearest, once.
///
/// The same numbers as [`convert`] one by one, as fast as memory is: the processor's conversions
/// of half precision are used where it has them. A real type drops imaginary parts.
///
/// # Panics
/// When the lengths differ.
///
/// ```
/// use vcycle::scalar::{convert_slice, f16};
/// let mut halves = [f16::ZERO; 2];
/// convert_slice(&[0.5, 65504.0], &mut halves);
/// assert_eq!(halves.map(f16::to_f64), [0.5, 65504.0]);
/// ```
pub fn convert_slice<S: Scalar, T: Scalar>(from: &[S], to: &mut [T]) {
    assert_eq!(from.len(), to.len(), "arrays of equal length");
    let mut singles = [0.0_f32; PIECE];
    for (from, to) in from.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
        let singles = &mut singles[..from.len()];
        match (S::KIND, T::KIND) {
            (Kind::F16, Kind::F32) => widen(same(from), same_mut(to)),
            (Kind::F32, Kind::F16) => narrow(same(from), same_mut(to)),
            (Kind::F16, Kind::F64) => {
                widen(same(from), singles);
                one_by_one(singles, to);
            }
            (Kind::F64, Kind::F16) => narrow_doubles(same(from), same_mut(to), singles),
            _ => one_by_one(from, to),
        }
    }
}

/// A slice by the other name of its type.
fn same<S: 'static, T: 'static>(values: &[S]) -> &[T] {
    assert_eq!(TypeId::of::<S>(), TypeId::of::<T>());
    // SAFETY: the two types are one.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// A slice by the other name of its type, to be changed.
fn same_mut<S: 'static, T: 'static>(values: &mut [S]) -> &mut [T] {
    assert_eq!(TypeId::of::<S>(), TypeId::of::<T>());
    // SAFETY: the two types are one.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len()) }
}

multiversion! {
    fn one_by_one[S: Scalar, T: Scalar](from: &[S], to: &mut [T]) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = convert(from);
        }
    }
}

multiversion! {
    fn round_all_to_odd[](from: &[f64], to: &mut [f32]) {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = round_to_odd(from);
        }
    }
}

fn widen(from: &[f16], to: &mut [f32]) {
    let done = hardware::widen(from, to);
    for (to, &from) in to[done..].iter_mut().zip(&from[done..]) {
        *to = f16_to_f32(from);
    }
}

fn narrow(from: &[f32], to: &mut [f16]) {
    let done = hardware::narrow(from, to);
    for (to, &from) in to[done..].iter_mut().zip(&from[done..]) {
        *to = f32_to_f16(from);
    }
}

/// Through single precision, rounded to odd there: only the second rounding counts.
fn narrow_doubles(from: &[f64], to: &mut [f16], singles: &mut [f32]) {
    let done = hardware::narrow_doubles(from, to);
    let singles = &mut singles[done..];
    round_all_to_odd(&from[done..], singles);
    narrow(singles, &mut to[done..]);
}

/// The processor's conversions of half precision, eight values at a time; they return how many values they did.
mod hardware {
    use super::f16;
    #[cfg(target_arch = "x86_64")]
    use crate::simd::{Level, level};
    #[cfg(target_arch = "x86_64")]
    use std::arch::x86_64::*;

    macro_rules! in_eights {
        ($($name:ident: $from:ty => $to:ty, $least:ident $features:literal, |$given:ident| $converted:block)*) => {$(
            #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
            pub(super) fn $name(from: &[$from], to: &mut [$to]) -> usize {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = $features)]
                    fn eights(from: &[$from], to: &mut [$to]) -> usize {
                        let (from, to) = (from.as_chunks::<8>().0, to.as_chunks_mut::<8>().0);
                        for ($given, to) in from.iter().zip(to) {
                            // SAFETY: both are eight values, as many as are read and written.
                            unsafe { std::ptr::write_unaligned(to.as_mut_ptr().cast(), $converted) };
                        }
                        8 * from.len()
                    }
                    if level() >= Level::$least {
                        // SAFETY: this level has these features, and so have those above it.
                        return unsafe { eights(from, to) };
                    }
                }
                0
            }
        )*};
    }

    in_eights! {
        widen: f16 => f32, Avx2 "avx,f16c", |from| {
            _mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))
        }
        narrow: f32 => f16, Avx2 "avx,f16c", |from| {
            _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(from.as_ptr()))
        }
        narrow_doubles: f64 => f16, Avx512 "avx512f,avx512vl,f16c", |from| {
            const TRUNCATE: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;
            let doubles = _mm512_loadu_pd(from.as_ptr());
            let singles = _mm512_cvt_roundpd_ps::<TRUNCATE>(doubles);
            let back = _mm512_cvtps_pd(singles);
            let inexact = _mm512_cmp_pd_mask::<_CMP_NEQ_OQ>(back, doubles);
            let bits = _mm256_castps_si256(singles);
            let odd = _mm256_mask_or_epi32(bits, inexact, bits, _mm256_set1_epi32(1));
            _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_castsi256_ps(odd))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{bf16, c32, c64};
    use crate::simd::testing::at_every_level;

    /// Every half, and around it what is hard to round, in double precision.
    fn telling() -> Vec<f64> {
        let near = [0.0, 1e-12, -1e-12, 2f64.powi(-11), 2f64.powi(-12), 1e-30];
        let halves = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f64());
        let mut values: Vec<f64> = halves
            .flat_map(|half| near.map(|off| half * (1.0 + off)))
            .collect();
        let brains = (0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f64());
        values.extend(brains.flat_map(|v| near.map(|off| v * (1.0 + off))));
        values.extend([
            1e300,
            -1e300,
            1e-300,
            65519.999,
            65520.0,
            f64::MAX,
            f64::MIN_POSITIVE,
        ]);
        values
    }

    fn check<S: Scalar, T: Scalar>(from: &[S]) {
        let mut to = vec![T::default(); from.len()];
        convert_slice(from, &mut to);
        for (&from, to) in from.iter().zip(to) {
            let expected = convert::<S, T>(from);
            let bits = |value: T| (value.to_c64().re.to_bits(), value.to_c64().im.to_bits());
            assert_eq!(bits(to), bits(expected), "{from:?} to {:?}", T::KIND);
        }
    }

    fn check_from<S: Scalar>() {
        let from: Vec<S> = telling().into_iter().map(convert).collect();
        check::<S, f64>(&from);
        check::<S, f32>(&from);
        check::<S, f16>(&from);
        check::<S, bf16>(&from);
        check::<S, c64>(&from);
        check::<S, c32>(&from);
    }

    #[test]
    fn arrays_convert_as_single_values_do() {
        at_every_level(|_| {
            check_from::<f64>();
            check_from::<f32>();
            check_from::<f16>();
            check_from::<bf16>();
            check_from::<c32>();
        });
    }

    #[test]
    fn nans_keep_their_upper_bits() {
        at_every_level(|level| {
            for bits in 0x7C01..0x8000 {
                let nan = f16::from_bits(bits);
                let (mut single, mut double) = ([0.0_f32; 8], [0.0_f64; 8]);
                convert_slice(&[nan; 8], &mut single);
                convert_slice(&[nan; 8], &mut double);
                assert_eq!(single[0].to_bits(), f16_to_f32(nan).to_bits());
                let mut half = [f16::ZERO; 8];
                convert_slice(&single, &mut half);
                assert_eq!(half[7].to_bits(), bits | 0x0200, "{level:?}");
                convert_slice(&double, &mut half);
                assert_eq!(half[7].to_bits(), bits | 0x0200, "{level:?}");
            }
        });
    }
}
