//! What numbers of a packed vector are stored in.

use super::{Element, Field, Scalar, bf16, c32, c64, f16};

/// A number of a vector that is stored in fewer bits: a [`Scalar`], or an integer with a factor for the whole vector.
pub trait Code: Element {
    /// The code of the largest number of a vector, which the others are scaled to; zero where numbers are stored as they
    /// are.
    const LIMIT: f64;

    /// The number, without the factor of its vector.
    fn decode<A: Field>(self) -> A;
    /// The nearest code.
    fn encode<A: Field>(value: A) -> Self;
}

macro_rules! scalar_codes {
    ($($type:ty, $limit:literal;)*) => {$(
        impl Code for $type {
            const LIMIT: f64 = $limit;
            inlined! {
                fn decode<A: Field>(self) -> A = A::from_c64(self.to_c64());
                fn encode<A: Field>(value: A) -> Self = Self::from_c64(value.to_c64());
            }
        }
    )*};
}

scalar_codes! {
    f64, 0.0;
    f32, 0.0;
    // Far from the smallest and the largest half.
    f16, 32768.0;
    bf16, 0.0;
    c64, 0.0;
    c32, 0.0;
}

macro_rules! integer_codes {
    ($($type:ident),*) => {$(
        impl Code for $type {
            const LIMIT: f64 = $type::MAX as f64;
            inlined! {
                fn decode<A: Field>(self) -> A = A::from_c64(c64::new(f64::from(self), 0.0));
                fn encode<A: Field>(value: A) -> Self = value.to_c64().re.round_ties_even() as $type;
            }
        }
    )*};
}

integer_codes!(i32, i16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_nearest_ones_and_stay_in_range() {
        assert_eq!(i16::encode(-2.5), -2);
        assert_eq!(i16::encode(1e9), i16::MAX);
        assert_eq!(i32::encode(f64::NAN), 0);
        assert_eq!(f16::encode(1.0 / 3.0).decode::<f64>(), 0.333_251_953_125);
        assert_eq!(c32::encode(c64::new(1.0, -2.0)).decode::<c64>().im, -2.0);
    }
}
