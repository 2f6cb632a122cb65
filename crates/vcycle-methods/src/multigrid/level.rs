//! One level of a hierarchy and all below it, as an operator.

use std::sync::Arc;

use super::smooth::Relaxation;
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{Footprint, LinOp, Size, check_apply};
use crate::scalar::{Field, Scalar};
use crate::vector::{Coefficient, Vector};

/// A multigrid cycle from this level down: smooth, correct by the coarser level, smooth.
///
/// Vectors of this level are stored in `W`, those of the next in `C`; the transfer operators
/// convert on the way. Applied to `b` it is one cycle from a zero guess, a fixed linear operator
/// if all its parts are, symmetric if the second smoother is the adjoint of the first and the
/// restriction that of the prolongation.
#[derive(Clone, Debug)]
pub struct Level<W: Scalar, C: Scalar> {
    /// The matrix of this level.
    pub a: Arc<dyn LinOp<W>>,
    /// To the next level.
    pub restrict: Arc<dyn LinOp<W, C>>,
    /// From the next level.
    pub prolong: Arc<dyn LinOp<C, W>>,
    /// Smooths before the correction, from a zero guess.
    pub pre: Relaxation<W>,
    /// Smooths after the correction.
    pub post: Relaxation<W>,
    /// Approximates the inverse of the next level's matrix.
    pub coarse: Arc<dyn LinOp<C>>,
    /// Whether residuals are divided by their norm on the way to the next level, and corrections
    /// multiplied by it: small ones would become zero in half precision.
    pub normalised: bool,
    /// What corrections are multiplied by where the next level has another scale.
    pub gain: f64,
    /// 0 for the finest level.
    pub number: usize,
    /// What profiles call the next level.
    pub below: String,
}

impl<W: Scalar, C: Scalar> Level<W, C> {
    /// A correction by another solver of the next level alone.
    pub(super) fn unsmoothed(self, coarse: Arc<dyn LinOp<C>>) -> Self {
        let none = |relaxation| Relaxation {
            sweeps: 0,
            ..relaxation
        };
        Self {
            coarse,
            pre: none(self.pre),
            post: none(self.post),
            ..self
        }
    }

    /// Fails where a [watchful](Workspace::watchful) workspace finds no numbers after a stage.
    fn check<T: Scalar>(
        &self,
        below: usize,
        stage: &'static str,
        v: &Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        if !ws.is_watchful() || v.to_vec().iter().all(|value| value.load().is_finite()) {
            return Ok(());
        }
        let level = self.number + below;
        Err(Error::NonFiniteStage { level, stage })
    }

    /// What is smoothed after the correction.
    fn guess(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()> {
        self.smooth_before(b, x, ws)?;
        self.check(0, "smoothing before the correction", x, ws)?;
        self.correct(b, x, ws)?;
        self.check(0, "prolongation", x, ws)
    }

    /// `x += P coarse(R (b - A x))`.
    fn correct(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()> {
        let rows = self.coarse.size().rows;
        let mut restricted = ws.vector::<C>(self.executor(), rows, b.cols())?;
        let mut correction = ws.vector::<C>(self.executor(), rows, b.cols())?;
        let mut norms = ws.scalars(b)?;
        if self.pre.sweeps == 0 && !self.normalised {
            self.restrict(b, &mut restricted, ws)?;
        } else {
            let mut r = ws.vector_like::<W, W>(b)?;
            self.residual(b, x, &mut r, ws)?;
            if self.normalised {
                r.norm(&mut norms)?;
                r.scale(Coefficient::one().over(&norms))?;
            }
            self.restrict(&r, &mut restricted, ws)?;
        }
        self.check(0, "restriction", &restricted, ws)?;
        self.visit(&restricted, &mut correction, ws)?;
        self.check(1, "coarsest solver", &correction, ws)?;
        let size = match self.normalised {
            true => Coefficient::of(&norms).scaled(W::Arith::from_f64(self.gain)),
            false => Coefficient::real(self.gain),
        };
        self.prolong(size, &correction, x, ws)
    }

    fn residual(
        &self,
        b: &Vector<W>,
        x: &Vector<W>,
        r: &mut Vector<W>,
        ws: &Workspace,
    ) -> Result<()> {
        let _stage = ws.stage_of("residual", || self.a.footprint().moved + 3 * b.bytes());
        self.a.residual(b, x, r, ws)
    }

    fn restrict(&self, r: &Vector<W>, restricted: &mut Vector<C>, ws: &Workspace) -> Result<()> {
        let moved = || self.restrict.footprint().moved + r.bytes() + restricted.bytes();
        let _stage = ws.stage_of("restriction", moved);
        self.restrict.apply(r, restricted, ws)
    }

    fn visit(&self, b: &Vector<C>, x: &mut Vector<C>, ws: &Workspace) -> Result<()> {
        let _stage = ws.stage_of(&self.below, || self.coarse.footprint().moved);
        self.coarse.apply(b, x, ws)
    }

    /// `x += size P correction`.
    fn prolong(
        &self,
        size: Coefficient<'_, W>,
        correction: &Vector<C>,
        x: &mut Vector<W>,
        ws: &Workspace,
    ) -> Result<()> {
        let moved = || self.prolong.footprint().moved + correction.bytes() + 2 * x.bytes();
        let _stage = ws.stage_of("prolongation", moved);
        self.prolong
            .apply_advanced(size, correction, Coefficient::one(), x, ws)
    }

    fn smooth_before(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()> {
        let a = self.a.as_ref();
        let _stage = ws.stage_of("pre-smoothing", || self.pre.moved(a, b.bytes(), true));
        self.pre.start(a, b, x, ws)
    }

    /// From `guess`, or else from what is in `x`.
    fn smooth_after(
        &self,
        b: &Vector<W>,
        guess: Option<&mut Vector<W>>,
        x: &mut Vector<W>,
        ws: &Workspace,
    ) -> Result<()> {
        let a = self.a.as_ref();
        let _stage = ws.stage_of("post-smoothing", || self.post.moved(a, b.bytes(), false));
        match guess {
            Some(guess) => self.post.improve_beside(a, b, guess, x, ws),
            None => self.post.improve(a, b, x, ws),
        }
    }
}

impl<W: Scalar, C: Scalar> LinOp<W> for Level<W, C> {
    fn size(&self) -> Size {
        self.a.size()
    }

    fn executor(&self) -> &Executor {
        self.a.executor()
    }

    fn apply(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()> {
        check_apply("multigrid cycle", self.size(), self.executor(), b, x)?;
        if self.post.ends_beside() {
            let mut guess = ws.vector_like::<W, W>(b)?;
            self.guess(b, &mut guess, ws)?;
            self.smooth_after(b, Some(&mut guess), x, ws)?;
        } else {
            self.guess(b, x, ws)?;
            self.smooth_after(b, None, x, ws)?;
        }
        self.check(0, "smoothing after the correction", x, ws)
    }

    /// What is held beside the matrix of this level itself.
    fn footprint(&self) -> Footprint {
        let products = self.pre.sweeps + self.post.sweeps;
        let smoothing = self.pre.footprint().moved + self.post.footprint().moved;
        let (r, p) = (self.restrict.footprint(), self.prolong.footprint());
        let coarse = self.coarse.footprint();
        let smoothers = self.pre.footprint().held + self.post.held_beside(&self.pre);
        Footprint {
            held: r.held + p.held + smoothers + coarse.held,
            moved: products * self.a.footprint().moved
                + smoothing
                + r.moved
                + p.moved
                + coarse.moved,
        }
    }
}
