//! The matrix that ranks share behind an operator.

use std::any::Any;
use std::borrow::Cow;

use super::Distributed;
use crate::linop::LinOp;
use crate::scalar::{Scalar, bf16, c32, c64, f16};

impl<V: Scalar> Distributed<V> {
    /// The matrix that an operator is, with values of this type: itself where it has them, else converted. None for an
    /// operator that is no matrix of several ranks, and for complex values where these are real.
    pub fn behind<X: Scalar>(a: &dyn LinOp<X>) -> Option<Cow<'_, Self>> {
        let any: &dyn Any = a;
        if let Some(same) = any.downcast_ref() {
            return Some(Cow::Borrowed(same));
        }
        let found = converted::<f64, V>(any)
            .or_else(|| converted::<f32, V>(any))
            .or_else(|| converted::<f16, V>(any))
            .or_else(|| converted::<bf16, V>(any))
            .or_else(|| converted::<c64, V>(any))
            .or_else(|| converted::<c32, V>(any));
        found.map(Cow::Owned)
    }
}

fn converted<M: Scalar, V: Scalar>(any: &dyn Any) -> Option<Distributed<V>> {
    let found = any.downcast_ref::<Distributed<M>>()?;
    found.convert().ok()
}
