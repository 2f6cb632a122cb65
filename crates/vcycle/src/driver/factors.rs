//! The factors of an attempt that is the direct solver.

use std::sync::Arc;

use super::attempt::Attempt;
use super::facts::Factorisation;
use super::kept::Kept;
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::Csr;
use crate::scalar::Scalar;

/// The order and fill of factors.
#[cfg(feature = "direct")]
pub(super) type Analysed = crate::solver::DirectSetup;
/// Without the direct solver there are none.
#[cfg(not(feature = "direct"))]
pub(super) enum Analysed {}

/// Part of the operations that is left by nested dissection, which takes the place of minimum degree where there are many.
#[cfg(feature = "direct")]
const DISSECTED: f64 = 0.4;

/// The order and fill of the factors of a matrix on the host, what they take, and the bytes that they need; none where there
/// are no factors.
#[cfg(feature = "direct")]
pub(super) fn analysed<T: Scalar>(
    a: &Csr<T>,
    ws: &Workspace,
) -> Option<(Analysed, Factorisation, usize)> {
    let analysed = crate::solver::Direct::default().analyse(a, ws).ok()?;
    let cost = analysed.cost()?;
    let saved = if analysed.may_be_improved() {
        DISSECTED
    } else {
        1.0
    };
    let factorisation = Factorisation {
        operations: saved * cost.operations,
        fill: cost.fill,
    };
    Some((analysed, factorisation, cost.bytes))
}

#[cfg(not(feature = "direct"))]
pub(super) fn analysed<T: Scalar>(
    _: &Csr<T>,
    _: &Workspace,
) -> Option<(Analysed, Factorisation, usize)> {
    None
}

/// What is known of factors: the order and fill that the analysis has found, and what earlier matrices have left.
#[cfg_attr(not(feature = "direct"), allow(dead_code))]
pub(super) struct Known<'k> {
    pub analysed: Option<Analysed>,
    pub kept: Option<&'k mut Kept>,
}

/// An inverse, and a message.
type Inverse<W> = (Arc<dyn LinOp<W>>, Option<String>);

/// The inverse of the direct solver, and a message; none where the attempt is another solver.
#[cfg(feature = "direct")]
pub(super) fn factors<W: Scalar>(
    attempt: &Attempt,
    a: &Arc<dyn LinOp<W>>,
    known: Known<'_>,
    ws: &Workspace,
) -> Result<Option<Inverse<W>>> {
    use crate::configuration::SolverConfig;
    use crate::error::Error;

    let SolverConfig::Direct(direct) = &attempt.solver else {
        return Ok(None);
    };
    let analysed = known
        .analysed
        .filter(|analysed| !analysed.may_be_improved());
    let make = || {
        if let Some(mut analysed) = analysed {
            let made = analysed.update_values(a, ws);
            if !matches!(made, Err(Error::InvalidStructure { .. })) {
                return made.map(|inverse| (analysed, inverse));
            }
        }
        direct.setup(a, ws)
    };
    match known.kept {
        Some(kept) => kept.factors(make, a, ws).map(Some),
        None => Ok(Some((make()?.1, None))),
    }
}

#[cfg(not(feature = "direct"))]
pub(super) fn factors<W: Scalar>(
    _: &Attempt,
    _: &Arc<dyn LinOp<W>>,
    _: Known<'_>,
    _: &Workspace,
) -> Result<Option<Inverse<W>>> {
    Ok(None)
}
