//! Registers of 512 bits.

use std::arch::x86_64::*;

use super::Simd;
use crate::scalar::{Kind, Scalar};

/// Eight doubles.
pub(crate) struct Doubles;
/// Sixteen singles.
pub(crate) struct Singles;

/// Lane by lane of 128 bits, what is left of the sums of four registers.
#[inline(always)]
unsafe fn fours_pd(a: __m512d, b: __m512d, c: __m512d, d: __m512d) -> __m512d {
    unsafe {
        let low = _mm512_add_pd(
            _mm512_shuffle_f64x2::<0x44>(a, b),
            _mm512_shuffle_f64x2::<0xEE>(a, b),
        );
        let high = _mm512_add_pd(
            _mm512_shuffle_f64x2::<0x44>(c, d),
            _mm512_shuffle_f64x2::<0xEE>(c, d),
        );
        _mm512_add_pd(
            _mm512_shuffle_f64x2::<0x88>(low, high),
            _mm512_shuffle_f64x2::<0xDD>(low, high),
        )
    }
}

/// Lane by lane of 128 bits, what is left of the sums of four registers.
#[inline(always)]
unsafe fn fours_ps(a: __m512, b: __m512, c: __m512, d: __m512) -> __m512 {
    unsafe {
        let low = _mm512_add_ps(
            _mm512_shuffle_f32x4::<0x44>(a, b),
            _mm512_shuffle_f32x4::<0xEE>(a, b),
        );
        let high = _mm512_add_ps(
            _mm512_shuffle_f32x4::<0x44>(c, d),
            _mm512_shuffle_f32x4::<0xEE>(c, d),
        );
        _mm512_add_ps(
            _mm512_shuffle_f32x4::<0x88>(low, high),
            _mm512_shuffle_f32x4::<0xDD>(low, high),
        )
    }
}

impl Simd for Doubles {
    type Register = __m512d;
    type Real = f64;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> __m512d {
        unsafe { _mm512_setzero_pd() }
    }

    #[inline(always)]
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> __m512d {
        let mask = ((1_u32 << count) - 1) as __mmask8;
        // SAFETY: the caller's; masked lanes are not read.
        unsafe {
            match M::KIND {
                Kind::F64 => _mm512_maskz_loadu_pd(mask, values.cast()),
                Kind::F32 => _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, values.cast())),
                Kind::F16 => {
                    let halves = _mm_maskz_loadu_epi16(mask, values.cast());
                    _mm512_cvtps_pd(_mm256_cvtph_ps(halves))
                }
                Kind::Bf16 => {
                    let halves = _mm_maskz_loadu_epi16(mask, values.cast());
                    let bits = _mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(halves));
                    _mm512_cvtps_pd(_mm256_castsi256_ps(bits))
                }
                Kind::C64 | Kind::C32 => unreachable!("lanes are real"),
            }
        }
    }

    #[inline(always)]
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> __m512d {
        let mask = ((1_u32 << count) - 1) as __mmask8;
        // SAFETY: the caller's; masked lanes are not read.
        unsafe {
            let places = _mm256_maskz_loadu_epi32(mask, columns.cast());
            match X::KIND {
                Kind::F64 => _mm512_mask_i32gather_pd::<8>(Self::zero(), mask, places, x.cast()),
                Kind::F32 => {
                    let zero = _mm256_setzero_ps();
                    let x = _mm256_mmask_i32gather_ps::<4>(zero, mask, places, x.cast());
                    _mm512_cvtps_pd(x)
                }
                _ => unreachable!("gathered lanes are f64 or f32"),
            }
        }
    }

    #[inline(always)]
    unsafe fn multiply_add(a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        unsafe { _mm512_fmadd_pd(a, b, c) }
    }

    #[inline(always)]
    unsafe fn sums(rows: &[__m512d], sums: &mut [f64]) {
        assert!(rows.len() == Self::LANES && sums.len() == Self::LANES);
        // SAFETY: the caller's.
        unsafe {
            let even = fours_pd(rows[0], rows[2], rows[4], rows[6]);
            let odd = fours_pd(rows[1], rows[3], rows[5], rows[7]);
            let whole = _mm512_add_pd(_mm512_unpacklo_pd(even, odd), _mm512_unpackhi_pd(even, odd));
            _mm512_storeu_pd(sums.as_mut_ptr(), whole);
        }
    }
}

impl Simd for Singles {
    type Register = __m512;
    type Real = f32;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> __m512 {
        let mask = ((1_u32 << count) - 1) as __mmask16;
        // SAFETY: the caller's; masked lanes are not read.
        unsafe {
            match M::KIND {
                Kind::F32 => _mm512_maskz_loadu_ps(mask, values.cast()),
                Kind::F16 => _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, values.cast())),
                Kind::Bf16 => {
                    let halves = _mm256_maskz_loadu_epi16(mask, values.cast());
                    let bits = _mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(halves));
                    _mm512_castsi512_ps(bits)
                }
                _ => unreachable!("lanes are real and no wider than f32"),
            }
        }
    }

    #[inline(always)]
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> __m512 {
        debug_assert_eq!(X::KIND, Kind::F32);
        let mask = ((1_u32 << count) - 1) as __mmask16;
        // SAFETY: the caller's; masked lanes are not read.
        unsafe {
            let places = _mm512_maskz_loadu_epi32(mask, columns.cast());
            _mm512_mask_i32gather_ps::<4>(Self::zero(), mask, places, x.cast())
        }
    }

    #[inline(always)]
    unsafe fn multiply_add(a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn sums(rows: &[__m512], sums: &mut [f32]) {
        assert!(rows.len() == Self::LANES && sums.len() == Self::LANES);
        // SAFETY: the caller's.
        unsafe {
            let a = fours_ps(rows[0], rows[4], rows[8], rows[12]);
            let b = fours_ps(rows[1], rows[5], rows[9], rows[13]);
            let c = fours_ps(rows[2], rows[6], rows[10], rows[14]);
            let d = fours_ps(rows[3], rows[7], rows[11], rows[15]);
            let low = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let high = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            let whole = _mm512_add_ps(
                _mm512_shuffle_ps::<0x44>(low, high),
                _mm512_shuffle_ps::<0xEE>(low, high),
            );
            _mm512_storeu_ps(sums.as_mut_ptr(), whole);
        }
    }
}
