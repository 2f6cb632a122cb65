//! An operator given by closures.

use super::defaults::no_transpose;
use super::{LinOp, Transpose, check_apply};
use crate::prelude::*;

/// `y = A x`, written by the user.
type Apply<X, Y> = Box<dyn Fn(&Vector<X>, &mut Vector<Y>, &Workspace) -> Result<()> + Send + Sync>;
/// `y = A^T x` or `y = A^H x`, written by the user.
type ApplyTransposed<X, Y> =
    Box<dyn Fn(Transpose, &Vector<Y>, &mut Vector<X>, &Workspace) -> Result<()> + Send + Sync>;

/// An operator without entries: a closure that applies it and its size.
///
/// ```
/// use vcycle::{executor::{Executor, Workspace}, linop::{LinOp, MatrixFree, Size},
///              vector::Vector};
/// let cpu = Executor::cpu();
/// // Differences of neighbours.
/// let difference = MatrixFree::<f64>::new(&cpu, Size::new(2, 3), |x, y, _| {
///     let x = x.host()?;
///     for (row, y) in y.host_mut()?.iter_mut().enumerate() {
///         *y = x[row + 1] - x[row];
///     }
///     Ok(())
/// });
/// let mut y = Vector::zeros(&cpu, 2, 1)?;
/// let x = Vector::from_column(&cpu, vec![1.0, 3.0, 7.0]);
/// difference.apply(&x, &mut y, &Workspace::new())?;
/// assert_eq!(y.to_vec(), [2.0, 4.0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
pub struct MatrixFree<X: Scalar, Y: Scalar = X> {
    executor: Executor,
    size: Size,
    apply: Apply<X, Y>,
    transposed: Option<ApplyTransposed<X, Y>>,
}

impl<X: Scalar, Y: Scalar> MatrixFree<X, Y> {
    /// An operator of `size` that `apply(x, y, ws)` applies. The closure gets vectors that fit,
    /// of one or many columns, and overwrites `y`.
    pub fn new(
        executor: &Executor,
        size: Size,
        apply: impl Fn(&Vector<X>, &mut Vector<Y>, &Workspace) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            executor: executor.clone(),
            size,
            apply: Box::new(apply),
            transposed: None,
        }
    }

    /// Adds the transposed application, for methods that need it.
    #[must_use]
    pub fn with_transposed(
        mut self,
        transposed: impl Fn(Transpose, &Vector<Y>, &mut Vector<X>, &Workspace) -> Result<()>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.transposed = Some(Box::new(transposed));
        self
    }
}

impl<X: Scalar, Y: Scalar> std::fmt::Debug for MatrixFree<X, Y> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "matrix-free operator of {}", self.size)
    }
}

impl<X: Scalar, Y: Scalar> LinOp<X, Y> for MatrixFree<X, Y> {
    fn size(&self) -> Size {
        self.size
    }

    fn executor(&self) -> &Executor {
        &self.executor
    }

    fn apply(&self, x: &Vector<X>, y: &mut Vector<Y>, ws: &Workspace) -> Result<()> {
        check_apply("matrix-free product", self.size, &self.executor, x, y)?;
        (self.apply)(x, y, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<Y>,
        y: &mut Vector<X>,
        ws: &Workspace,
    ) -> Result<()> {
        let size = self.size.transposed();
        check_apply("matrix-free product", size, &self.executor, x, y)?;
        match &self.transposed {
            Some(transposed) => transposed(mode, x, y, ws),
            None => Err(no_transpose(self.label())),
        }
    }

    fn label(&self) -> &'static str {
        "a matrix-free operator"
    }
}
