//! Registers for processors without AVX2: plain arrays, which the compiler vectorises with what there is.

use std::array;
use std::marker::PhantomData;

use super::Simd;
use crate::scalar::{Real, Scalar, convert};

/// Eight numbers of `V`.
pub(crate) struct Lanes<V>(PhantomData<V>);

const LANES: usize = 8;

impl<V: Real> Simd for Lanes<V> {
    type Register = [V; LANES];
    type Real = V;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn zero() -> [V; LANES] {
        [V::zero(); LANES]
    }

    #[inline(always)]
    unsafe fn splat(value: V) -> [V; LANES] {
        [value; LANES]
    }

    #[inline(always)]
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> [V; LANES] {
        let mut register = [V::zero(); LANES];
        for (lane, value) in register.iter_mut().enumerate().take(count) {
            // SAFETY: `count` values are readable from `values` on, a condition of `Simd`.
            *value = convert(unsafe { values.add(lane).read() });
        }
        register
    }

    #[inline(always)]
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> [V; LANES] {
        let mut register = [V::zero(); LANES];
        for (lane, value) in register.iter_mut().enumerate().take(count) {
            // SAFETY: `count` columns are readable, and each names an element of `x`, conditions of `Simd`.
            *value = convert(unsafe { x.add(columns.add(lane).read() as usize).read() });
        }
        register
    }

    #[inline(always)]
    unsafe fn multiply_add(a: [V; LANES], b: [V; LANES], c: [V; LANES]) -> [V; LANES] {
        array::from_fn(|lane| a[lane] * b[lane] + c[lane])
    }

    #[inline(always)]
    unsafe fn multiply(a: [V; LANES], b: [V; LANES]) -> [V; LANES] {
        array::from_fn(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    unsafe fn add(a: [V; LANES], b: [V; LANES]) -> [V; LANES] {
        array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    unsafe fn subtract(a: [V; LANES], b: [V; LANES]) -> [V; LANES] {
        array::from_fn(|lane| a[lane] - b[lane])
    }

    #[inline(always)]
    unsafe fn inverse(a: [V; LANES]) -> [V; LANES] {
        a.map(|a| V::one() / a)
    }

    #[inline(always)]
    unsafe fn shift_up(before: [V; LANES], here: [V; LANES]) -> [V; LANES] {
        array::from_fn(|lane| match lane {
            0 => before[LANES - 1],
            _ => here[lane - 1],
        })
    }

    #[inline(always)]
    unsafe fn shift_down(here: [V; LANES], after: [V; LANES]) -> [V; LANES] {
        array::from_fn(|lane| *here.get(lane + 1).unwrap_or(&after[0]))
    }

    #[inline(always)]
    unsafe fn alternate(even: [V; LANES], odd: [V; LANES]) -> [V; LANES] {
        array::from_fn(|lane| [even, odd][lane % 2][lane])
    }

    #[inline(always)]
    unsafe fn transpose(square: &mut [[V; LANES]]) {
        assert!(square.len() == LANES);
        for row in 0..LANES {
            for column in 0..row {
                let lower = square[row][column];
                square[row][column] = std::mem::replace(&mut square[column][row], lower);
            }
        }
    }

    #[inline(always)]
    unsafe fn store(a: [V; LANES], to: &mut [V]) {
        to.copy_from_slice(&a);
    }
}
