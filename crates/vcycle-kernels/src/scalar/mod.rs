//! Numbers: the types values are *stored* in and the types they are *computed* in.
//!
//! Memory traffic decides the speed of a sparse solver, so a value may be stored in fewer bits
//! than it is computed in. [`Scalar`] is a storage type: `f64`, `f32`, [`struct@f16`], [`bf16`],
//! [`c64`] and [`c32`]. Its [`Scalar::Arith`] is the type it has in a register, a [`Field`]:
//! the half-precision types are computed in `f32`, the others in themselves.
//!
//! When a matrix of one type maps a vector of a second type to a vector of a third, [`Mixes`]
//! names the arithmetic: the narrowest field, at least `f32`, that holds all three losslessly.

mod code;
mod element;
pub(crate) mod half_bits;
mod mixes;

use std::fmt::{Debug, Display};
use std::iter::Sum;

pub use code::Code;
pub use element::{Element, bytes, bytes_mut};
pub use half::{bf16, f16};
pub use mixes::Mixes;
use num_complex::Complex;
use num_traits::{Float, NumAssign, Zero};

/// A complex number of two `f64`.
#[allow(non_camel_case_types)]
pub type c64 = Complex<f64>;
/// A complex number of two `f32`.
#[allow(non_camel_case_types)]
pub type c32 = Complex<f32>;

/// The storage types, as data: what a file, an option or a report speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// IEEE double precision.
    F64,
    /// IEEE single precision.
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of single precision: its range, eight bits of mantissa.
    Bf16,
    /// Complex double precision.
    C64,
    /// Complex single precision.
    C32,
}

impl Kind {
    /// The name used in reports and options: `f64`, `f32`, `f16`, `bf16`, `c64`, `c32`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::F64 => "f64",
            Kind::F32 => "f32",
            Kind::F16 => "f16",
            Kind::Bf16 => "bf16",
            Kind::C64 => "c64",
            Kind::C32 => "c32",
        }
    }

    /// Bytes of one stored value.
    pub fn bytes(self) -> usize {
        match self {
            Kind::C64 => 16,
            Kind::F64 | Kind::C32 => 8,
            Kind::F32 => 4,
            Kind::F16 | Kind::Bf16 => 2,
        }
    }

    /// The largest relative error of rounding to it.
    pub fn roundoff(self) -> f64 {
        match self {
            Kind::F64 | Kind::C64 => f64::EPSILON / 2.0,
            Kind::F32 | Kind::C32 => f64::from(f32::EPSILON) / 2.0,
            Kind::F16 => 2f64.powi(-11),
            Kind::Bf16 => 2f64.powi(-8),
        }
    }

    /// Whether values have an imaginary part.
    pub const fn is_complex(self) -> bool {
        matches!(self, Kind::C64 | Kind::C32)
    }
}

impl Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A type values are stored in.
pub trait Scalar: Code {
    /// The type a stored value has in a register.
    type Arith: Field;
    /// This type, as data.
    const KIND: Kind;

    /// From memory into a register; exact.
    fn load(self) -> Self::Arith;
    /// From a register to memory; rounds to nearest even.
    fn store(value: Self::Arith) -> Self;
    /// The value in the widest type; exact.
    fn to_c64(self) -> c64;
    /// The nearest storable value. A real type drops the imaginary part.
    fn from_c64(value: c64) -> Self;
}

/// The real type that belongs to `T`'s arithmetic: what norms and tolerances have.
pub type RealOf<T> = <<T as Scalar>::Arith as Field>::Real;

/// A type arithmetic is done in: `f64`, `f32`, [`c64`] or [`c32`].
pub trait Field:
    Scalar<Arith = Self> + NumAssign + std::ops::Neg<Output = Self> + Sum + Display
{
    /// The type of absolute values.
    type Real: Real;

    /// A real number as a field element.
    fn from_real(value: Self::Real) -> Self;
    /// The nearest element to a double.
    fn from_f64(value: f64) -> Self {
        Self::from_c64(c64::new(value, 0.0))
    }
    /// The real part.
    fn real(self) -> Self::Real;
    /// The complex conjugate; a real number is its own.
    fn conj(self) -> Self;
    /// The absolute value.
    fn modulus(self) -> Self::Real;
    /// The square of the absolute value, without a square root.
    fn modulus_squared(self) -> Self::Real;
    /// The principal square root; NaN for a negative real number.
    fn square_root(self) -> Self;
    /// Whether no part is infinite or NaN.
    fn is_finite(self) -> bool;
    /// `self * a + b`.
    fn multiply_add(self, a: Self, b: Self) -> Self;
    /// `self * a + b`, in real fields rounded once: slow where the processor cannot do that.
    fn fused_multiply_add(self, a: Self, b: Self) -> Self;
}

/// A real field: `f64` or `f32`.
pub trait Real: Field<Real = Self> + Float {
    /// The value as a double; exact.
    #[inline]
    fn to_f64(self) -> f64 {
        self.to_c64().re
    }
}

impl Real for f64 {}
impl Real for f32 {}

macro_rules! real_field {
    ($t:ty, $kind:ident) => {
        impl Scalar for $t {
            type Arith = $t;
            const KIND: Kind = Kind::$kind;
            inlined! {
                fn load(self) -> $t = self;
                fn store(value: $t) -> $t = value;
                fn to_c64(self) -> c64 = c64::new(f64::from(self), 0.0);
                fn from_c64(value: c64) -> $t = value.re as $t;
            }
        }

        impl Field for $t {
            type Real = $t;
            inlined! {
                fn from_real(value: $t) -> $t = value;
                fn real(self) -> $t = self;
                fn conj(self) -> $t = self;
                fn modulus(self) -> $t = self.abs();
                fn modulus_squared(self) -> $t = self * self;
                fn square_root(self) -> $t = self.sqrt();
                fn is_finite(self) -> bool = <$t>::is_finite(self);
                // Not `mul_add`: without the FMA target feature that is a library call.
                fn multiply_add(self, a: $t, b: $t) -> $t = self * a + b;
                fn fused_multiply_add(self, a: $t, b: $t) -> $t = self.mul_add(a, b);
            }
        }
    };
}

macro_rules! half_scalar {
    ($t:ty, $kind:ident, $widen:path, $narrow:path) => {
        impl Scalar for $t {
            type Arith = f32;
            const KIND: Kind = Kind::$kind;
            inlined! {
                fn load(self) -> f32 = $widen(self);
                fn store(value: f32) -> $t = $narrow(value);
                fn to_c64(self) -> c64 = c64::new(f64::from($widen(self)), 0.0);
                fn from_c64(value: c64) -> $t = $narrow(round_to_odd(value.re));
            }
        }
    };
}

macro_rules! complex_field {
    ($r:ty, $kind:ident) => {
        impl Scalar for Complex<$r> {
            type Arith = Complex<$r>;
            const KIND: Kind = Kind::$kind;
            inlined! {
                fn load(self) -> Self = self;
                fn store(value: Self) -> Self = value;
                fn to_c64(self) -> c64 = c64::new(f64::from(self.re), f64::from(self.im));
                fn from_c64(value: c64) -> Self = Complex::new(value.re as $r, value.im as $r);
            }
        }

        impl Field for Complex<$r> {
            type Real = $r;
            inlined! {
                fn from_real(value: $r) -> Self = Complex::new(value, <$r>::zero());
                fn real(self) -> $r = self.re;
                fn conj(self) -> Self = Complex::conj(&self);
                fn modulus(self) -> $r = self.norm();
                fn modulus_squared(self) -> $r = self.norm_sqr();
                fn square_root(self) -> Self = self.sqrt();
                fn is_finite(self) -> bool = self.re.is_finite() && self.im.is_finite();
                fn multiply_add(self, a: Self, b: Self) -> Self = self * a + b;
                fn fused_multiply_add(self, a: Self, b: Self) -> Self = self.multiply_add(a, b);
            }
        }
    };
}

real_field!(f64, F64);
real_field!(f32, F32);
half_scalar!(f16, F16, half_bits::f16_to_f32, half_bits::f32_to_f16);
half_scalar!(bf16, Bf16, half_bits::bf16_to_f32, half_bits::f32_to_bf16);
complex_field!(f64, C64);
complex_field!(f32, C32);

/// The nearest `f32` that still shows on which side of it the double was, so that rounding the
/// result once more, to fewer bits, rounds the double itself (Boldo and Melquiond 2008).
#[inline(always)]
pub(crate) fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    let truncated = nearest.to_bits() - u32::from(back.abs() > value.abs());
    // No early return, so that loops over it vectorise.
    let inexact = back != value && nearest.is_finite();
    f32::from_bits(if inexact {
        truncated | 1
    } else {
        nearest.to_bits()
    })
}

/// One stored value in another storage type, rounded to nearest.
#[inline(always)]
pub fn convert<S: Scalar, T: Scalar>(value: S) -> T {
    let single = |kind| matches!(kind, Kind::F32 | Kind::F16 | Kind::Bf16);
    if single(S::KIND) && single(T::KIND) {
        // Both are computed in `f32`; the way through doubles vanishes when compiled.
        return T::store(T::Arith::from_c64(value.load().to_c64()));
    }
    T::from_c64(value.to_c64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_computed_in_single_precision() {
        assert_eq!(f16::store(1.0 / 3.0).load(), 0.333_251_95_f32);
        assert_eq!(bf16::store(1.0 / 3.0).load(), 0.333_984_38_f32);
    }

    #[test]
    fn double_to_half_rounds_once() {
        // Just above the midpoint of two halves: rounding through f32 first would lose the excess.
        let value = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(convert::<f64, f16>(value).to_f64(), 1.0 + 2f64.powi(-10));
    }

    #[test]
    fn kinds_know_their_size() {
        assert_eq!(Kind::C32.bytes(), std::mem::size_of::<c32>());
        assert_eq!(Kind::Bf16.bytes(), std::mem::size_of::<bf16>());
        assert_eq!(format!("{:>5}|{}", Kind::F16, Kind::C64), "  f16|c64");
    }
}
