//! State that a method keeps on the host for each right-hand side.

use std::ops::{Deref, DerefMut};

use num_traits::Zero;

use crate::executor::Pooled;
use crate::prelude::*;

/// One `S` a column, fed from and written to [`Scalars`].
pub(super) struct PerColumn<T: Scalar, S> {
    executor: Executor,
    columns: Vec<S>,
    staging: Vec<T::Arith>,
}

impl<T: Scalar, S: Default + 'static> PerColumn<T, S> {
    /// Borrows the state for the columns of `like`; it may hold what an earlier run left.
    pub(super) fn take<'w>(ws: &'w Workspace, like: &Vector<T>) -> Result<Scratch<'w, Self>> {
        ws.take::<Self>(like.executor(), 1, like.cols())
    }

    /// Hands each column its number.
    pub(super) fn receive(
        &mut self,
        from: &Scalars<T>,
        mut each: impl FnMut(&mut S, T::Arith),
    ) -> Result<()> {
        from.read(&mut self.staging)?;
        for (column, &value) in self.columns.iter_mut().zip(&self.staging) {
            each(column, value);
        }
        Ok(())
    }

    /// Writes a number of each column.
    pub(super) fn send(
        &mut self,
        to: &mut Scalars<T>,
        each: impl Fn(&S) -> T::Arith,
    ) -> Result<()> {
        for (value, column) in self.staging.iter_mut().zip(&self.columns) {
            *value = each(column);
        }
        to.write(&self.staging)
    }
}

impl<T: Scalar, S> Deref for PerColumn<T, S> {
    type Target = [S];
    fn deref(&self) -> &[S] {
        &self.columns
    }
}

impl<T: Scalar, S> DerefMut for PerColumn<T, S> {
    fn deref_mut(&mut self) -> &mut [S] {
        &mut self.columns
    }
}

impl<T: Scalar, S: Default + 'static> Pooled for PerColumn<T, S> {
    fn allocate(executor: &Executor, _rows: usize, cols: usize) -> Result<Self> {
        Ok(Self {
            executor: executor.clone(),
            columns: (0..cols).map(|_| S::default()).collect(),
            staging: vec![T::Arith::zero(); cols],
        })
    }
    fn executor(&self) -> &Executor {
        &self.executor
    }
}
