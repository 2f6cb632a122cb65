//! A solver that is set up, whatever the precision it computes in.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use vcycle_core::matrix::WorkingScalar;

use super::SystemMatrix;
use super::chain::Chain;
use super::projection::Projection;
use super::refine::refine;
use super::storage::Wide;
use crate::configuration::{Config, Precision};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::multigrid::Report;
use crate::scalar::Real;
use crate::solver::Solver;
use crate::stop::{Outcome, Stop};
use crate::vector::Vector;

/// What the set-up of one attempt leaves.
#[derive(Debug)]
pub struct Ready<T> {
    pub(super) iteration: Box<dyn Iteration<T>>,
    pub(super) a: SystemMatrix<T>,
    pub(super) chain: Chain,
    /// Which of the attempts it is.
    pub(super) place: usize,
    pub(super) nullspace: Option<Projection>,
    /// Every `auto` decided.
    pub(super) config: Config,
    pub(super) messages: Vec<String>,
    pub(super) setup: Duration,
    pub(super) bytes: usize,
    pub(super) multigrid: Option<Report>,
}

/// A solver and what finds its initial guess, without the precision they compute in.
pub(super) trait Iteration<T>: Debug + Send + Sync {
    /// What full multigrid finds, where that was asked for.
    fn start(&self, b: &Vector<T>, ws: &Workspace) -> Result<Option<Vector<T>>>;

    /// Iterates from the guess in `x`.
    fn iterate(
        &self,
        a: &dyn LinOp<T>,
        precision: Precision,
        b: &Vector<T>,
        x: &mut Vector<T>,
        stop: &Stop,
        ws: &Workspace,
    ) -> Result<Outcome>;

    /// Applies the preconditioner once.
    fn precondition(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()>;
}

impl<T: Wide, W: WorkingScalar<Wide = T>> Iteration<T> for (Solver<W>, Option<Arc<dyn LinOp<W>>>) {
    fn start(&self, b: &Vector<T>, ws: &Workspace) -> Result<Option<Vector<T>>> {
        match &self.1 {
            None => Ok(None),
            Some(operator) => start(operator.as_ref(), b, ws),
        }
    }

    fn iterate(
        &self,
        a: &dyn LinOp<T>,
        precision: Precision,
        b: &Vector<T>,
        x: &mut Vector<T>,
        stop: &Stop,
        ws: &Workspace,
    ) -> Result<Outcome> {
        iterate(a, &self.0, precision, b, x, stop, ws)
    }

    fn precondition(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let any: &dyn std::any::Any = &self.0;
        match any.downcast_ref::<Solver<T>>() {
            Some(same) => same.preconditioner().apply(r, z, ws),
            None => converted(self.0.preconditioner().as_ref(), r, z, ws),
        }
    }
}

/// `z = M r` with an operator on vectors of another precision.
fn converted<T: Wide, W: WorkingScalar>(
    operator: &dyn LinOp<W>,
    r: &Vector<T>,
    z: &mut Vector<T>,
    ws: &Workspace,
) -> Result<()> {
    let mut working_r = Vector::<W>::zeros_like(r)?;
    let mut working_z = Vector::<W>::zeros_like(r)?;
    working_r.copy_from(r)?;
    operator.apply(&working_r, &mut working_z, ws)?;
    z.copy_from(&working_z)
}

/// What full multigrid makes of `b`, if that is finite.
pub(super) fn start<T: Wide, W: WorkingScalar>(
    operator: &dyn LinOp<W>,
    b: &Vector<T>,
    ws: &Workspace,
) -> Result<Option<Vector<T>>> {
    let _stage = ws.stage_of("full multigrid start", || operator.footprint().moved);
    let mut x = Vector::<T>::zeros_like(b)?;
    converted(operator, b, &mut x, ws)?;
    let is_finite = x.norms()?.iter().all(|norm| norm.to_f64().is_finite());
    Ok(is_finite.then_some(x))
}

/// Iterates from the guess in `x`, with refinement where the solver computes in less than double precision.
pub(super) fn iterate<T: Wide, W: WorkingScalar>(
    a: &dyn LinOp<T>,
    solver: &Solver<W>,
    precision: Precision,
    b: &Vector<T>,
    x: &mut Vector<T>,
    stop: &Stop,
    ws: &Workspace,
) -> Result<Outcome> {
    let any: &dyn std::any::Any = solver;
    match any.downcast_ref::<Solver<T>>() {
        Some(same) if precision.is_double() => same.solve_in(b, x, stop, ws),
        _ => refine(a, solver, b, x, stop, 64.0 * precision.roundoff(), ws),
    }
}
