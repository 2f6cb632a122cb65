//! Registers of 256 bits.

use std::arch::x86_64::*;

use super::Simd;
use crate::scalar::{Kind, Scalar};

/// Four doubles.
pub struct Doubles;
/// Eight singles.
pub struct Singles;

/// All bits of the first `count` of four 32-bit lanes.
#[inline(always)]
unsafe fn mask4(count: usize) -> __m128i {
    _mm_cmpgt_epi32(_mm_set1_epi32(count as i32), _mm_setr_epi32(0, 1, 2, 3))
}

/// All bits of the first `count` of eight 32-bit lanes.
#[inline(always)]
unsafe fn mask8(count: usize) -> __m256i {
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_cmpgt_epi32(_mm256_set1_epi32(count as i32), lanes)
}

/// The bits of the first `count` halves, then zeros; there is no masked load of 16-bit lanes.
///
/// # Safety
/// The host has AVX2. `count` is at most eight, and so many values of 16 bits are readable.
#[inline(always)]
unsafe fn halves<M>(values: *const M, count: usize) -> __m128i {
    let mut bits = [0_u16; 8];
    std::ptr::copy_nonoverlapping(values.cast(), bits.as_mut_ptr(), count);
    _mm_loadu_si128(bits.as_ptr().cast())
}

impl Simd for Doubles {
    type Register = __m256d;
    type Real = f64;
    const LANES: usize = 4;

    inlined! {
        unsafe fn zero() -> __m256d = _mm256_setzero_pd();
        unsafe fn splat(value: f64) -> __m256d = _mm256_set1_pd(value);
        unsafe fn multiply_add(a: __m256d, b: __m256d, c: __m256d) -> __m256d = _mm256_fmadd_pd(a, b, c);
        unsafe fn multiply(a: __m256d, b: __m256d) -> __m256d = _mm256_mul_pd(a, b);
        unsafe fn add(a: __m256d, b: __m256d) -> __m256d = _mm256_add_pd(a, b);
        unsafe fn subtract(a: __m256d, b: __m256d) -> __m256d = _mm256_sub_pd(a, b);
        unsafe fn inverse(a: __m256d) -> __m256d = _mm256_div_pd(_mm256_set1_pd(1.0), a);
        unsafe fn shift_up(before: __m256d, here: __m256d) -> __m256d = _mm256_shuffle_pd::<0b0101>(_mm256_permute2f128_pd::<0x21>(before, here), here);
        unsafe fn shift_down(here: __m256d, after: __m256d) -> __m256d = _mm256_shuffle_pd::<0b0101>(here, _mm256_permute2f128_pd::<0x21>(here, after));
        unsafe fn alternate(even: __m256d, odd: __m256d) -> __m256d = _mm256_blend_pd::<0b1010>(even, odd);
        unsafe fn store(a: __m256d, to: &mut [f64]) = _mm256_storeu_pd(to[..Self::LANES].as_mut_ptr(), a);
    }

    #[inline(always)]
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> __m256d {
        match M::KIND {
            Kind::F64 => _mm256_maskload_pd(values.cast(), _mm256_cvtepi32_epi64(mask4(count))),
            Kind::F32 => _mm256_cvtps_pd(_mm_maskload_ps(values.cast(), mask4(count))),
            Kind::F16 => _mm256_cvtps_pd(_mm_cvtph_ps(halves(values, count))),
            Kind::Bf16 => {
                let bits = _mm_slli_epi32::<16>(_mm_cvtepu16_epi32(halves(values, count)));
                _mm256_cvtps_pd(_mm_castsi128_ps(bits))
            }
            Kind::C64 | Kind::C32 => unreachable!("lanes are real"),
        }
    }

    #[inline(always)]
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> __m256d {
        // Lanes behind `count` are masked and not read.
        let mask = mask4(count);
        let places = _mm_maskload_epi32(columns.cast(), mask);
        match X::KIND {
            Kind::F64 => {
                let mask = _mm256_castsi256_pd(_mm256_cvtepi32_epi64(mask));
                _mm256_mask_i32gather_pd::<8>(Self::zero(), x.cast(), places, mask)
            }
            Kind::F32 => {
                let (zero, mask) = (_mm_setzero_ps(), _mm_castsi128_ps(mask));
                _mm256_cvtps_pd(_mm_mask_i32gather_ps::<4>(zero, x.cast(), places, mask))
            }
            _ => unreachable!("gathered lanes are f64 or f32"),
        }
    }

    #[inline(always)]
    unsafe fn transpose(square: &mut [__m256d]) {
        assert!(square.len() == Self::LANES);
        let a = _mm256_unpacklo_pd(square[0], square[1]);
        let b = _mm256_unpackhi_pd(square[0], square[1]);
        let c = _mm256_unpacklo_pd(square[2], square[3]);
        let d = _mm256_unpackhi_pd(square[2], square[3]);
        square[0] = _mm256_permute2f128_pd::<0x20>(a, c);
        square[1] = _mm256_permute2f128_pd::<0x20>(b, d);
        square[2] = _mm256_permute2f128_pd::<0x31>(a, c);
        square[3] = _mm256_permute2f128_pd::<0x31>(b, d);
    }
}

impl Simd for Singles {
    type Register = __m256;
    type Real = f32;
    const LANES: usize = 8;

    inlined! {
        unsafe fn zero() -> __m256 = _mm256_setzero_ps();
        unsafe fn splat(value: f32) -> __m256 = _mm256_set1_ps(value);
        unsafe fn multiply_add(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
        unsafe fn multiply(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
        unsafe fn add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
        unsafe fn subtract(a: __m256, b: __m256) -> __m256 = _mm256_sub_ps(a, b);
        unsafe fn inverse(a: __m256) -> __m256 = _mm256_div_ps(_mm256_set1_ps(1.0), a);
        unsafe fn alternate(even: __m256, odd: __m256) -> __m256 = _mm256_blend_ps::<0b1010_1010>(even, odd);
        unsafe fn store(a: __m256, to: &mut [f32]) = _mm256_storeu_ps(to[..Self::LANES].as_mut_ptr(), a);
        unsafe fn shift_up(before: __m256, here: __m256) -> __m256 = {
            let middle = _mm256_castps_si256(_mm256_permute2f128_ps::<0x21>(before, here));
            _mm256_castsi256_ps(_mm256_alignr_epi8::<12>(_mm256_castps_si256(here), middle))
        };
        unsafe fn shift_down(here: __m256, after: __m256) -> __m256 = {
            let middle = _mm256_castps_si256(_mm256_permute2f128_ps::<0x21>(here, after));
            _mm256_castsi256_ps(_mm256_alignr_epi8::<4>(middle, _mm256_castps_si256(here)))
        };
    }

    #[inline(always)]
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> __m256 {
        match M::KIND {
            Kind::F32 => _mm256_maskload_ps(values.cast(), mask8(count)),
            Kind::F16 => _mm256_cvtph_ps(halves(values, count)),
            Kind::Bf16 => {
                let bits = _mm256_cvtepu16_epi32(halves(values, count));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
            }
            _ => unreachable!("lanes are real and no wider than f32"),
        }
    }

    #[inline(always)]
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> __m256 {
        debug_assert_eq!(X::KIND, Kind::F32);
        // Lanes behind `count` are masked and not read.
        let mask = mask8(count);
        let places = _mm256_maskload_epi32(columns.cast(), mask);
        let mask = _mm256_castsi256_ps(mask);
        _mm256_mask_i32gather_ps::<4>(Self::zero(), x.cast(), places, mask)
    }

    #[inline(always)]
    unsafe fn transpose(square: &mut [__m256]) {
        assert!(square.len() == Self::LANES);
        for four in square.chunks_exact_mut(4) {
            let a = _mm256_castps_pd(_mm256_unpacklo_ps(four[0], four[1]));
            let b = _mm256_castps_pd(_mm256_unpackhi_ps(four[0], four[1]));
            let c = _mm256_castps_pd(_mm256_unpacklo_ps(four[2], four[3]));
            let d = _mm256_castps_pd(_mm256_unpackhi_ps(four[2], four[3]));
            four[0] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
            four[1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
            four[2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
            four[3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
        }
        for column in 0..4 {
            let (a, b) = (square[column], square[column + 4]);
            square[column] = _mm256_permute2f128_ps::<0x20>(a, b);
            square[column + 4] = _mm256_permute2f128_ps::<0x31>(a, b);
        }
    }
}
