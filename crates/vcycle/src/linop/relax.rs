//! Sweeps of a relaxation.

use super::check_apply;
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::Size;
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};

/// A sweep of a relaxation with a diagonal matrix `d`, which makes a new guess from the last ones:
///
/// `y = alpha d (b - A x) + beta x + gamma y`
///
/// Jacobi's iteration from `x` to `y` has `alpha = beta = 1`; methods of two steps, as Chebyshev's,
/// find the guess before `x` in `y`.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a, T> {
    /// The right-hand side.
    pub b: &'a Vector<T>,
    /// One number a row.
    pub d: &'a Vector<T>,
    /// The weight of the residual.
    pub alpha: f64,
    /// The weight of the guess.
    pub beta: f64,
    /// The weight of the guess before it; where zero, the old contents of `y` are not read.
    pub gamma: f64,
}

impl<T: Scalar> Sweep<'_, T> {
    /// Fails unless the sweep fits a matrix of `size` and vectors.
    pub(crate) fn check<X: Scalar>(&self, size: Size, x: &Vector<X>, y: &Vector<T>) -> Result<()> {
        let (executor, one) = (y.executor(), Size::new(size.rows, 1));
        super::check_size("relaxation", Size::square(size.rows), size)?;
        super::check_size("relaxation", one, self.d.size())?;
        check_apply("relaxation", size, executor, x, y)?;
        check_apply("relaxation", size, executor, x, self.b)?;
        executor.check_same(self.d.executor(), "relaxation")
    }

    /// The sweep with an operator of some size, made of its residual `b - A x`.
    pub(crate) fn compose<X: Scalar>(
        &self,
        size: Size,
        residual: &dyn Fn(&mut Vector<T>) -> Result<()>,
        x: &Vector<X>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()>
    where
        T: Mixes<T, T>,
    {
        self.check(size, x, y)?;
        let mut r = ws.vector_like::<T, T>(y)?;
        r.copy_from(x)?;
        y.axpby(
            Coefficient::real(self.beta),
            &r,
            Coefficient::real(self.gamma),
        )?;
        residual(&mut r)?;
        let (alpha, d) = (Coefficient::real(self.alpha), (self.d, false));
        y.combine_rows(alpha, d, &r, Coefficient::one())
    }
}
