//! Products of a matrix and a vector.

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar};
use vcycle::vector::Vector;

use crate::common::Result;
use crate::gpu::timing::microseconds;
use crate::timing::Candidate;

/// Seconds of a product of an operator, the best within some.
pub(super) fn timed<X: Scalar, Y: Scalar>(a: &dyn LinOp<X, Y>, seconds: f64) -> Result<f64> {
    let (executor, ws) = (a.executor(), Workspace::new());
    let ones = Vector::<f64>::filled(executor, a.size().cols, 1, 1.0)?;
    let mut x = Vector::<X>::zeros(executor, a.size().cols, 1)?;
    x.copy_from(&ones)?;
    let mut y = Vector::<Y>::zeros(executor, a.size().rows, 1)?;
    let mut one = || -> Result<()> { Ok(a.apply(&x, &mut y, &ws)?) };
    match executor.device() {
        Some(device) => Ok(microseconds(device, 1, &mut one)? * 1e-6),
        None => one.best_within(seconds),
    }
}

/// The same of a matrix stored in another precision.
pub(super) fn product<M, X: Scalar, Y: Scalar>(a: &Csr<f64>, seconds: f64) -> Result<f64>
where
    M: Mixes<X, Y> + Mixes<Y, X>,
{
    timed::<X, Y>(&a.convert::<M>()?, seconds)
}
