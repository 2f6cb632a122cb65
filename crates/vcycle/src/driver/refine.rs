//! Iterative refinement: solve in a low precision, correct in a high one.

use std::time::Instant;

use num_traits::Zero;

use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::scalar::{Field, Real};
use crate::solver::{Solver, rounding_levels};
use crate::stop::{ColumnOutcome, Outcome, Status, Stop};
use crate::vector::{Coefficient, Scalars, Vector};
use vcycle_core::matrix::WorkingScalar;
use vcycle_core::stop::is_rounding;

/// Refinement steps at most; each gains a digit or it ends.
const STEPS: usize = 40;

/// The state of a refinement.
struct Refinement<'r, T: WorkingScalar> {
    a: &'r dyn LinOp<T>,
    b: &'r Vector<T>,
    stop: &'r Stop,
    ws: &'r Workspace,
    /// Norms of right-hand side and initial residual of every column.
    scales: Vec<(f64, f64)>,
    iterations: usize,
    history: Vec<f64>,
    start: Instant,
}

/// Solves `A x = b` from the guess in `x`: `x += d` with `A d = b - A x` solved by `inner`, whose
/// matrix and vectors may be rounded (Wilkinson 1963; Carson and Higham 2018).
///
/// `accuracy` is what one inner solve can be expected to reach.
pub(super) fn refine<T: WorkingScalar, W: WorkingScalar>(
    a: &dyn LinOp<T>,
    inner: &Solver<W>,
    b: &Vector<T>,
    x: &mut Vector<T>,
    stop: &Stop,
    accuracy: f64,
    ws: &Workspace,
) -> Result<Outcome> {
    let mut r = b.clone();
    let mut d = Vector::<T>::zeros_like(b)?;
    let mut low_r = Vector::<W>::zeros_like(b)?;
    let mut low_d = Vector::<W>::zeros_like(b)?;
    let mut norms = Scalars::filled(b.executor(), b.cols(), T::Arith::zero())?;
    r.norm(&mut norms)?;
    let mut known = host(&norms)?;
    let mut state = Refinement::new(a, b, &known, stop, ws);
    if x.norms()?.iter().any(|norm| norm.to_f64() != 0.0) {
        known = state.residual(x, &mut r, &mut norms)?;
        state.start_from(&known);
    }
    for _ in 0..STEPS {
        let before = state.worst(&known);
        if let Some(status) = state.ended(&known)? {
            return state.outcome(status, &known, x);
        }
        // Unit residuals keep the low precision within its range.
        r.scale(Coefficient::one().over(&norms))?;
        low_r.copy_from(&r)?;
        low_d.fill(W::default())?;
        let inner_stop = state.inner_stop(before, accuracy);
        let outcome = inner.solve_in(&low_r, &mut low_d, &inner_stop, ws)?;
        state.count(&outcome, before);
        if !usable(outcome.status) {
            return state.outcome(outcome.status, &known, x);
        }
        d.copy_from(&low_d)?;
        x.axpy(Coefficient::of(&norms), &d)?;
        known = state.residual(x, &mut r, &mut norms)?;
        if state.worst(&known) > 0.5 * before && !state.satisfied(&known) {
            return state.outcome(Status::Stagnated, &known, x);
        }
    }
    let status = state.ended(&known)?.unwrap_or(Status::Stagnated);
    state.outcome(status, &known, x)
}

/// Whether an inner solve that ended so has still improved its guess.
fn usable(status: Status) -> bool {
    matches!(
        status,
        Status::Converged
            | Status::AccuracyLimit
            | Status::Stagnated
            | Status::IterationLimit
            | Status::TimeLimit
    )
}

fn host<T: WorkingScalar>(norms: &Scalars<T>) -> Result<Vec<f64>> {
    Ok(norms.host()?.iter().map(|n| n.real().to_f64()).collect())
}

impl<'r, T: WorkingScalar> Refinement<'r, T> {
    fn new(
        a: &'r dyn LinOp<T>,
        b: &'r Vector<T>,
        norms: &[f64],
        stop: &'r Stop,
        ws: &'r Workspace,
    ) -> Self {
        Self {
            a,
            b,
            stop,
            ws,
            scales: norms.iter().map(|&norm| (norm, norm)).collect(),
            iterations: 0,
            history: vec![1.0],
            start: Instant::now(),
        }
    }

    /// The initial residual is not the right-hand side.
    fn start_from(&mut self, norms: &[f64]) {
        for ((_, initial), norm) in self.scales.iter_mut().zip(norms) {
            *initial = *norm;
        }
        self.history = vec![self.worst(norms)];
    }

    /// The residual, and the norms of its columns there and on the host.
    fn residual(
        &self,
        x: &Vector<T>,
        r: &mut Vector<T>,
        norms: &mut Scalars<T>,
    ) -> Result<Vec<f64>> {
        {
            let moved = self.a.footprint().moved;
            let _stage = self.ws.stage("refinement residual", moved);
            self.a.residual(self.b, x, r, self.ws)?;
        }
        r.norm(norms)?;
        host(norms)
    }

    fn relative(&self, column: usize, norm: f64) -> f64 {
        let (scale, _) = self.scales[column];
        if scale > 0.0 { norm / scale } else { norm }
    }

    fn worst(&self, norms: &[f64]) -> f64 {
        let relative = norms.iter().enumerate().map(|(c, &n)| self.relative(c, n));
        relative.fold(
            0.0,
            |worst, next| if next.is_nan() { next } else { worst.max(next) },
        )
    }

    fn satisfied(&self, norms: &[f64]) -> bool {
        let reached = |(norm, (rhs, initial)): (&f64, &(f64, f64))| {
            *norm == 0.0 || self.stop.target(*rhs, *initial).is_some_and(|t| *norm <= t)
        };
        norms.iter().zip(&self.scales).all(reached)
    }

    /// How it has ended, if it has. Ranks that share the system take the same decision.
    fn ended(&self, norms: &[f64]) -> Result<Option<Status>> {
        let out_of_time = match self.stop.time {
            Some(time) => self.b.executor().any(self.start.elapsed() >= time)?,
            None => false,
        };
        Ok(if !norms.iter().all(|norm| norm.is_finite()) {
            Some(Status::NonFinite)
        } else if self.satisfied(norms) {
            Some(Status::Converged)
        } else if self.iterations >= self.stop.iterations {
            Some(Status::IterationLimit)
        } else if out_of_time {
            Some(Status::TimeLimit)
        } else {
            None
        })
    }

    /// No more accuracy than the precision can give, nor than is needed to end.
    fn inner_stop(&self, residual: f64, accuracy: f64) -> Stop {
        let needed = 0.5 * self.stop.rhs_tolerance.unwrap_or(0.0) / residual;
        let mut stop = Stop::relative(accuracy.max(needed).min(0.5))
            .max_iterations(self.stop.iterations - self.iterations);
        stop.time = self
            .stop
            .time
            .map(|t| t.saturating_sub(self.start.elapsed()));
        stop
    }

    fn count(&mut self, inner: &Outcome, residual: f64) {
        self.iterations += inner.iterations;
        let later = inner.history.iter().skip(1);
        self.history
            .extend(later.map(|relative| relative * residual));
    }

    fn outcome(self, status: Status, norms: &[f64], x: &Vector<T>) -> Result<Outcome> {
        let levels = rounding_levels::<T>(self.a, self.b, x, self.ws)?;
        let column = |(index, (&norm, &level)): (usize, (&f64, &f64))| ColumnOutcome {
            status: match status == Status::Stagnated
                && is_rounding::<T>(norm, level, self.scales[index].0)
            {
                true => Status::AccuracyLimit,
                false => status,
            },
            iterations: self.iterations,
            relative_residual: self.relative(index, norm),
            recurrence_residual: self.history.last().copied().unwrap_or(1.0),
            backward_error: if norm > 0.0 { norm / level } else { norm },
            condition: self.relative(index, level),
            outside_range: 0.0,
        };
        let columns = norms.iter().zip(&levels).enumerate().map(column).collect();
        let history = self.history.clone();
        Ok(Outcome::from_columns(
            columns,
            history,
            self.start.elapsed(),
        ))
    }
}
