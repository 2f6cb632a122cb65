//! The state of one right-hand side during a solve.

use super::{Status, Stop};
use crate::prelude::*;

/// A residual of at most this many roundoffs of its terms consists of rounding errors: the exact solution, rounded, has half
/// a roundoff, computing the residual adds one or two, and a recurrence deviates by some more.
const ROUNDING: f64 = 20.0;

/// The state of one right-hand side.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    pub status: Option<Status>,
    pub begun: bool,
    pub scale: f64,
    pub target: Option<f64>,
    /// The goal of the recurrence: the target, or less if its residual was too small before.
    pub goal: Option<f64>,
    pub initial: f64,
    pub norm: f64,
    /// The norm one iteration earlier, if the host read it.
    pub before: f64,
    pub best: f64,
    pub best_iteration: usize,
    /// The norm when it was last halved, and that iteration.
    pub halved: (f64, usize),
    pub iterations: usize,
    /// Whether a criterion of the user ended it.
    pub accepted: bool,
}

/// Whether a residual consists of rounding errors, given the level of rounding and the norm of the right-hand side. If
/// rounding is as large as that norm, as for singular matrices, nothing is solved.
#[doc(hidden)]
pub fn is_rounding<T: Scalar>(norm: f64, level: f64, rhs_norm: f64) -> bool {
    norm < rhs_norm && norm <= ROUNDING * T::KIND.roundoff() * level
}

impl Column {
    pub fn begin(&mut self, norm: f64, iteration: usize, stop: &Stop) {
        (self.best, self.best_iteration) = (norm, iteration);
        self.halved = (norm, iteration);
        (self.before, self.norm) = (norm, norm);
        if !self.begun {
            self.begun = true;
            self.initial = norm;
            self.target = stop.target(self.scale, norm);
            self.goal = self.target;
        }
    }

    pub fn reopen(&mut self) {
        self.status = None;
        self.goal = self.target.map(|target| 0.5 * target);
    }

    pub fn reached(&self, norm: f64) -> bool {
        norm == 0.0 || self.target.is_some_and(|target| norm <= target)
    }

    pub fn observe(&mut self, norm: f64, iteration: usize, stop: &Stop, out_of_time: bool) {
        self.norm = norm;
        self.iterations = iteration;
        if norm < 0.9 * self.best {
            (self.best, self.best_iteration) = (norm, iteration);
        }
        self.note_halving(iteration);
        let waited = iteration - self.best_iteration;
        let ending = if !norm.is_finite() {
            Some(Status::NonFinite)
        } else if norm == 0.0 || self.goal.is_some_and(|goal| norm <= goal) {
            Some(Status::Converged)
        } else if norm > stop.divergence * self.initial.max(self.scale) {
            Some(Status::Diverged)
        } else if iteration >= stop.iterations || self.is_hopeless(stop) {
            Some(Status::IterationLimit)
        } else if out_of_time {
            Some(Status::TimeLimit)
        } else if stop.stagnation.is_some_and(|window| waited >= window) {
            Some(Status::Stagnated)
        } else {
            None
        };
        self.status = ending;
    }

    /// Whether a residual that has to be reduced consists of rounding errors, given the level of rounding.
    pub fn is_rounding<T: Scalar>(&self, norm: f64, level: f64) -> bool {
        self.target.is_some() && is_rounding::<T>(norm, level, self.scale)
    }

    /// Whether the target is below the residual of the rounded exact solution.
    pub fn asks_too_much<T: Scalar>(&self, level: f64) -> bool {
        let least = T::KIND.roundoff() * level;
        self.target.is_some_and(|target| target < least)
    }

    /// Whether convergence at the speed so far would need twice the limit of iterations.
    pub fn is_hopeless(&self, stop: &Stop) -> bool {
        let is_due =
            |every: usize| self.iterations > 0 && self.iterations.is_multiple_of(every.max(1));
        let (Some(goal), true) = (self.goal, stop.forecast.is_some_and(is_due)) else {
            return false;
        };
        let (needed, done) = ((self.initial / goal).ln(), (self.initial / self.norm).ln());
        let (most, so_far) = (2.0 * stop.iterations as f64, self.iterations as f64);
        done.is_nan() || done * most <= needed * so_far
    }

    /// Records this iteration if it has halved the norm.
    pub fn note_halving(&mut self, iteration: usize) {
        if self.norm < 0.5 * self.halved.0 {
            self.halved = (self.norm, iteration);
        }
    }

    /// Ends it, if it has not ended yet, because a criterion of the user holds.
    pub fn accept(&mut self, iteration: usize) {
        self.accepted |= self.status.is_none();
        self.end(Status::Converged, iteration);
    }

    pub fn end(&mut self, status: Status, iteration: usize) {
        if self.status.is_none() {
            self.status = Some(status);
            self.iterations = iteration;
        }
    }

    #[doc(hidden)]
    pub fn relative(&self, norm: f64) -> f64 {
        if self.scale > 0.0 {
            norm / self.scale
        } else {
            norm
        }
    }
}
