//! Coefficients of vector operations, as kernels on the host read them.

use num_traits::{One, Zero};

use crate::scalar::Scalar;

/// One number a column: `number * (a * b * c) / (d * e)`, with slices `a` to `e` of one value a column, any of them
/// absent.
///
/// A factor with a zero numerator or a zero divisor **is zero**, whatever its other parts are, and a zero factor
/// does not touch its operand.
#[derive(Clone, Copy, Debug)]
pub struct Factor<'a, T: Scalar> {
    /// The number all columns share.
    pub number: T::Arith,
    /// `a`, `b` and `c`.
    pub numerators: [Option<&'a [T::Arith]>; 3],
    /// `d` and `e`.
    pub divisors: [Option<&'a [T::Arith]>; 2],
}

impl<T: Scalar> Factor<'_, T> {
    /// The same number for every column.
    pub fn constant(number: T::Arith) -> Self {
        Self {
            number,
            numerators: [None; 3],
            divisors: [None; 2],
        }
    }

    /// One.
    pub fn one() -> Self {
        Self::constant(T::Arith::one())
    }

    /// Zero.
    pub fn zero() -> Self {
        Self::constant(T::Arith::zero())
    }

    /// The value for one column.
    pub fn evaluate(&self, column: usize) -> T::Arith {
        let mut value = self.number;
        let mut divisor = T::Arith::one();
        for numbers in self.numerators.iter().flatten() {
            let part = numbers[column];
            if part.is_zero() {
                return T::Arith::zero();
            }
            value *= part;
        }
        for numbers in self.divisors.iter().flatten() {
            divisor *= numbers[column];
        }
        if divisor.is_zero() || value.is_zero() {
            return T::Arith::zero();
        }
        value / divisor
    }
}
