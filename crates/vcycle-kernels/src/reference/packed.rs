//! Vectors side by side in an array of codes, `stride` codes from one to the next.

use num_traits::{Float, Zero};

use crate::scalar::{Code, Field, RealOf, Scalar};

/// For every vector `v` and column of `cols` the sum of `conj(v) w`, without the factors of the vectors.
pub fn dots<S: Code, T: Scalar>(
    (codes, stride): (&[S], usize),
    w: &[T],
    cols: usize,
    out: &mut [T::Arith],
) {
    for (vector, out) in out.chunks_exact_mut(cols).enumerate() {
        let codes = &codes[vector * stride..][..w.len()];
        for (column, out) in out.iter_mut().enumerate() {
            let mut sum = T::Arith::zero();
            for (code, w) in codes.iter().zip(w).skip(column).step_by(cols) {
                sum += code.decode::<T::Arith>().conj() * w.load();
            }
            *out = sum;
        }
    }
}

/// `w += coefficient v` for every vector, with a coefficient a column. A vector with the coefficient zero is not read.
pub fn combine<S: Code, T: Scalar>(
    (codes, stride): (&[S], usize),
    coefficients: &[T::Arith],
    w: &mut [T],
    start: usize,
    cols: usize,
) {
    for (row, w) in w.chunks_exact_mut(cols).enumerate() {
        for (column, w) in w.iter_mut().enumerate() {
            let place = start + row * cols + column;
            let mut sum = w.load();
            for (vector, coefficients) in coefficients.chunks_exact(cols).enumerate() {
                let coefficient = coefficients[column];
                if !coefficient.is_zero() {
                    sum += coefficient * codes[vector * stride + place].decode::<T::Arith>();
                }
            }
            *w = T::store(sum);
        }
    }
}

/// `z` times the factor of its column becomes a vector, and `w` that factor times `w` and a multiple of the vector.
pub fn step<T: Scalar>(
    factors: &[T::Arith],
    multiples: &[T::Arith],
    z: &mut [T],
    w: &mut [T],
    next: &mut [T],
) {
    let cols = factors.len();
    let times = |factor: T::Arith, number: T| match factor.is_zero() {
        true => T::Arith::zero(),
        false => factor * number.load(),
    };
    for (place, ((z, w), next)) in z.iter_mut().zip(w).zip(next).enumerate() {
        let column = place % cols;
        *z = T::store(times(factors[column], *z));
        *next = *z;
        *w = T::store(times(factors[column], *w) + times(multiples[column], *z));
    }
}

/// The largest modulus of every column.
pub fn largest<T: Scalar>(w: &[T], largest: &mut [T::Arith]) {
    let cols = largest.len();
    for (column, largest) in largest.iter_mut().enumerate() {
        let moduli = w.iter().skip(column).step_by(cols);
        let most = moduli.map(|value| value.load().modulus());
        *largest = T::Arith::from_real(most.fold(RealOf::<T>::zero(), Float::max));
    }
}

/// How the columns of a vector become codes.
#[derive(Clone, Copy, Debug)]
pub struct Packing<'a, A> {
    /// The codes of a column are its numbers times this.
    pub factors: &'a [A],
    /// What its codes are to be multiplied with.
    pub scales: &'a [A],
}

/// Numbers become codes, and then what the codes stand for.
pub fn pack<S: Code, T: Scalar>(packing: Packing<'_, T::Arith>, w: &mut [T], codes: &mut [S]) {
    let cols = packing.scales.len();
    for (w, codes) in w.chunks_exact_mut(cols).zip(codes.chunks_exact_mut(cols)) {
        for column in 0..cols {
            codes[column] = S::encode(packing.factors[column] * w[column].load());
            let value = packing.scales[column] * codes[column].decode::<T::Arith>();
            w[column] = T::store(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_come_back_from_codes_to_within_half_a_step() {
        let mut w = [0.3, -1.0, 0.7, 0.0];
        let before = w;
        let mut most = [0.0];
        largest(&w, &mut most);
        assert_eq!(most, [1.0]);
        let mut codes = [0_i16; 4];
        let packing = Packing {
            factors: &[i16::LIMIT],
            scales: &[1.0 / i16::LIMIT],
        };
        pack(packing, &mut w, &mut codes);
        assert_eq!(codes[1], -32767);
        for (now, before) in w.iter().zip(before) {
            assert!((now - before).abs() <= 0.5 / i16::LIMIT);
        }
        let mut product = [0.0];
        dots((&codes[..], 4), &[0.0, 1.0, 0.0, 2.0], 1, &mut product);
        assert_eq!(product, [-32767.0]);
        let mut sum = [1.0, 1.0, 1.0, 1.0];
        combine((&codes[..], 4), &[1.0 / 32767.0], &mut sum, 0, 1);
        assert_eq!(sum[1], 0.0);
    }
}
