//! An operator of one precision where another is expected.

use std::borrow::Cow;
use std::marker::PhantomData;

use super::{Factory, LinOp, Transpose, check_apply, entries};
use crate::forward;
use crate::prelude::*;

/// An operator on vectors of `S`, used on vectors of `T`: the input is converted, the operator
/// applied and its output converted back.
///
/// **Choose it** to let a preconditioner in single precision serve a solver in double; matrices
/// need it not, a [`Csr`] maps vectors of any precision itself. [`InPrecision`] does the same for
/// a factory.
#[derive(Clone, Debug)]
pub struct Converted<S: Scalar, T: Scalar> {
    inner: Arc<dyn LinOp<S>>,
    outer: PhantomData<fn(T) -> T>,
}

impl<S: Scalar, T: Scalar> Converted<S, T> {
    /// Wraps an operator.
    ///
    /// # Errors
    /// When one type is real and the other complex: the way back or forth would lose a part.
    pub fn new(inner: Arc<dyn LinOp<S>>) -> Result<Self> {
        if S::KIND.is_complex() != T::KIND.is_complex() {
            return Err(Error::Conversion {
                from: T::KIND,
                to: S::KIND,
            });
        }
        Ok(Self {
            inner,
            outer: PhantomData,
        })
    }

    /// Converts `x`, lets `inner` write to scratch and converts that to `y`.
    fn through(
        &self,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
        inner: Inner<'_, S>,
    ) -> Result<()> {
        let mut input = ws.vector_like::<S, T>(x)?;
        let mut output = ws.vector_like::<S, T>(y)?;
        input.copy_from(x)?;
        inner(&input, &mut output)?;
        y.copy_from(&*output)
    }
}

/// An application of the operator inside.
type Inner<'a, S> = &'a dyn Fn(&Vector<S>, &mut Vector<S>) -> Result<()>;

impl<S: Scalar, T: Scalar> LinOp<T> for Converted<S, T> {
    forward!(inner: size, executor, footprint);

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        check_apply("converted operator", self.size(), self.executor(), x, y)?;
        self.through(x, y, ws, &|x, y| self.inner.apply(x, y, ws))
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let size = self.size().transposed();
        check_apply("converted operator", size, self.executor(), x, y)?;
        self.through(x, y, ws, &|x, y| {
            self.inner.apply_transposed(mode, x, y, ws)
        })
    }

    fn csr(&self) -> Option<Cow<'_, Csr<T>>> {
        self.inner.csr()?.convert().ok().map(Cow::Owned)
    }
}

/// Makes operators in precision `S` for matrices of any precision.
///
/// The matrix is converted, the inner factory applied, and its operator [`Converted`] back.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, linop::InPrecision, matrix::Csr, precond::Jacobi,
///              solver::{Cg, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let single = InPrecision::<f32>::new(Arc::new(Jacobi::default()));
/// let solver = Solver::<f64>::new(Cg::default(), a)?.preconditioned_by(&single)?;
/// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
/// let mut x = Vector::zeros_like(&b)?;
/// assert!(solver.solve(&b, &mut x)?.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct InPrecision<S: Scalar> {
    inner: Arc<dyn Factory<S>>,
}

impl<S: Scalar> InPrecision<S> {
    /// Lets `inner` work in precision `S`.
    pub fn new(inner: Arc<dyn Factory<S>>) -> Self {
        Self { inner }
    }
}

impl<S: Mixes<S, S>, T: Scalar> Factory<T> for InPrecision<S> {
    /// # Errors
    /// When the matrix has no entries, one of them exceeds the range of `S`, or one of the types
    /// is complex and the other is not.
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let narrow: Csr<S> = entries(a.as_ref(), "conversion")?.convert()?;
        narrow.check_finite()?;
        let narrow: Arc<dyn LinOp<S>> = Arc::new(narrow);
        let made = self.inner.generate(&narrow, ws)?;
        Ok(Arc::new(Converted::new(made)?))
    }
}
