//! Smoothers: they reduce the error that the next level cannot represent.
//!
//! A sweep is `x += M (b - A x)` with any approximate inverse `M`: the operator of any
//! [`Factory`](crate::linop::Factory). The table of all is in `kind.rs`; the registrations are in `preconditioners.rs`
//! or in a file of their own.

mod damped;
mod kind;
mod preconditioners;
mod registration;
#[cfg(test)]
mod richardson;

use std::fmt::{Display, Formatter};

pub use kind::{Smooth, Smoother};
pub use registration::SmootherEntry;

use crate::prelude::*;

/// The smoothing of one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothing {
    /// Before the correction.
    pub pre: Smoother,
    /// After the correction.
    pub post: Smoother,
    /// How often each of them.
    pub sweeps: [usize; 2],
}

impl Smoothing {
    /// Whether sweeps consist of products with the matrix and a diagonal alone.
    pub(in crate::multigrid) fn multiplies_alone(&self) -> bool {
        self.pre.multiplies_alone() && self.post.multiplies_alone()
    }
}

impl Display for Smoothing {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let [before, after] = self.sweeps;
        match self.pre == self.post {
            true => write!(f, "{} {before}+{after}", self.pre),
            false => write!(f, "{} {before}, {} {after}", self.pre, self.post),
        }
    }
}

/// The adjoint of operators on vectors of `T`.
fn adjoint<T: Scalar>() -> Transpose {
    match T::KIND.is_complex() {
        true => Transpose::Conjugate,
        false => Transpose::Plain,
    }
}

/// Sweeps of a smoother bound to a matrix.
#[derive(Clone, Debug)]
pub struct Relaxation<T: Scalar> {
    /// Approximates the inverse of the matrix.
    pub m: Arc<dyn LinOp<T>>,
    /// How many sweeps are made.
    pub sweeps: usize,
    /// Whether `M^H` takes the place of `M`, so that the sweeps are the adjoint of those without.
    pub transposed: bool,
}

impl<T: Scalar> Relaxation<T> {
    /// Sweeps from a zero guess; the first needs no product. The old contents of `x` are not read.
    ///
    /// # Errors
    /// When an operator fails.
    pub fn start(
        &self,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        if self.sweeps == 0 {
            return x.fill(T::default());
        }
        self.step(b, x, ws)?;
        self.sweep(self.sweeps - 1, a, b, x, ws)
    }

    /// Sweeps from the guess in `x`.
    ///
    /// # Errors
    /// When an operator fails.
    pub fn improve(
        &self,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.sweep(self.sweeps, a, b, x, ws)
    }

    /// Whether [`improve_out_of_place`](Self::improve_out_of_place) is to be preferred.
    pub(super) fn prefers_out_of_place(&self) -> bool {
        !self.transposed && self.m.prefers_out_of_place(self.sweeps)
    }

    /// Sweeps from `guess`, which is lost, to `x`.
    pub(super) fn improve_out_of_place(
        &self,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        guess: &mut Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.m.improve_out_of_place(self.sweeps, a, b, guess, x, ws)
    }

    fn sweep(
        &self,
        sweeps: usize,
        a: &dyn LinOp<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        if !self.transposed {
            return self.m.improve(sweeps, a, b, x, ws);
        }
        for _ in 0..sweeps {
            let mut r = ws.vector_like::<T, T>(b)?;
            let mut step = ws.vector_like::<T, T>(b)?;
            a.residual(b, x, &mut r, ws)?;
            self.step(&r, &mut step, ws)?;
            x.axpy(Coefficient::one(), &step)?;
        }
        Ok(())
    }

    /// `z = M r`.
    fn step(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        match self.transposed {
            false => self.m.apply(r, z, ws),
            true => self.m.apply_transposed(adjoint::<T>(), r, z, ws),
        }
    }

    /// Bytes that all sweeps move, those of vectors of `vector` bytes included.
    pub(super) fn moved(&self, a: &dyn LinOp<T>, vector: usize, from_zero: bool) -> usize {
        let products = self.sweeps.saturating_sub(usize::from(from_zero));
        self.sweeps * (self.m.footprint().moved + 2 * vector)
            + products * (a.footprint().moved + 6 * vector)
    }

    /// Bytes held, and moved by all sweeps without the products with the matrix.
    pub fn footprint(&self) -> Footprint {
        let once = self.m.footprint();
        Footprint::new(once.held, self.sweeps * once.moved)
    }

    /// Bytes held where `other` is held already.
    pub(super) fn held_beside(&self, other: &Self) -> usize {
        match Arc::ptr_eq(&self.m, &other.m) {
            true => 0,
            false => self.m.footprint().held,
        }
    }
}
