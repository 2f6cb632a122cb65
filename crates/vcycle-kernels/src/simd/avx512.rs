//! Registers of 512 bits.

use std::arch::x86_64::*;

use super::Simd;
use crate::scalar::{Kind, Scalar};

/// Eight doubles.
pub struct Doubles;
/// Sixteen singles.
pub struct Singles;

impl Simd for Doubles {
    type Register = __m512d;
    type Real = f64;
    const LANES: usize = 8;

    inlined! {
        unsafe fn zero() -> __m512d = _mm512_setzero_pd();
        unsafe fn splat(value: f64) -> __m512d = _mm512_set1_pd(value);
        unsafe fn multiply_add(a: __m512d, b: __m512d, c: __m512d) -> __m512d = _mm512_fmadd_pd(a, b, c);
        unsafe fn multiply(a: __m512d, b: __m512d) -> __m512d = _mm512_mul_pd(a, b);
        unsafe fn add(a: __m512d, b: __m512d) -> __m512d = _mm512_add_pd(a, b);
        unsafe fn subtract(a: __m512d, b: __m512d) -> __m512d = _mm512_sub_pd(a, b);
        unsafe fn inverse(a: __m512d) -> __m512d = _mm512_div_pd(_mm512_set1_pd(1.0), a);
        unsafe fn alternate(even: __m512d, odd: __m512d) -> __m512d = _mm512_mask_blend_pd(0xAA, even, odd);
        unsafe fn store(a: __m512d, to: &mut [f64]) = _mm512_storeu_pd(to[..Self::LANES].as_mut_ptr(), a);
        unsafe fn shift_up(before: __m512d, here: __m512d) -> __m512d = {
            let (here, before) = (_mm512_castpd_si512(here), _mm512_castpd_si512(before));
            _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(here, before))
        };
        unsafe fn shift_down(here: __m512d, after: __m512d) -> __m512d = {
            let (here, after) = (_mm512_castpd_si512(here), _mm512_castpd_si512(after));
            _mm512_castsi512_pd(_mm512_alignr_epi64::<1>(after, here))
        };
    }

    #[inline(always)]
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> __m512d {
        let mask = ((1_u32 << count) - 1) as __mmask8;
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

    #[inline(always)]
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> __m512d {
        let mask = ((1_u32 << count) - 1) as __mmask8;
        // Lanes behind `count` are masked and not read.
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

    #[inline(always)]
    unsafe fn transpose(square: &mut [__m512d]) {
        assert!(square.len() == Self::LANES);
        for pair in square.chunks_exact_mut(2) {
            let (a, b) = (pair[0], pair[1]);
            pair[0] = _mm512_unpacklo_pd(a, b);
            pair[1] = _mm512_unpackhi_pd(a, b);
        }
        for four in square.chunks_exact_mut(4) {
            let (a, b, c, d) = (four[0], four[1], four[2], four[3]);
            four[0] = _mm512_shuffle_f64x2::<0x88>(a, c);
            four[1] = _mm512_shuffle_f64x2::<0x88>(b, d);
            four[2] = _mm512_shuffle_f64x2::<0xDD>(a, c);
            four[3] = _mm512_shuffle_f64x2::<0xDD>(b, d);
        }
        for column in 0..4 {
            let (a, b) = (square[column], square[column + 4]);
            square[column] = _mm512_shuffle_f64x2::<0x88>(a, b);
            square[column + 4] = _mm512_shuffle_f64x2::<0xDD>(a, b);
        }
    }

    /// Half as many shuffles as a transposition has: every addition halves what is left.
    #[inline(always)]
    unsafe fn sums(rows: &mut [__m512d]) -> __m512d {
        assert!(rows.len() == Self::LANES);
        let upper = fold_pd(pair_pd(rows[0], rows[1]), pair_pd(rows[2], rows[3]));
        let lower = fold_pd(pair_pd(rows[4], rows[5]), pair_pd(rows[6], rows[7]));
        fold_pd(upper, lower)
    }
}

impl Simd for Singles {
    type Register = __m512;
    type Real = f32;
    const LANES: usize = 16;

    inlined! {
        unsafe fn zero() -> __m512 = _mm512_setzero_ps();
        unsafe fn splat(value: f32) -> __m512 = _mm512_set1_ps(value);
        unsafe fn multiply_add(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
        unsafe fn multiply(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
        unsafe fn add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
        unsafe fn subtract(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps(a, b);
        unsafe fn alternate(even: __m512, odd: __m512) -> __m512 = _mm512_mask_blend_ps(0xAAAA, even, odd);
        unsafe fn store(a: __m512, to: &mut [f32]) = _mm512_storeu_ps(to[..Self::LANES].as_mut_ptr(), a);
        unsafe fn shift_up(before: __m512, here: __m512) -> __m512 = {
            let (here, before) = (_mm512_castps_si512(here), _mm512_castps_si512(before));
            _mm512_castsi512_ps(_mm512_alignr_epi32::<15>(here, before))
        };
        unsafe fn shift_down(here: __m512, after: __m512) -> __m512 = {
            let (here, after) = (_mm512_castps_si512(here), _mm512_castps_si512(after));
            _mm512_castsi512_ps(_mm512_alignr_epi32::<1>(after, here))
        };
    }

    #[inline(always)]
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> __m512 {
        let mask = ((1_u32 << count) - 1) as __mmask16;
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

    #[inline(always)]
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> __m512 {
        debug_assert_eq!(X::KIND, Kind::F32);
        let mask = ((1_u32 << count) - 1) as __mmask16;
        // Lanes behind `count` are masked and not read.
        let places = _mm512_maskz_loadu_epi32(mask, columns.cast());
        _mm512_mask_i32gather_ps::<4>(Self::zero(), mask, places, x.cast())
    }

    /// A step of Newton from 14 digits on: a division takes three times as long.
    #[inline(always)]
    unsafe fn inverse(a: __m512) -> __m512 {
        let about = _mm512_rcp14_ps(a);
        let error = _mm512_fnmadd_ps(a, about, _mm512_set1_ps(1.0));
        _mm512_fmadd_ps(about, error, about)
    }

    #[inline(always)]
    unsafe fn transpose(square: &mut [__m512]) {
        assert!(square.len() == Self::LANES);
        for four in square.chunks_exact_mut(4) {
            let a = _mm512_castps_pd(_mm512_unpacklo_ps(four[0], four[1]));
            let b = _mm512_castps_pd(_mm512_unpackhi_ps(four[0], four[1]));
            let c = _mm512_castps_pd(_mm512_unpacklo_ps(four[2], four[3]));
            let d = _mm512_castps_pd(_mm512_unpackhi_ps(four[2], four[3]));
            four[0] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
            four[1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
            four[2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
            four[3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
        }
        for column in 0..4 {
            let (a, b) = (square[column], square[column + 4]);
            let (c, d) = (square[column + 8], square[column + 12]);
            let even = _mm512_shuffle_f32x4::<0x88>(a, b);
            let odd = _mm512_shuffle_f32x4::<0xDD>(a, b);
            let even_below = _mm512_shuffle_f32x4::<0x88>(c, d);
            let odd_below = _mm512_shuffle_f32x4::<0xDD>(c, d);
            square[column] = _mm512_shuffle_f32x4::<0x88>(even, even_below);
            square[column + 4] = _mm512_shuffle_f32x4::<0x88>(odd, odd_below);
            square[column + 8] = _mm512_shuffle_f32x4::<0xDD>(even, even_below);
            square[column + 12] = _mm512_shuffle_f32x4::<0xDD>(odd, odd_below);
        }
    }

    /// Half as many shuffles as a transposition has: every addition halves what is left.
    #[inline(always)]
    unsafe fn sums(rows: &mut [__m512]) -> __m512 {
        assert!(rows.len() == Self::LANES);
        let upper = fold(four(&rows[..4]), four(&rows[4..8]));
        let lower = fold(four(&rows[8..12]), four(&rows[12..]));
        fold(upper, lower)
    }

    /// Two rows to a register.
    #[inline(always)]
    unsafe fn short_sums<const ROWS: usize>(
        starts: [*const f32; ROWS],
        counts: [usize; ROWS],
    ) -> __m512 {
        assert!(ROWS == Self::LANES);
        // Those behind a row's own are masked.
        let mut two = [Self::zero(); 8];
        for (index, two) in two.iter_mut().enumerate() {
            let (row, above) = (index + index / 4 * 4, index + index / 4 * 4 + 4);
            let mask = ((1_u32 << counts[row]) - 1) | ((1_u32 << counts[above]) - 1) << 8;
            let low = _mm512_castps256_ps512(_mm256_loadu_ps(starts[row]));
            let high = _mm256_loadu_ps(starts[above]);
            *two = _mm512_maskz_insertf32x8::<1>(mask as __mmask16, low, high);
        }
        fold(four(&two[..4]), four(&two[4..]))
    }
}

/// The sums over every quarter of four registers: their lanes in the quarters of the result.
#[inline(always)]
unsafe fn four(rows: &[__m512]) -> __m512 {
    let a = _mm512_castps_pd(pair(rows[0], rows[1]));
    let b = _mm512_castps_pd(pair(rows[2], rows[3]));
    let (low, high) = (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
    _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high))
}

/// The sums of neighbouring quarters, those of `a` before those of `b`.
#[inline(always)]
unsafe fn fold(a: __m512, b: __m512) -> __m512 {
    let even = _mm512_shuffle_f32x4::<0x88>(a, b);
    _mm512_add_ps(even, _mm512_shuffle_f32x4::<0xDD>(a, b))
}

/// The sums of neighbouring lanes but one, alternating between `a` and `b`.
#[inline(always)]
unsafe fn pair(a: __m512, b: __m512) -> __m512 {
    _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b))
}

/// The sums of neighbouring lanes, alternating between `a` and `b`.
#[inline(always)]
unsafe fn pair_pd(a: __m512d, b: __m512d) -> __m512d {
    _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
}

/// The sums of neighbouring quarters, those of `a` before those of `b`.
#[inline(always)]
unsafe fn fold_pd(a: __m512d, b: __m512d) -> __m512d {
    let even = _mm512_shuffle_f64x2::<0x88>(a, b);
    _mm512_add_pd(even, _mm512_shuffle_f64x2::<0xDD>(a, b))
}
