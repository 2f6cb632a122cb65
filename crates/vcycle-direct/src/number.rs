//! What matrices are factorised in.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use faer::traits::ComplexField;

pub use faer::c64;

/// What matrices are factorised in: `f64` or [`c64`].
pub trait Number:
    ComplexField
    + Copy
    + Debug
    + PartialEq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;

    /// A real number.
    fn real(value: f64) -> Self;

    /// The real part.
    fn re(self) -> f64;

    /// The complex conjugate.
    fn conjugate(self) -> Self;

    /// The modulus up to a factor of at most the root of two, without a root.
    fn magnitude(self) -> f64;
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline]
    fn real(value: f64) -> Self {
        value
    }

    #[inline]
    fn re(self) -> f64 {
        self
    }

    #[inline]
    fn conjugate(self) -> Self {
        self
    }

    #[inline]
    fn magnitude(self) -> f64 {
        self.abs()
    }
}

impl Number for c64 {
    const ZERO: Self = Self { re: 0.0, im: 0.0 };
    const ONE: Self = Self { re: 1.0, im: 0.0 };

    #[inline]
    fn real(value: f64) -> Self {
        Self { re: value, im: 0.0 }
    }

    #[inline]
    fn re(self) -> f64 {
        self.re
    }

    #[inline]
    fn conjugate(self) -> Self {
        Self {
            re: self.re,
            im: -self.im,
        }
    }

    #[inline]
    fn magnitude(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
}
