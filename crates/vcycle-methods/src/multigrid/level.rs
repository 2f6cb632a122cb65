//! One level of a hierarchy and all below it, as an operator.

use super::operations::{Guess, Operations};
use crate::linop::check_apply;
use crate::prelude::*;

/// A multigrid cycle from this level down: smooth, correct by the coarser level, smooth.
///
/// Vectors of this level are stored in `W`, those of the next in `C`; the transfer operators
/// convert on the way. Applied to `b` it is one cycle from a zero guess, a fixed linear operator
/// if all its parts are, symmetric if the second smoother is the adjoint of the first and the
/// restriction that of the prolongation.
#[derive(Clone, Debug)]
pub struct Level<W: Scalar, C: Scalar = W> {
    /// What is done on this level.
    pub operations: Arc<dyn Operations<W, C>>,
    /// Approximates the inverse of the next level's matrix.
    pub coarse: Arc<dyn LinOp<C>>,
    /// Whether anything is done but the correction.
    pub smooths: bool,
    /// 0 for the finest level.
    pub number: usize,
    /// What profiles call the next level.
    pub below: String,
}

impl<W: Scalar, C: Scalar> Level<W, C> {
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
        match self.smooths {
            true => self.operations.smooth_from_zero(b, x, ws)?,
            false => x.fill(W::default())?,
        }
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
        let guess = match self.smooths {
            true => Guess::Smoothed(&*x),
            false => Guess::Zero(&*x),
        };
        let operations = &self.operations;
        operations.restrict_residual(b, guess, &mut restricted, &mut norms, ws)?;
        self.check(0, "restriction", &restricted, ws)?;
        self.visit(&restricted, &mut correction, ws)?;
        self.check(1, "coarsest solver", &correction, ws)?;
        operations.add_prolonged(&correction, &norms, x, ws)
    }

    fn visit(&self, b: &Vector<C>, x: &mut Vector<C>, ws: &Workspace) -> Result<()> {
        let _stage = ws.stage_of(&self.below, || self.coarse.footprint().moved);
        self.coarse.apply(b, x, ws)
    }
}

impl<W: Scalar, C: Scalar> LinOp<W> for Level<W, C> {
    fn size(&self) -> Size {
        self.operations.matrix().size()
    }

    fn executor(&self) -> &Executor {
        self.operations.matrix().executor()
    }

    fn apply(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()> {
        check_apply("multigrid cycle", self.size(), self.executor(), b, x)?;
        if !self.smooths {
            self.guess(b, x, ws)?;
        } else if self.operations.prefers_out_of_place() {
            let mut guess = ws.vector_like::<W, W>(b)?;
            self.guess(b, &mut guess, ws)?;
            self.operations.smooth_out_of_place(b, &mut guess, x, ws)?;
        } else {
            self.guess(b, x, ws)?;
            self.operations.smooth(b, x, ws)?;
        }
        self.check(0, "smoothing after the correction", x, ws)
    }

    fn label(&self) -> &'static str {
        "amg"
    }

    fn footprint(&self) -> Footprint {
        [self.operations.footprint(), self.coarse.footprint()]
            .into_iter()
            .sum()
    }
}
