//! Sweeps of a relaxation.

use super::check_apply;
use crate::arrays::Sweep;
use crate::error::Result;
use crate::linop::Size;
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};
use crate::workspace::Workspace;

impl<T: Scalar> Sweep<'_, T> {
    /// Fails unless the sweep fits a matrix of `size` and vectors.
    #[doc(hidden)]
    pub fn check<X: Scalar>(&self, size: Size, x: &Vector<X>, y: &Vector<T>) -> Result<()> {
        let (executor, one) = (y.executor(), Size::new(size.rows, 1));
        super::check_size("relaxation", Size::square(size.rows), size)?;
        super::check_size("relaxation", one, self.d.size())?;
        check_apply("relaxation", size, executor, x, y)?;
        check_apply("relaxation", size, executor, x, self.b)?;
        executor.check_same(self.d.executor(), "relaxation")
    }

    /// The sweep with an operator of some size, made of its residual `b - A x`.
    #[doc(hidden)]
    pub fn compose<X: Scalar>(
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
