//! The state of a running solve that a method works on: operators, vectors, monitor and scratch.

mod repeat;

/// Vectors that a restarted method keeps: no more than can be of use.
pub(super) fn check_restart<T: Scalar>(restart: usize, run: &Run<'_, T>) -> Result<usize> {
    if restart == 0 {
        return Err(Error::bad_parameter("restart", "must be at least 1"));
    }
    let useful = run.b.global_rows()?.min(run.monitor.iterations_left());
    Ok(restart.min(useful.max(1)))
}

#[cfg(test)]
mod tests;

use num_traits::Zero;

use super::checks::{is_rounding_in_every_row, rounding_levels};
use crate::prelude::*;
use crate::stop::{Monitor, Part, Status};

/// One run of a [`Method`](super::Method): the problem, the guess to improve and the judge. Its functions fail where an operator, the executor
/// or memory does.
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

impl<'r, T: Scalar> Run<'r, T> {
    /// Scratch vectors like the right-hand side; their contents are unspecified.
    pub fn vectors<const N: usize>(&self) -> Result<[Scratch<'r, Vector<T>>; N]> {
        take_all(|| self.ws.vector_like(self.b))
    }

    /// Scratch scalars, one a column; their contents are unspecified.
    pub fn scalars<const N: usize>(&self) -> Result<[Scratch<'r, Scalars<T>>; N]> {
        take_all(|| self.ws.scalars(self.b))
    }

    /// Ends the columns that rounding keeps from going on, where their residuals let one suspect it; says whether
    /// all have ended.
    fn is_at_limit(&mut self) -> Result<bool> {
        if !self.monitor.may_be_at_limit() {
            return Ok(false);
        }
        // This thread is to speak to other ranks: what is replayed must have ended to.
        if self.monitor.is_deferred() && self.b.executor().team().is_some() {
            self.b.executor().synchronize()?;
        }
        let levels = rounding_levels(self.a, self.b, self.x, self.ws)?;
        self.monitor.end_at_limit(&levels)
    }

    /// Whether `r = b - A x` is what rounding leaves in every row, as far as the host can tell.
    pub(super) fn is_rounding_in_every_row(&self, r: &Vector<T>) -> Result<bool> {
        is_rounding_in_every_row(self.a, [self.b, self.x, r])
    }

    /// Forms `r = b - A x` of the guess, without a product when that is zero, and announces its
    /// norms; says whether all columns have ended.
    pub fn start(&mut self, r: &mut Vector<T>, norms: &mut Scalars<T>) -> Result<bool> {
        match self.zero_guess {
            true => r.copy_from(self.b)?,
            false => self.residual(r)?,
        }
        r.norm(norms)?;
        self.monitor.start(norms, self.ws.log())
    }

    /// `x += alpha p` in the columns that have not ended, `r -= alpha q` with `q = A p`; announces
    /// the norms of `r` after this iteration and says whether all columns have ended.
    pub fn advance(
        &mut self,
        alpha: Coefficient<'_, T>,
        p: &Vector<T>,
        q: &Vector<T>,
        r: &mut Vector<T>,
        norms: &mut Scalars<T>,
    ) -> Result<bool> {
        let on_x = alpha.times(self.monitor.active());
        self.x.advance((on_x, p), (-alpha, q), r, norms)?;
        self.done(norms)
    }

    /// `r = b - A x` of the solution so far.
    pub fn residual(&self, r: &mut Vector<T>) -> Result<()> {
        let _stage = self.ws.stage("residual", self.a.footprint().moved);
        self.a.residual(self.b, self.x, r, self.ws)
    }

    /// `y = A^H x`.
    pub fn multiply_adjoint(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let _stage = self.ws.stage("adjoint product", self.a.footprint().moved);
        self.a.apply_transposed(Transpose::Conjugate, x, y, self.ws)
    }

    /// `M^H r` with the preconditioner `M`, in `z`; or `r` itself where there is none.
    pub fn preconditioned_adjoint<'v>(
        &self,
        r: &'v Vector<T>,
        z: &'v mut Vector<T>,
    ) -> Result<&'v Vector<T>> {
        if self.preconditioner.is_identity() {
            return Ok(r);
        }
        let moved = || self.preconditioner.footprint().moved;
        let _stage = self.ws.stage_of("adjoint preconditioner", moved);
        let adjoint = Transpose::Conjugate;
        self.preconditioner
            .apply_transposed(adjoint, r, z, self.ws)?;
        Ok(z)
    }

    /// `y = A x`.
    pub fn multiply(&self, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let _stage = self.ws.stage("product", self.a.footprint().moved);
        self.a.apply(x, y, self.ws)
    }

    /// `y = A x`, and column by column the products of `x` with `y`.
    pub fn multiply_dot(
        &self,
        x: &Vector<T>,
        y: &mut Vector<T>,
        dots: &mut Scalars<T>,
    ) -> Result<()> {
        let _stage = self.ws.stage("product", self.a.footprint().moved);
        match self.a.apply_dot(x, y, dots, self.ws)? {
            true => Ok(()),
            false => x.dot(y, dots),
        }
    }

    /// `z = M r` with the preconditioner `M`.
    pub fn precondition(&self, r: &Vector<T>, z: &mut Vector<T>) -> Result<()> {
        let moved = || self.preconditioner.footprint().moved;
        let _stage = self.ws.stage_of("preconditioner", moved);
        self.preconditioner.apply(r, z, self.ws)
    }

    /// `M r`, in `z`; or `r` itself where there is no preconditioner.
    pub fn preconditioned<'v>(
        &self,
        r: &'v Vector<T>,
        z: &'v mut Vector<T>,
    ) -> Result<&'v Vector<T>> {
        if self.preconditioner.is_identity() {
            return Ok(r);
        }
        self.precondition(r, z)?;
        Ok(z)
    }

    /// Announces the residual norms after an iteration; says whether all columns have ended.
    pub fn done(&mut self, norms: &Scalars<T>) -> Result<bool> {
        let ended = self.monitor.done(norms, self.ws.log())?;
        Ok(ended || !self.monitor.is_deferred() && self.is_at_limit()?)
    }

    /// Ends all columns that have not.
    pub fn end_active(&mut self, status: Status) -> Result<()> {
        for column in 0..self.b.cols() {
            if self.monitor.is_active(column) {
                self.monitor.end(column, status)?;
            }
        }
        Ok(())
    }

    /// Ends the columns whose divisor is zero; says whether all have ended.
    pub fn require_nonzero(&mut self, values: &Scalars<T>) -> Result<bool> {
        let status = Status::Breakdown;
        self.monitor
            .end_where(values, status, &|value| value.is_zero())
    }

    /// Ends the columns whose value is infinite or NaN; says whether all have ended.
    pub fn require_finite(&mut self, values: &Scalars<T>) -> Result<bool> {
        self.monitor
            .end_where(values, Status::NonFinite, &|_| false)
    }

    /// Ends the columns whose quadratic form is negative; says whether all have ended.
    pub fn require_nonnegative(&mut self, values: &Scalars<T>, part: Part) -> Result<bool> {
        let is_negative = |value: T::Arith| value.real() < Zero::zero();
        self.monitor
            .end_where(values, Status::Indefinite(part), &is_negative)
    }

    /// Ends the columns whose quadratic form is not positive; says whether all have ended.
    pub fn require_positive(&mut self, values: &Scalars<T>, part: Part) -> Result<bool> {
        let is_bad = |value: T::Arith| value.real() <= Zero::zero();
        self.monitor
            .end_where(values, Status::Indefinite(part), &is_bad)
    }
}

fn take_all<S, const N: usize>(mut take: impl FnMut() -> Result<S>) -> Result<[S; N]> {
    let mut all = [const { None }; N];
    for one in &mut all {
        *one = Some(take()?);
    }
    Ok(all.map(|one| one.expect("every one was taken")))
}
