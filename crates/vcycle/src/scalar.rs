//! Numbers: the types values are *stored* in and the types they are *computed* in.
//!
//! Memory traffic decides the speed of a sparse solver, so a value may be stored in fewer bits
//! than it is computed in. [`Scalar`] is a storage type: `f64`, `f32`, [`struct@f16`], [`bf16`],
//! [`c64`] and [`c32`]. Its [`Scalar::Arith`] is the type it has in a register, a [`Field`]:
//! the half-precision types are computed in `f32`, the others in themselves.
//!
//! When a matrix of one type maps a vector of a second type to a vector of a third, [`Mixes`]
//! names the arithmetic: the narrowest field, at least `f32`, that holds all three losslessly.
//!
//! ```
//! use vcycle::scalar::{f16, Mixes, Scalar};
//! // a half-precision matrix entry times a double-precision vector entry, in double precision
//! let product = <f16 as Mixes<f64, f64>>::matrix(f16::store(0.5)) * 3.0;
//! assert_eq!(product, 1.5);
//! ```

#[doc(inline)]
pub use vcycle_core::scalar::{
    Field, Kind, Mixes, Real, RealOf, Scalar, bf16, c32, c64, convert, convert_slice, f16,
};
