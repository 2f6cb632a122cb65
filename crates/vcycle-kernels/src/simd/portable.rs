//! Registers for processors without AVX2: plain arrays, which the compiler vectorises with what there is.

use std::array;
use std::marker::PhantomData;

use super::Simd;
use crate::scalar::{Real, Scalar, convert};

/// Eight numbers of `V`.
pub(crate) struct Lanes<V>(PhantomData<V>);

const LANES: usize = 8;

type Array<V> = [V; LANES];

impl<V: Real> Simd for Lanes<V> {
    type Register = Array<V>;
    type Real = V;
    const LANES: usize = LANES;

    inlined! {
        unsafe fn zero() -> Array<V> = [V::zero(); LANES];
        unsafe fn splat(value: V) -> Array<V> = [value; LANES];
        unsafe fn multiply_add(a: Array<V>, b: Array<V>, c: Array<V>) -> Array<V> =
            array::from_fn(|lane| a[lane] * b[lane] + c[lane]);
        unsafe fn multiply(a: Array<V>, b: Array<V>) -> Array<V> = array::from_fn(|lane| a[lane] * b[lane]);
        unsafe fn add(a: Array<V>, b: Array<V>) -> Array<V> = array::from_fn(|lane| a[lane] + b[lane]);
        unsafe fn subtract(a: Array<V>, b: Array<V>) -> Array<V> = array::from_fn(|lane| a[lane] - b[lane]);
        unsafe fn inverse(a: Array<V>) -> Array<V> = a.map(|a| V::one() / a);
        unsafe fn shift_up(before: Array<V>, here: Array<V>) -> Array<V> =
            array::from_fn(|lane| if lane == 0 { before[LANES - 1] } else { here[lane - 1] });
        unsafe fn shift_down(here: Array<V>, after: Array<V>) -> Array<V> =
            array::from_fn(|lane| *here.get(lane + 1).unwrap_or(&after[0]));
        unsafe fn alternate(even: Array<V>, odd: Array<V>) -> Array<V> =
            array::from_fn(|lane| [even, odd][lane % 2][lane]);
        unsafe fn store(a: Array<V>, to: &mut [V]) = to.copy_from_slice(&a);
    }

    #[inline(always)]
    unsafe fn load<M: Scalar>(values: *const M, count: usize) -> Array<V> {
        let mut register = [V::zero(); LANES];
        for (lane, value) in register.iter_mut().enumerate().take(count) {
            *value = convert(values.add(lane).read());
        }
        register
    }

    #[inline(always)]
    unsafe fn gather<X: Scalar>(x: *const X, columns: *const u32, count: usize) -> Array<V> {
        let mut register = [V::zero(); LANES];
        for (lane, value) in register.iter_mut().enumerate().take(count) {
            *value = convert(x.add(columns.add(lane).read() as usize).read());
        }
        register
    }

    #[inline(always)]
    unsafe fn transpose(square: &mut [Array<V>]) {
        assert!(square.len() == LANES);
        for row in 0..LANES {
            for column in 0..row {
                let lower = square[row][column];
                square[row][column] = std::mem::replace(&mut square[column][row], lower);
            }
        }
    }
}
