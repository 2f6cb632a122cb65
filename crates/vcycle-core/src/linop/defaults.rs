//! What [`LinOp`] does by default. The operator is behind closures, so that this is compiled for the types of
//! vectors and not once more for every operator.

use vcycle_kernels::compiled_fn;

use super::{LinOp, check_apply, check_size};
use crate::arrays::Sweep;
use crate::prelude::*;

compiled_fn! {
    /// `y = alpha A x + beta y`, where `apply` makes `A x`.
    pub(super) fn apply_advanced[any Y: Scalar](
        apply: &dyn Fn(&mut Vector<Y>) -> Result<()>,
        alpha: Coefficient<'_, Y>,
        beta: Coefficient<'_, Y>,
        y: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        let mut product = ws.vector_like::<Y, Y>(y)?;
        apply(&mut product)?;
        y.axpby(alpha, &product, beta)
    }
}

/// Adds the product with the first vector to the second.
type Add<'a, X, Y> = &'a dyn Fn(&Vector<X>, &mut Vector<Y>) -> Result<()>;

compiled_fn! {
    /// `sweeps` times `x += M (b - A x)`, where `add` adds `M r` to `x`.
    pub(super) fn improve[any X: Scalar, Y: Scalar](
        add: Add<'_, X, Y>,
        sweeps: usize,
        a: &dyn LinOp<Y, X>,
        b: &Vector<X>,
        x: &mut Vector<Y>,
        ws: &Workspace,
    ) -> Result<()> {
        let mut r = ws.vector_like::<X, X>(b)?;
        for _ in 0..sweeps {
            a.residual(b, x, &mut r, ws)?;
            add(&r, x)?;
        }
        Ok(())
    }
}

/// The error of an operator that cannot be transposed.
#[cold]
pub(super) fn no_transpose(label: &str) -> Error {
    Error::unsupported(label, "transposed application")
}

/// The name of a type without its modules and parameters.
pub(super) fn type_name(path: &'static str) -> &'static str {
    let plain = path.split('<').next().unwrap_or(path);
    plain.rsplit("::").next().unwrap_or(plain)
}

impl<T: Scalar> Sweep<'_, T> {
    /// Fails unless the sweep fits a matrix of `size` and vectors.
    #[doc(hidden)]
    pub fn check<X: Scalar>(&self, size: Size, x: &Vector<X>, y: &Vector<T>) -> Result<()> {
        let (executor, one) = (y.executor(), Size::new(size.rows, 1));
        check_size("relaxation", Size::square(size.rows), size)?;
        check_size("relaxation", one, self.d.size())?;
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
