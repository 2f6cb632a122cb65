//! Factories for whichever precision a level of multigrid works in.

use std::fmt::Debug;
use std::sync::Arc;

use super::{Factory, LinOp};
use crate::error::Result;
use crate::scalar::{Scalar, bf16, c32, c64, f16};
use crate::workspace::Workspace;

/// A factory for vectors of every precision, real and complex.
///
/// Whatever is a [`Factory`] for all six types is one, so nothing has to be written for it. A factory for
/// one precision alone becomes one by [`InPrecision`](super::InPrecision).
pub trait AnyFactory: Debug + Send + Sync {
    /// For vectors of double precision.
    fn double(&self) -> &dyn Factory<f64>;
    /// For vectors of single precision.
    fn single(&self) -> &dyn Factory<f32>;
    /// For vectors of half precision.
    fn half(&self) -> &dyn Factory<f16>;
    /// For vectors of bfloat16.
    fn bfloat(&self) -> &dyn Factory<bf16>;
    /// For complex vectors of double precision.
    fn complex_double(&self) -> &dyn Factory<c64>;
    /// For complex vectors of single precision.
    fn complex_single(&self) -> &dyn Factory<c32>;
}

impl<F> AnyFactory for F
where
    F: Factory<f64> + Factory<f32> + Factory<f16> + Factory<bf16> + Factory<c64> + Factory<c32>,
{
    fn double(&self) -> &dyn Factory<f64> {
        self
    }
    fn single(&self) -> &dyn Factory<f32> {
        self
    }
    fn half(&self) -> &dyn Factory<f16> {
        self
    }
    fn bfloat(&self) -> &dyn Factory<bf16> {
        self
    }
    fn complex_double(&self) -> &dyn Factory<c64> {
        self
    }
    fn complex_single(&self) -> &dyn Factory<c32> {
        self
    }
}

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
    ($($type:ty: $method:ident),*) => {$(
        impl LevelScalar for $type {
            fn factory_of(any: &dyn AnyFactory) -> &dyn Factory<Self> {
                any.$method()
            }
        }
    )*};
}

level_scalars!(f64: double, f32: single, f16: half, bf16: bfloat, c64: complex_double, c32: complex_single);
