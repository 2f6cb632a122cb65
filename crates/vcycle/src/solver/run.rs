//! What a method works on.

use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::scalar::Scalar;
use crate::stop::{Monitor, Part};
use crate::vector::{Scalars, Vector};

/// One run of a [`Method`](super::Method): the problem, the guess to improve and the judge.
pub struct Run<'r, T: Scalar> {
    /// The matrix.
    pub a: &'r dyn LinOp<T>,
    /// Approximates its inverse.
    pub preconditioner: &'r dyn LinOp<T>,
    /// The right-hand sides.
    pub b: &'r Vector<T>,
    /// The guess, improved in place.
    pub x: &'r mut Vector<T>,
    /// Whether the guess is known to be zero, so that its residual is `b`.
    pub zero_guess: bool,
    /// Says when to stop.
    pub monitor: &'r mut Monitor<T>,
    /// Scratch memory and observers.
    pub ws: &'r Workspace,
}

impl<T: Scalar> Run<'_, T> {
    /// `r = b - A x`, without a product when the guess is zero.
    ///
    /// # Errors
    /// When the operator fails.
    pub fn initial_residual(&self, r: &mut Vector<T>) -> Result<()> {
        if self.zero_guess {
            return r.copy_from(self.b);
        }
        let _stage = self.ws.stage("residual", self.a.footprint().moved);
        self.a.residual(self.b, self.x, r, self.ws)
    }

    /// `y = A x`.
    ///
    /// # Errors
    /// When the operator fails.
    pub fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let _stage = self.ws.stage("product", self.a.footprint().moved);
        self.a.apply(x, y, self.ws)
    }

    /// `z = M r` with the preconditioner `M`.
    ///
    /// # Errors
    /// When the preconditioner fails.
    pub fn precondition(&self, r: &Vector<T>, z: &mut Vector<T>) -> Result<()> {
        let _stage = self
            .ws
            .stage("preconditioner", self.preconditioner.footprint().moved);
        self.preconditioner.apply(r, z, self.ws)
    }

    /// Announces the residual norms of the guess; says whether all columns have ended.
    ///
    /// # Errors
    /// When the executor fails.
    pub fn start(&mut self, norms: &Scalars<T>) -> Result<bool> {
        self.monitor.start(norms, self.ws.log())
    }

    /// Announces the residual norms after an iteration; says whether all columns have ended.
    ///
    /// # Errors
    /// When the executor fails.
    pub fn done(&mut self, norms: &Scalars<T>) -> Result<bool> {
        self.monitor.done(norms, self.ws.log())
    }

    /// Ends the columns whose quadratic form is not positive; says whether all have ended.
    ///
    /// # Errors
    /// When the executor fails.
    pub fn require_positive(&mut self, values: &Scalars<T>, part: Part) -> Result<bool> {
        self.monitor.require_positive(values, part)
    }
}
