//! Operations on many vectors that are stored in fewer bits.

use crate::arrays::{Packed, Vector};
use crate::error::{Result, check_size};
use crate::executor::Executor;
use crate::operations::packed as operations;
use crate::scalar::Scalar;
use crate::size::Size;
use crate::workspace::Pooled;

impl<T: Scalar> Packed<T> {
    /// Multiplies the first `count` vectors with `w`, takes these parts of theirs from it, and measures what is left.
    /// Afterwards [`numbers`](Self::numbers) are the products, vector after vector, and then the norms of `w`.
    ///
    /// # Errors
    /// When the executor fails.
    pub fn project(&mut self, count: usize, w: &mut Vector<T>) -> Result<()> {
        self.check("project", w)?;
        operations::dots(self, count, w)?;
        operations::take_away(self, count, w)
    }

    /// [`project`](Self::project) of the columns that are `wanted`; the products of others are zero.
    ///
    /// # Errors
    /// When the executor fails.
    pub fn project_some(
        &mut self,
        count: usize,
        w: &mut Vector<T>,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<()> {
        self.check("project", w)?;
        operations::dots(self, count, w)?;
        if !(0..self.cols).all(&wanted) {
            let numbers = &mut self.numbers.host_mut()?[..count * self.cols];
            for (place, number) in numbers.iter_mut().enumerate() {
                if !wanted(place % self.cols) {
                    *number = T::Arith::default();
                }
            }
        }
        operations::take_away(self, count, w)
    }

    /// Keeps `w` over the norms of the last [`project`](Self::project), with as many vectors as are before this one.
    /// Then `w` is what was kept.
    ///
    /// # Errors
    /// When the executor fails or memory is short.
    pub fn keep_unit(&mut self, index: usize, w: &mut Vector<T>) -> Result<()> {
        self.check("keep", w)?;
        operations::keep(self, index, true, w)
    }

    /// Keeps `w`, and makes it what was kept.
    ///
    /// # Errors
    /// When the executor fails or memory is short.
    pub fn keep(&mut self, index: usize, w: &mut Vector<T>) -> Result<()> {
        self.check("keep", w)?;
        operations::take_away(self, 0, w)?;
        operations::keep(self, index, false, w)
    }

    /// `y += coefficient v` for the first `count` vectors; the coefficients are given vector after vector, column
    /// after column. A zero does not touch its vector.
    ///
    /// # Errors
    /// When the executor fails.
    pub fn add_to(
        &mut self,
        count: usize,
        coefficient: impl Fn(usize, usize) -> T::Arith,
        y: &mut Vector<T>,
    ) -> Result<()> {
        self.check("add", y)?;
        let numbers = &mut self.numbers.host_mut()?[..count * self.cols];
        for (vector, numbers) in numbers.chunks_exact_mut(self.cols).enumerate() {
            for (column, number) in numbers.iter_mut().enumerate() {
                *number = coefficient(vector, column);
            }
        }
        operations::add(self, count, y)
    }

    /// What the last operation has found, on the host.
    ///
    /// # Errors
    /// When a device fails, whose results are waited for.
    pub fn numbers(&self) -> Result<&[T::Arith]> {
        self.numbers.host()
    }

    fn check(&self, operation: &'static str, w: &Vector<T>) -> Result<()> {
        check_size(operation, Size::new(self.rows, self.cols), w.size())?;
        self.executor.check_same(w.executor(), operation)
    }
}

impl<T: Scalar> Pooled for Packed<T> {
    fn allocate(executor: &Executor, rows: usize, cols: usize) -> Result<Self> {
        Self::empty(executor, rows, cols)
    }
    fn executor(&self) -> &Executor {
        self.executor()
    }
}
