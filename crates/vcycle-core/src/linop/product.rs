//! Products of operators.

use std::borrow::Cow;

use super::{Footprint, LinOp, Transpose, check_apply, check_size};
use crate::prelude::*;

/// `A B C ...`, any number of factors, applied from the right one after the other.
///
/// Intermediate vectors come from the workspace. The product matrix itself is formed only where a
/// component asks for its entries.
#[derive(Clone, Debug)]
pub struct Product<T: Scalar> {
    factors: Vec<Arc<dyn LinOp<T>>>,
}

impl<T: Scalar> Product<T> {
    /// The product of operators, from left to right.
    ///
    /// # Errors
    /// Without factors, for neighbours that do not fit, and for different executors.
    pub fn new(factors: Vec<Arc<dyn LinOp<T>>>) -> Result<Self> {
        if factors.is_empty() {
            return Err(Error::bad_parameter(
                "factors",
                "a product needs at least one",
            ));
        }
        for pair in factors.windows(2) {
            let fitting = Size::new(pair[0].size().cols, pair[1].size().cols);
            check_size("product of operators", fitting, pair[1].size())?;
            let (left, right) = (pair[0].executor(), pair[1].executor());
            left.check_same(right, "product of operators")?;
        }
        Ok(Self { factors })
    }

    fn first(&self) -> &dyn LinOp<T> {
        self.factors[0].as_ref()
    }

    fn last(&self) -> &dyn LinOp<T> {
        self.factors[self.factors.len() - 1].as_ref()
    }

    /// `B C ... x`, all but the first factor; `None` is `x` itself.
    fn inner<'w>(
        &self,
        x: &Vector<T>,
        ws: &'w Workspace,
    ) -> Result<Option<Scratch<'w, Vector<T>>>> {
        let mut current: Option<Scratch<'w, Vector<T>>> = None;
        for factor in self.factors[1..].iter().rev() {
            let mut next = ws.vector(x.executor(), factor.size().rows, x.cols())?;
            factor.apply(current.as_deref().unwrap_or(x), &mut next, ws)?;
            current = Some(next);
        }
        Ok(current)
    }

    fn check(&self, size: Size, x: &Vector<T>, y: &Vector<T>) -> Result<()> {
        check_apply("product of operators", size, self.executor(), x, y)
    }
}

impl<T: Scalar> LinOp<T> for Product<T> {
    fn size(&self) -> Size {
        Size::new(self.first().size().rows, self.last().size().cols)
    }

    fn executor(&self) -> &Executor {
        self.first().executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        self.check(self.size(), x, y)?;
        let inner = self.inner(x, ws)?;
        self.first().apply(inner.as_deref().unwrap_or(x), y, ws)
    }

    fn apply_advanced(
        &self,
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        beta: Coefficient<'_, T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.check(self.size(), x, y)?;
        let inner = self.inner(x, ws)?;
        let x = inner.as_deref().unwrap_or(x);
        self.first().apply_advanced(alpha, x, beta, y, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.check(self.size().transposed(), x, y)?;
        let mut current: Option<Scratch<'_, Vector<T>>> = None;
        for factor in &self.factors[..self.factors.len() - 1] {
            let mut next = ws.vector(x.executor(), factor.size().cols, x.cols())?;
            factor.apply_transposed(mode, current.as_deref().unwrap_or(x), &mut next, ws)?;
            current = Some(next);
        }
        self.last()
            .apply_transposed(mode, current.as_deref().unwrap_or(x), y, ws)
    }

    fn csr(&self) -> Option<Cow<'_, Csr<T>>> {
        let mut product = self.last().csr()?;
        for factor in self.factors.iter().rev().skip(1) {
            product = Cow::Owned(factor.csr()?.multiply(&product).ok()?);
        }
        Some(product)
    }

    fn footprint(&self) -> Footprint {
        self.factors.iter().map(|factor| factor.footprint()).sum()
    }

    fn is_identity(&self) -> bool {
        self.factors.iter().all(|factor| factor.is_identity())
    }
}
