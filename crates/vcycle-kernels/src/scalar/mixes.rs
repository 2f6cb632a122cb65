//! The arithmetic of mixed products: which field holds a matrix, an input and an output type.

use super::{Scalar, bf16, c32, c64, convert, f16};
use crate::scalar::Field;

/// A matrix type that can map vectors of `X` to vectors of `Y`.
///
/// Implemented for all 64 real triples, for a real or complex matrix between complex vectors.
/// [`Mixes::Accumulator`] is the narrowest of `f32`, `f64`, [`c32`], [`c64`] that holds all three types
/// without loss; it is never narrower than `f32`, so sums of half-precision products do not
/// overflow on the way.
pub trait Mixes<X: Scalar, Y: Scalar>: Scalar {
    /// The field products and sums are formed in.
    type Accumulator: Field;
    /// A matrix entry in a register; exact.
    fn matrix(self) -> Self::Accumulator;
    /// An input entry in a register; exact.
    fn input(x: X) -> Self::Accumulator;
    /// An output entry read back into a register; exact.
    fn output(y: Y) -> Self::Accumulator;
    /// A result as it is stored; rounded.
    fn result(value: Self::Accumulator) -> Y;
    /// A coefficient of an operation on outputs, in this arithmetic; exact.
    fn coefficient(value: Y::Arith) -> Self::Accumulator;
}

macro_rules! mixes {
    ($($arith:ty: $m:ty, [$(($x:ty, $y:ty)),* $(,)?];)*) => {$($(
        impl Mixes<$x, $y> for $m {
            type Accumulator = $arith;
            inlined! {
                fn matrix(self) -> $arith = convert(self);
                fn input(x: $x) -> $arith = convert(x);
                fn output(y: $y) -> $arith = convert(y);
                fn result(value: $arith) -> $y = convert(value);
                fn coefficient(value: <$y as Scalar>::Arith) -> $arith = convert(value);
            }
        }
    )*)*};
}

macro_rules! mixes_real {
    ($($m:ty),*) => {$(
        mixes! {
            f32: $m, [
                (f32, f32), (f32, f16), (f32, bf16),
                (f16, f32), (f16, f16), (f16, bf16),
                (bf16, f32), (bf16, f16), (bf16, bf16),
            ];
            f64: $m, [
                (f64, f64), (f64, f32), (f64, f16), (f64, bf16),
                (f32, f64), (f16, f64), (bf16, f64),
            ];
            c32: $m, [(c32, c32)];
            c64: $m, [(c32, c64), (c64, c32), (c64, c64)];
        }
    )*};
}

mixes_real!(f32, f16, bf16);
mixes! {
    f64: f64, [
        (f64, f64), (f64, f32), (f64, f16), (f64, bf16),
        (f32, f64), (f32, f32), (f32, f16), (f32, bf16),
        (f16, f64), (f16, f32), (f16, f16), (f16, bf16),
        (bf16, f64), (bf16, f32), (bf16, f16), (bf16, bf16),
    ];
    c64: f64, [(c32, c32), (c32, c64), (c64, c32), (c64, c64)];
    c64: c64, [(c32, c32), (c32, c64), (c64, c32), (c64, c64)];
    c32: c32, [(c32, c32)];
    c64: c32, [(c32, c64), (c64, c32), (c64, c64)];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Kind;

    fn arithmetic<M: Mixes<X, Y>, X: Scalar, Y: Scalar>() -> Kind {
        M::Accumulator::KIND
    }

    #[test]
    fn arithmetic_is_the_narrowest_that_holds_all_three() {
        assert_eq!(arithmetic::<f16, f16, f16>(), Kind::F32);
        assert_eq!(arithmetic::<f16, bf16, f32>(), Kind::F32);
        assert_eq!(arithmetic::<f16, f32, f64>(), Kind::F64);
        assert_eq!(arithmetic::<f64, f16, f16>(), Kind::F64);
        assert_eq!(arithmetic::<f16, c32, c32>(), Kind::C32);
        assert_eq!(arithmetic::<f64, c32, c32>(), Kind::C64);
    }
}
