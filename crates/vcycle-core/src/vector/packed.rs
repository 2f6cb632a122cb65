//! Operations on many vectors that are stored in fewer bits.

use crate::arrays::{Packed, Storage};
use crate::error::check_size;
use crate::operations::{packed as operations, pipeline};
use crate::prelude::*;
use crate::workspace::Pooled;

impl Storage {
    /// Vectors in double precision that take as much memory as so many stored ones.
    pub fn vectors(self, count: usize) -> usize {
        let bytes = self.bytes().unwrap_or(size_of::<f64>());
        count.saturating_mul(bytes).div_ceil(size_of::<f64>())
    }
}

impl<T: Scalar> Packed<T> {
    /// Multiplies the first `count` vectors with `w`, takes these parts of theirs from it, and measures what is left.
    /// Afterwards [`numbers`](Self::numbers) are the products, vector after vector, and then the norms of `w`.
    pub fn project(&mut self, count: usize, w: &mut Vector<T>) -> Result<()> {
        self.project_some(count, w, |_| true)
    }

    /// [`project`](Self::project) of the columns that are `wanted`; the products of others are zero.
    pub fn project_some(
        &mut self,
        count: usize,
        w: &mut Vector<T>,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<()> {
        self.check("project", w)?;
        operations::project(self, count, w, &wanted)
    }

    /// The part of its length that [`project`](Self::project) has to leave of a vector for it to be orthogonal; one
    /// that lost more is to be projected once more.
    ///
    /// Where all products are formed at once, errors grow from step to step unless it is `1/sqrt(2)` (Daniel, Gragg,
    /// Kaufman and Stewart 1976). So they do in fewer bits, where they are large from the beginning. By groups, as the host has it,
    /// they grow inside a group alone: GMRES with modified Gram–Schmidt is backward stable (Paige, Rozložník and Strakoš 2006).
    pub fn least_left(&self) -> f64 {
        match self.storage {
            Storage::Working if !self.executor.is_device() => 0.1,
            _ => std::f64::consts::FRAC_1_SQRT_2,
        }
    }

    /// Keeps `w` over the norms of the last [`project`](Self::project), with as many vectors as are before this one.
    /// Then `w` is what was kept.
    pub fn keep_unit(&mut self, index: usize, w: &mut Vector<T>) -> Result<()> {
        self.check("keep", w)?;
        operations::keep(self, index, true, w)
    }

    /// Keeps `w`, and makes it what was kept.
    pub fn keep(&mut self, index: usize, w: &mut Vector<T>) -> Result<()> {
        self.check("keep", w)?;
        operations::keep(self, index, false, w)
    }

    /// `y += coefficient v` for the first `count` vectors; the coefficients are given vector after vector, column
    /// after column. A zero does not touch its vector.
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

    /// Multiplies the first `count` vectors with `w`, and measures `w`, in a single sum over all ranks, in which numbers `besides` are replaced by
    /// their sums, too. `meanwhile` is called while these numbers travel to other ranks, or from a device to the host: it may queue what does not need them. Returns the products, vector
    /// after vector, and then the norms of `w`, which stays as it is.
    ///
    /// # Errors
    /// When the executor fails, for vectors in fewer bits, and what `meanwhile` returns.
    pub fn multiply_while(
        &mut self,
        count: usize,
        w: &Vector<T>,
        besides: &mut [f64],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<&[T::Arith]> {
        self.check("multiply", w)?;
        self.check_working()?;
        pipeline::multiply(self, count, w, besides, meanwhile)?;
        let numbers = (count + 1) * self.cols;
        Ok(&self.pipeline().products[..numbers])
    }

    /// `z += a v` and `w += b v` for the first `count` vectors, in one pass over them. Then `z` times a factor is the next vector, and
    /// `w` that factor times `w` and a multiple of the next vector. `[a, b]` are given for every vector and column, and behind them
    /// the factor and the multiple. A factor of zero makes zeros. Nobody waits for a device.
    ///
    /// # Errors
    /// When the executor fails, and for vectors in fewer bits.
    pub fn advance(
        &mut self,
        count: usize,
        coefficients: impl Fn(usize, usize) -> [T::Arith; 2],
        z: &mut Vector<T>,
        w: &mut Vector<T>,
    ) -> Result<()> {
        self.check("advance", z)?;
        self.check("advance", w)?;
        self.check_working()?;
        let (cols, numbers) = (self.cols, (count + 1) * self.cols);
        let steps = self.pipeline().steps.host_mut()?;
        for place in 0..numbers {
            let [a, b] = coefficients(place / cols, place % cols);
            (steps[place], steps[numbers + place]) = (a, b);
        }
        pipeline::advance(self, count, z, w)
    }

    fn check_working(&self) -> Result<()> {
        match self.storage {
            Storage::Working => Ok(()),
            other => Err(Error::Unsupported {
                component: format!("a basis in {}", other.name()),
                operation: "pipelined orthogonalisation".to_owned(),
            }),
        }
    }

    /// What the last operation has found, on the host.
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
