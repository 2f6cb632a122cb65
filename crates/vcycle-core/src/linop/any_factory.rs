//! Factories for whichever precision a level of multigrid works in.

use std::fmt::Debug;

use super::{Factory, LinOp};
use crate::prelude::*;

/// A type that vectors of a level may have: those [`AnyFactory`] serves.
pub trait LevelScalar: Scalar {
    /// The factory for vectors of this type.
    fn factory_of(any: &dyn AnyFactory) -> &dyn Factory<Self>;

    /// Makes an operator on vectors of this type.
    fn generate_by(
        any: &dyn AnyFactory,
        a: &Arc<dyn LinOp<Self>>,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<Self>>> {
        Self::factory_of(any).generate(a, ws)
    }
}

macro_rules! level_scalars {
    ($($(#[$doc:meta])* $method:ident: $type:ty,)*) => {
        /// A factory for vectors of every precision, real and complex.
        ///
        /// Whatever is a [`Factory`] for all six types is one, so nothing has to be written for it. A factory for
        /// one precision alone becomes one by [`InPrecision`](super::InPrecision).
        pub trait AnyFactory: Debug + Send + Sync {
            $($(#[$doc])* fn $method(&self) -> &dyn Factory<$type>;)*
        }

        impl<F: $(Factory<$type> +)* Debug> AnyFactory for F {
            $(fn $method(&self) -> &dyn Factory<$type> {
                self
            })*
        }

        $(impl LevelScalar for $type {
            fn factory_of(any: &dyn AnyFactory) -> &dyn Factory<Self> {
                any.$method()
            }
        })*
    };
}

level_scalars! {
    /// For vectors of double precision.
    double: f64,
    /// For vectors of single precision.
    single: f32,
    /// For vectors of half precision.
    half: f16,
    /// For vectors of bfloat16.
    bfloat: bf16,
    /// For complex vectors of double precision.
    complex_double: c64,
    /// For complex vectors of single precision.
    complex_single: c32,
}
