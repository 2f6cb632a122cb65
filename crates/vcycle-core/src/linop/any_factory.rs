//! Factories for whichever precision a level of multigrid works in.

use std::fmt::Debug;
use std::sync::Arc;

use super::{Factory, LinOp};
use crate::error::Result;
use crate::scalar::{Scalar, bf16, f16};
use crate::workspace::Workspace;

/// A factory for vectors of every real precision.
///
/// Whatever is a [`Factory`] for all four is one, so nothing has to be written for it. A factory for
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
}

impl<F> AnyFactory for F
where
    F: Factory<f64> + Factory<f32> + Factory<f16> + Factory<bf16>,
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
}

/// A real type that vectors may have: those [`AnyFactory`] serves.
pub trait RealScalar: Scalar {
    /// The factory for vectors of this type.
    fn factory_of(any: &dyn AnyFactory) -> &dyn Factory<Self>;

    /// Makes an operator on vectors of this type.
    ///
    /// # Errors
    /// When the set-up fails.
    fn generate_by(
        any: &dyn AnyFactory,
        a: &Arc<dyn LinOp<Self>>,
        ws: &Workspace,
    ) -> Result<Arc<dyn LinOp<Self>>> {
        Self::factory_of(any).generate(a, ws)
    }
}

macro_rules! real_scalars {
    ($($type:ty: $method:ident),*) => {$(
        impl RealScalar for $type {
            fn factory_of(any: &dyn AnyFactory) -> &dyn Factory<Self> {
                any.$method()
            }
        }
    )*};
}

real_scalars!(f64: double, f32: single, f16: half, bf16: bfloat);
