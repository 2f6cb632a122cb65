//! What a cycle does on one level.

use std::fmt::Debug;

use super::smooth::Relaxation;
use crate::prelude::*;

/// The operations of a [cycle](super::Level) on one level, whose vectors are stored in `W`; those of the
/// next level are stored in `C`.
///
/// [`Composed`] makes them of operators. Levels on structured grids have kernels that do several of them in
/// one pass over the matrix.
pub trait Operations<W: Scalar, C: Scalar = W>: Debug + Send + Sync {
    /// The matrix, for the unknowns that the vectors of this level hold.
    fn matrix(&self) -> &Arc<dyn LinOp<W>>;

    /// Smooths before the correction, from a zero guess. The old contents of `x` are not read.
    ///
    /// # Errors
    /// When an operator fails.
    fn smooth_from_zero(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()>;

    /// Smooths after the correction, from the guess in `x`.
    ///
    /// # Errors
    /// When an operator fails.
    fn smooth(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()>;

    /// Whether [`smooth_out_of_place`](Self::smooth_out_of_place) is to be preferred to [`smooth`](Self::smooth).
    fn prefers_out_of_place(&self) -> bool {
        false
    }

    /// What [`smooth`](Self::smooth) makes of `guess`, in `x`; the guess is lost.
    ///
    /// # Errors
    /// When an operator fails.
    fn smooth_out_of_place(
        &self,
        b: &Vector<W>,
        guess: &mut Vector<W>,
        x: &mut Vector<W>,
        ws: &Workspace,
    ) -> Result<()> {
        x.copy_from(guess)?;
        self.smooth(b, x, ws)
    }

    /// `restricted = R (b - A x)`. A level may divide it by norms, which it writes then and multiplies corrections
    /// by.
    ///
    /// # Errors
    /// When an operator fails.
    fn restrict_residual(
        &self,
        b: &Vector<W>,
        x: Guess<'_, W>,
        restricted: &mut Vector<C>,
        norms: &mut Scalars<W>,
        ws: &Workspace,
    ) -> Result<()>;

    /// `x += P correction`, times the norms that [`restrict_residual`](Self::restrict_residual) wrote.
    ///
    /// # Errors
    /// When an operator fails.
    fn add_prolonged(
        &self,
        correction: &Vector<C>,
        norms: &Scalars<W>,
        x: &mut Vector<W>,
        ws: &Workspace,
    ) -> Result<()>;

    /// Bytes held, and moved by all of these operations once.
    fn footprint(&self) -> Footprint;
}

/// What the residual of a level is that of.
#[derive(Clone, Copy, Debug)]
pub enum Guess<'x, W: Scalar> {
    /// A vector of zeros.
    Zero(&'x Vector<W>),
    /// What [`smooth_from_zero`](Operations::smooth_from_zero) made.
    Smoothed(&'x Vector<W>),
}

/// The operations of a level made of operators.
#[derive(Clone, Debug)]
pub struct Composed<W: Scalar, C: Scalar> {
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
    /// Whether residuals are divided by their norm on the way to the next level, and corrections
    /// multiplied by it: small ones would become zero in half precision.
    pub normalised: bool,
    /// What corrections are multiplied by where the next level has another scale.
    pub gain: f64,
}

impl<W: Scalar, C: Scalar> Composed<W, C> {
    fn residual(
        &self,
        b: &Vector<W>,
        x: Guess<'_, W>,
        r: &mut Vector<W>,
        ws: &Workspace,
    ) -> Result<()> {
        match x {
            Guess::Zero(_) => r.copy_from(b),
            Guess::Smoothed(x) => {
                let moved = || self.a.footprint().moved + 3 * b.bytes();
                let _stage = ws.stage_of("residual", moved);
                self.a.residual(b, x, r, ws)
            }
        }
    }

    fn restrict(&self, r: &Vector<W>, restricted: &mut Vector<C>, ws: &Workspace) -> Result<()> {
        let moved = || self.restrict.footprint().moved + r.bytes() + restricted.bytes();
        let _stage = ws.stage_of("restriction", moved);
        self.restrict.apply(r, restricted, ws)
    }
}

impl<W: Scalar, C: Scalar> Operations<W, C> for Composed<W, C> {
    fn matrix(&self) -> &Arc<dyn LinOp<W>> {
        &self.a
    }

    fn smooth_from_zero(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()> {
        let a = self.a.as_ref();
        let _stage = ws.stage_of("pre-smoothing", || self.pre.moved(a, b.bytes(), true));
        self.pre.start(a, b, x, ws)
    }

    fn smooth(&self, b: &Vector<W>, x: &mut Vector<W>, ws: &Workspace) -> Result<()> {
        let a = self.a.as_ref();
        let _stage = ws.stage_of("post-smoothing", || self.post.moved(a, b.bytes(), false));
        self.post.improve(a, b, x, ws)
    }

    fn prefers_out_of_place(&self) -> bool {
        self.post.prefers_out_of_place()
    }

    fn smooth_out_of_place(
        &self,
        b: &Vector<W>,
        guess: &mut Vector<W>,
        x: &mut Vector<W>,
        ws: &Workspace,
    ) -> Result<()> {
        let a = self.a.as_ref();
        let _stage = ws.stage_of("post-smoothing", || self.post.moved(a, b.bytes(), false));
        self.post.improve_out_of_place(a, b, guess, x, ws)
    }

    fn restrict_residual(
        &self,
        b: &Vector<W>,
        x: Guess<'_, W>,
        restricted: &mut Vector<C>,
        norms: &mut Scalars<W>,
        ws: &Workspace,
    ) -> Result<()> {
        let x = match x {
            Guess::Smoothed(x) if self.pre.sweeps == 0 => Guess::Zero(x),
            other => other,
        };
        if let (Guess::Zero(_), false) = (x, self.normalised) {
            return self.restrict(b, restricted, ws);
        }
        let mut r = ws.vector_like::<W, W>(b)?;
        self.residual(b, x, &mut r, ws)?;
        if self.normalised {
            r.norm(norms)?;
            r.scale(Coefficient::one().over(norms))?;
        }
        self.restrict(&r, restricted, ws)
    }

    fn add_prolonged(
        &self,
        correction: &Vector<C>,
        norms: &Scalars<W>,
        x: &mut Vector<W>,
        ws: &Workspace,
    ) -> Result<()> {
        let size = match self.normalised {
            true => Coefficient::of(norms).scaled(W::Arith::from_f64(self.gain)),
            false => Coefficient::real(self.gain),
        };
        let moved = || self.prolong.footprint().moved + correction.bytes() + 2 * x.bytes();
        let _stage = ws.stage_of("prolongation", moved);
        self.prolong
            .apply_advanced(size, correction, Coefficient::one(), x, ws)
    }

    /// What is held beside the matrix itself.
    fn footprint(&self) -> Footprint {
        let products = self.pre.sweeps + self.post.sweeps;
        let smoothing = self.pre.footprint().moved + self.post.footprint().moved;
        let (r, p) = (self.restrict.footprint(), self.prolong.footprint());
        let smoothers = self.pre.footprint().held + self.post.held_beside(&self.pre);
        Footprint {
            held: r.held + p.held + smoothers,
            moved: products * self.a.footprint().moved + smoothing + r.moved + p.moved,
        }
    }
}
