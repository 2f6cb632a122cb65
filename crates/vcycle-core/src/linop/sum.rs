//! Sums and multiples of operators.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Footprint, LinOp, Size, Transpose, check_size};
use crate::arrays::Csr;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::scalar::Scalar;
use crate::vector::{Coefficient, Vector};
use crate::workspace::Workspace;

/// `alpha A + beta B + ...`, any number of terms.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, matrix::Csr, vector::Vector,
///              linop::{Identity, LinOp, Product, Scaled, Sum, Transpose, Transposed}};
/// let cpu = Executor::cpu();
/// let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0]));
/// let twice = Arc::new(Scaled::new(2.0, Arc::clone(&a)));
/// let normal = Product::new(vec![Arc::new(Transposed::new(a, Transpose::Plain)), twice])?;
/// let shifted = Sum::new(vec![(1.0, Arc::new(normal)), (0.5, Arc::new(Identity::new(&cpu, 2)))])?;
/// let x = Vector::<f64>::filled(&cpu, 2, 1, 1.0)?;
/// let mut y = Vector::zeros_like(&x)?;
/// shifted.apply(&x, &mut y, &Workspace::new())?;
/// assert_eq!(y.to_vec(), [2.5, 8.5]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sum<T: Scalar> {
    first: Term<T>,
    rest: Vec<Term<T>>,
}

/// A coefficient and its operator.
type Term<T> = (<T as Scalar>::Arith, Arc<dyn LinOp<T>>);

impl<T: Scalar> Sum<T> {
    /// The sum of operators with their coefficients.
    ///
    /// # Errors
    /// Without terms, and for operators of different size or on different executors.
    pub fn new(terms: Vec<(T::Arith, Arc<dyn LinOp<T>>)>) -> Result<Self> {
        let mut rest = terms;
        if rest.is_empty() {
            return Err(Error::bad_parameter("terms", "a sum needs at least one"));
        }
        let first = rest.remove(0);
        for (_, operator) in &rest {
            check_size("sum of operators", first.1.size(), operator.size())?;
            let executor = operator.executor();
            first
                .1
                .executor()
                .check_same(executor, "sum of operators")?;
        }
        Ok(Self { first, rest })
    }

    fn terms(&self) -> impl Iterator<Item = &Term<T>> {
        std::iter::once(&self.first).chain(&self.rest)
    }
}

impl<T: Scalar> LinOp<T> for Sum<T> {
    fn size(&self) -> Size {
        self.first.1.size()
    }

    fn executor(&self) -> &Executor {
        self.first.1.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.apply_advanced(Coefficient::one(), x, Coefficient::zero(), y, ws)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        mut beta: Coefficient<'_, T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        for (factor, operator) in self.terms() {
            operator.apply_advanced(alpha.scaled(*factor), x, beta, y, ws)?;
            beta = Coefficient::one();
        }
        Ok(())
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        let mut part = ws.vector_like::<T, T>(y)?;
        let mut beta = Coefficient::zero();
        for (factor, operator) in self.terms() {
            operator.apply_transposed(mode, x, &mut part, ws)?;
            y.axpby(Coefficient::constant(mode.of(*factor)), &part, beta)?;
            beta = Coefficient::one();
        }
        Ok(())
    }

    fn csr(&self) -> Option<Cow<'_, Csr<T>>> {
        let (factor, operator) = &self.first;
        let mut sum = operator.csr()?.scale(*factor).ok()?;
        for (factor, operator) in &self.rest {
            let one = num_traits::One::one();
            sum = sum.add(one, *factor, operator.csr()?.as_ref()).ok()?;
        }
        Some(Cow::Owned(sum))
    }

    fn footprint(&self) -> Footprint {
        self.terms().map(|term| term.1.footprint()).sum()
    }
}

/// `alpha A`.
#[derive(Clone, Debug)]
pub struct Scaled<T: Scalar> {
    alpha: T::Arith,
    a: Arc<dyn LinOp<T>>,
}

impl<T: Scalar> Scaled<T> {
    /// `alpha` times `a`.
    pub fn new(alpha: T::Arith, a: Arc<dyn LinOp<T>>) -> Self {
        Self { alpha, a }
    }
}

impl<T: Scalar> LinOp<T> for Scaled<T> {
    fn size(&self) -> Size {
        self.a.size()
    }

    fn executor(&self) -> &Executor {
        self.a.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.apply_advanced(Coefficient::one(), x, Coefficient::zero(), y, ws)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        beta: Coefficient<'_, T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.a
            .apply_advanced(alpha.scaled(self.alpha), x, beta, y, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.a.apply_transposed(mode, x, y, ws)?;
        y.scale(Coefficient::constant(mode.of(self.alpha)))
    }

    fn csr(&self) -> Option<Cow<'_, Csr<T>>> {
        self.a.csr()?.scale(self.alpha).ok().map(Cow::Owned)
    }

    fn footprint(&self) -> Footprint {
        self.a.footprint()
    }
}
