//! How the cycles of a hierarchy begin: in the precision of the finest level, for vectors of the solver.

use super::cycle::{Cycles, seen_as};
use super::scaling::Normalised;
use super::wide::Wide;
use super::working::{Plan, Working};
use crate::precision::Unit;
use crate::prelude::*;

/// A type that levels are set up in, and the types of vectors that their cycles work on.
pub(super) trait Outermost: Wide {
    /// The cycle of the finest level for vectors of `T`, and full multigrid.
    fn outermost<T: Scalar>(plan: &mut Plan<'_, Self>) -> Result<[Arc<dyn LinOp<T>>; 2]>;
}

impl Outermost for f64 {
    fn outermost<T: Scalar>(plan: &mut Plan<'_>) -> Result<[Arc<dyn LinOp<T>>; 2]> {
        match plan.precisions[0].working {
            Unit::Double => converted::<f64, T>(plan),
            Unit::Single => converted::<f32, T>(plan),
            Unit::Half => converted::<f16, T>(plan),
            Unit::Bfloat => converted::<bf16, T>(plan),
        }
    }
}

impl Outermost for c64 {
    fn outermost<T: Scalar>(plan: &mut Plan<'_, c64>) -> Result<[Arc<dyn LinOp<T>>; 2]> {
        match plan.precisions[0].working {
            Unit::Double => converted::<c64, T>(plan),
            Unit::Single => converted::<c32, T>(plan),
            half => unreachable!("complex levels in {} are refused before", half.name()),
        }
    }
}

/// The cycles of the finest level, in the precision of that, for vectors of `T`.
fn converted<W: Working, T: Scalar>(
    plan: &mut Plan<'_, W::Wide>,
) -> Result<[Arc<dyn LinOp<T>>; 2]> {
    let Cycles { shaped, full, .. } = W::cycles(plan, 0)?;
    Ok([for_vectors(plan, shaped)?, for_vectors(plan, full)?])
}

/// A cycle of the finest level for vectors of `T`.
fn for_vectors<W: Working, T: Scalar>(
    plan: &Plan<'_, W::Wide>,
    cycle: Arc<dyn LinOp<W>>,
) -> Result<Arc<dyn LinOp<T>>> {
    let inner = seen_as(plan.rescaled(cycle)?)?;
    match plan.amg.scaling.normalises(T::KIND, W::KIND) {
        true => Ok(Arc::new(Normalised { inner })),
        false => Ok(inner),
    }
}
