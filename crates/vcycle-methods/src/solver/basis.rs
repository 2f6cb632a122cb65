//! Many scratch vectors of one shape.

use std::ops::{Deref, DerefMut};

use crate::error::Result;
use crate::executor::{Executor, Pooled, Scratch, Workspace};
use crate::scalar::Scalar;
use crate::vector::Vector;

/// Vectors that span a space; their contents are unspecified at first.
pub(super) struct Basis<T> {
    executor: Executor,
    rows: usize,
    cols: usize,
    vectors: Vec<Vector<T>>,
}

impl<T: Scalar> Basis<T> {
    /// Borrows at least `count` vectors like `like`.
    pub(super) fn take<'w>(
        ws: &'w Workspace,
        like: &Vector<T>,
        count: usize,
    ) -> Result<Scratch<'w, Self>> {
        let mut basis = ws.take::<Self>(like.executor(), like.rows(), like.cols())?;
        basis.grow(count)?;
        Ok(basis)
    }

    /// Makes sure that there are `count` vectors; no more are made than are needed, for most solves need few.
    pub(super) fn grow(&mut self, count: usize) -> Result<()> {
        while self.vectors.len() < count {
            let vector = Vector::zeros(&self.executor, self.rows, self.cols)?;
            self.vectors.push(vector);
        }
        Ok(())
    }
}

impl<T> Deref for Basis<T> {
    type Target = [Vector<T>];
    fn deref(&self) -> &[Vector<T>] {
        &self.vectors
    }
}

impl<T> DerefMut for Basis<T> {
    fn deref_mut(&mut self) -> &mut [Vector<T>] {
        &mut self.vectors
    }
}

impl<T: Scalar> Pooled for Basis<T> {
    fn allocate(executor: &Executor, rows: usize, cols: usize) -> Result<Self> {
        Ok(Self {
            executor: executor.clone(),
            rows,
            cols,
            vectors: Vec::new(),
        })
    }
    fn executor(&self) -> &Executor {
        &self.executor
    }
}
