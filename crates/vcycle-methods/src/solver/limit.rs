//! How far rounding lets a residual fall.

use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::scalar::{Real, Scalar};
use crate::vector::Vector;

/// For every column `|A s x| + |b|` with signs `s` that look random: what the roundoff is to be multiplied by for the
/// residual that rounding leaves.
///
/// In `A x` large terms may cancel; in `A s x` they do not. Rounding `x` itself changes its entries by up to
/// a roundoff each, with signs nobody knows, so that even the exact solution has a residual of about `|A s x|` half-roundoffs once
/// it is stored. The level is at most `|A| |x| + |b|`, by which the normwise backward error divides
/// (Rigal and Gaches 1967): the residual over it bounds that error. One product is all it takes, on any
/// executor and for operators whose entries nobody knows.
#[doc(hidden)]
pub fn rounding_levels<T: Scalar>(
    a: &dyn LinOp<T>,
    b: &Vector<T>,
    x: &Vector<T>,
    ws: &Workspace,
) -> Result<Vec<f64>> {
    let _stage = ws.stage("accuracy limit", a.footprint().moved);
    let mut flipped = ws.vector_like::<T, T>(b)?;
    let mut product = ws.vector_like::<T, T>(b)?;
    flipped.flip_signs(x)?;
    a.apply(&flipped, &mut product, ws)?;
    let norms = product.norms()?.into_iter().zip(b.norms()?);
    Ok(norms.map(|(a, b)| a.to_f64() + b.to_f64()).collect())
}
