//! A solver that is set up, whatever the precision it computes in.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use vcycle_core::matrix::WorkingScalar;

use super::chain::Chain;
use super::projection::Projection;
use super::refine::refine;
use crate::configuration::{Config, Precision};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::Csr;
use crate::multigrid::Report;
use crate::scalar::Real;
use crate::solver::Solver;
use crate::stop::{Outcome, Stop};
use crate::vector::Vector;

/// What the set-up of an attempt makes.
#[derive(Debug)]
pub struct Made<T> {
    pub(super) iteration: Box<dyn Iteration<T>>,
    /// Every `auto` decided.
    pub(super) config: Config,
    pub(super) bytes: usize,
    pub(super) multigrid: Option<Report>,
}

/// The first attempt that could be set up, and how to go on after it.
#[derive(Debug)]
pub(super) struct Ready<T> {
    pub made: Made<T>,
    /// The matrix without the rounding that costs it its symmetry.
    pub symmetrised: Option<Arc<Csr<T>>>,
    pub chain: Chain,
    /// Which of the attempts it is.
    pub place: usize,
    pub nullspace: Option<Projection>,
    pub messages: Vec<String>,
    pub setup: Duration,
}

/// A solver and what finds its initial guess, without the precision they compute in.
pub(super) trait Iteration<T>: Debug + Send + Sync {
    /// What full multigrid finds, where that was asked for.
    fn start(&self, b: &Vector<T>, ws: &Workspace) -> Result<Option<Vector<T>>>;

    /// Iterates from the guess in `x`, with refinement where the solver computes in less than double precision.
    fn iterate(
        &self,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        stop: &Stop,
        ws: &Workspace,
    ) -> Result<Outcome>;

    /// Applies the preconditioner once.
    fn precondition(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()>;

    /// Where an infinity or NaN comes from, if the preconditioner can tell.
    fn origin(&self, b: &Vector<T>, x: &Vector<T>) -> Option<String>;
}

/// A solver with vectors of `W`.
#[derive(Debug)]
pub(super) struct SolverIn<W: WorkingScalar> {
    pub solver: Solver<W>,
    /// What finds the initial guess, if that is not zero.
    pub start: Option<Arc<dyn LinOp<W>>>,
    pub precision: Precision,
}

impl<W: WorkingScalar> SolverIn<W> {
    /// The solver, if its vectors are those of systems.
    fn of<T: WorkingScalar>(&self) -> Option<&Solver<T>> {
        let any: &dyn Any = &self.solver;
        any.downcast_ref()
    }
}

impl<T: WorkingScalar, W: WorkingScalar> Iteration<T> for SolverIn<W> {
    fn start(&self, b: &Vector<T>, ws: &Workspace) -> Result<Option<Vector<T>>> {
        let Some(operator) = &self.start else {
            return Ok(None);
        };
        let _stage = ws.stage_of("full multigrid start", || operator.footprint().moved);
        let mut x = Vector::<T>::zeros_like(b)?;
        converted(operator.as_ref(), b, &mut x, ws)?;
        Ok(Some(x))
    }

    fn iterate(
        &self,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        stop: &Stop,
        ws: &Workspace,
    ) -> Result<Outcome> {
        match self.of::<T>() {
            Some(same) if self.precision.is_double() => same.solve_in(b, x, stop, ws),
            _ => {
                let accuracy = 64.0 * self.precision.roundoff();
                refine(a, &self.solver, b, x, stop, accuracy, ws)
            }
        }
    }

    fn precondition(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        match self.of::<T>() {
            Some(same) => same.preconditioner().apply(r, z, ws),
            None => converted(self.solver.preconditioner().as_ref(), r, z, ws),
        }
    }

    fn origin(&self, b: &Vector<T>, x: &Vector<T>) -> Option<String> {
        let solver = self.of::<T>()?;
        let ws = Workspace::watchful();
        let (mut r, mut z) = (b.clone(), b.clone());
        solver.matrix().residual(b, x, &mut r, &ws).ok()?;
        let is_sound = is_finite(&r).ok()?;
        let failed = solver.preconditioner().apply(&r, &mut z, &ws).err();
        failed.filter(|_| is_sound).map(|error| error.to_string())
    }
}

pub(super) fn is_finite<T: WorkingScalar>(x: &Vector<T>) -> Result<bool> {
    Ok(x.norms()?.iter().all(|norm| norm.to_f64().is_finite()))
}

/// `z = M r` with an operator on vectors of another precision.
fn converted<T: WorkingScalar, W: WorkingScalar>(
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
