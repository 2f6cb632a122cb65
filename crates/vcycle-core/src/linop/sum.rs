//! Sums and multiples of operators.

use std::borrow::Cow;

use super::{Footprint, LinOp, Transpose, check_size};
use crate::prelude::*;

/// `alpha A + beta B + ...`, any number of terms, or `alpha A` alone.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, matrix::Csr, vector::Vector,
///              linop::{Identity, LinOp, Product, Sum, Transpose, Transposed}};
/// let cpu = Executor::cpu();
/// let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0]));
/// let twice = Arc::new(Sum::scaled(2.0, Arc::clone(&a)));
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
    /// One at least.
    terms: Vec<Term<T>>,
}

/// A coefficient and its operator.
type Term<T> = (<T as Scalar>::Arith, Arc<dyn LinOp<T>>);

impl<T: Scalar> Sum<T> {
    /// The sum of operators with their coefficients.
    ///
    /// # Errors
    /// Without terms, and for operators of different size or on different executors.
    pub fn new(terms: Vec<(T::Arith, Arc<dyn LinOp<T>>)>) -> Result<Self> {
        let Some((_, first)) = terms.first() else {
            return Err(Error::bad_parameter("terms", "a sum needs at least one"));
        };
        for (_, operator) in &terms {
            check_size("sum of operators", first.size(), operator.size())?;
            let executor = first.executor();
            executor.check_same(operator.executor(), "sum of operators")?;
        }
        Ok(Self { terms })
    }

    /// `alpha A`.
    pub fn scaled(alpha: T::Arith, a: Arc<dyn LinOp<T>>) -> Self {
        let terms = vec![(alpha, a)];
        Self { terms }
    }
}

impl<T: Scalar> LinOp<T> for Sum<T> {
    fn size(&self) -> Size {
        self.terms[0].1.size()
    }

    fn executor(&self) -> &Executor {
        self.terms[0].1.executor()
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
        for (factor, operator) in &self.terms {
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
        let (factor, first) = &self.terms[0];
        first.apply_transposed(mode, x, y, ws)?;
        y.scale(Coefficient::constant(mode.of(*factor)))?;
        for (factor, operator) in &self.terms[1..] {
            let mut part = ws.vector_like::<T, T>(y)?;
            operator.apply_transposed(mode, x, &mut part, ws)?;
            y.axpy(Coefficient::constant(mode.of(*factor)), &part)?;
        }
        Ok(())
    }

    fn csr(&self) -> Option<Cow<'_, Csr<T>>> {
        let (factor, operator) = &self.terms[0];
        let mut sum = operator.csr()?.scale(*factor).ok()?;
        for (factor, operator) in &self.terms[1..] {
            let one = num_traits::One::one();
            sum = sum.add(one, *factor, operator.csr()?.as_ref()).ok()?;
        }
        Some(Cow::Owned(sum))
    }

    fn footprint(&self) -> Footprint {
        self.terms.iter().map(|term| term.1.footprint()).sum()
    }
}
