//! The types that levels are set up in, and the factorisations of coarsest levels in them.

use super::coarsest::DenseLu;
use super::matrices::Matrices;
use crate::host_stages::COMPLEX_INVERSE;
use crate::linop::Converted;
use crate::matrix::Dense;
use crate::operations::on_host;
use crate::prelude::*;
use crate::scalar::convert;

/// A type that levels are set up in: double precision, real or complex.
pub(super) trait Wide: Field + Mixes<Self, Self> {
    /// The dense inverse where a device is to apply it; none on the host.
    fn inverse<W>(a: &Csr<Self>, executor: &Executor) -> Result<Option<Arc<dyn LinOp<W>>>>
    where
        W: Mixes<W, W>,
        f32: Mixes<W, W>,
        f64: Mixes<W, W>;
}

impl Wide for f64 {
    fn inverse<W>(a: &Csr<f64>, executor: &Executor) -> Result<Option<Arc<dyn LinOp<W>>>>
    where
        W: Mixes<W, W>,
        f32: Mixes<W, W>,
        f64: Mixes<W, W>,
    {
        // Constants: other types are not even compiled.
        Ok(match const { W::KIND.is_complex() } {
            true => None,
            false if const { matches!(W::KIND, Kind::F64) } => {
                DenseLu::inverse::<f64>(executor, a)?.map(|made| Arc::new(made) as _)
            }
            false => DenseLu::inverse::<f32>(executor, a)?.map(|made| Arc::new(made) as _),
        })
    }
}

impl Wide for c64 {
    fn inverse<W>(a: &Csr<c64>, executor: &Executor) -> Result<Option<Arc<dyn LinOp<W>>>>
    where
        W: Mixes<W, W>,
        f32: Mixes<W, W>,
        f64: Mixes<W, W>,
    {
        if !executor.is_device() {
            return Ok(None);
        }
        on_host(executor, COMPLEX_INVERSE);
        let lu = match a.executor().is_device() {
            true => DenseLu::new(&a.copy_to(&executor.on_host())?),
            false => DenseLu::new(a),
        };
        let inverse = Dense::<c64>::of_operator(&lu, &Workspace::new())?;
        let values = inverse.values().iter().map(|&value| convert(value));
        let inverse = Dense::<W>::from_rows(executor, a.size(), values.collect())?;
        Ok(Some(Arc::new(inverse)))
    }
}

/// The dense factorisation; on a device the inverse, at least in single precision.
pub(super) fn dense<V: Wide, W: Mixes<W, W>>(
    a: &Csr<V>,
    executor: &Executor,
) -> Result<Arc<dyn LinOp<W>>>
where
    f32: Mixes<W, W>,
    f64: Mixes<W, W>,
{
    match V::inverse(a, executor)? {
        Some(inverse) => Ok(inverse),
        None => Ok(Arc::new(DenseLu::new(a))),
    }
}

/// The sparse factorisation, where the cycles run.
pub(super) fn direct<V: Wide, W: Scalar>(
    level: &Matrices<V>,
    executor: &Executor,
    ws: &Workspace,
) -> Result<Arc<dyn LinOp<W>>> {
    // The host may have set up this level for a device.
    let a = level.a.local();
    let a = match a.executor().shares_memory_with(executor) {
        true => Arc::clone(a),
        false => Arc::new(a.copy_to(executor)?),
    };
    let solver = level.factors.factorised(a, ws)?;
    Ok(Arc::new(Converted::new(solver)?))
}
