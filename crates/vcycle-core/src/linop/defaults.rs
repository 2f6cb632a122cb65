//! What [`LinOp`] does by default. The operator is behind closures, so that this is compiled for the types of
//! vectors and not once more for every operator.

use vcycle_kernels::compiled_fn;

use super::LinOp;
use crate::error::{Error, Result};
use crate::scalar::Scalar;
use crate::vector::{Coefficient, Vector};
use crate::workspace::Workspace;

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
    Error::Unsupported {
        component: label.to_owned(),
        operation: "transposed application".to_owned(),
    }
}

/// The name of a type without its modules and parameters.
pub(super) fn type_name(path: &'static str) -> &'static str {
    let plain = path.split('<').next().unwrap_or(path);
    plain.rsplit("::").next().unwrap_or(plain)
}
