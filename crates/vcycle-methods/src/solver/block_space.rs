//! A Krylov space that right-hand sides share: a basis in blocks, and the projected problem.

use super::Run;
use super::orthonormal::{finite, norms, orthonormal, take_out};
use crate::dense::BlockLeastSquares;
use crate::prelude::*;

/// A basis in blocks, and the projected problem.
pub(super) struct Space<'w, T: Scalar> {
    /// Orthonormal vectors, block by block.
    pub blocks: Vec<Scratch<'w, Vector<T>>>,
    /// What the matrix makes of each vector but those of the last block, by the vectors of the basis.
    pub images: Vec<Vec<T::Arith>>,
    /// The same by the images of the recycled space.
    pub recycled_images: Vec<Vec<T::Arith>>,
    pub projected: BlockLeastSquares<T::Arith>,
}

impl<'w, T: Scalar> Space<'w, T> {
    /// The space of the residuals.
    pub fn new(run: &Run<'w, T>, mut r: Scratch<'w, Vector<T>>) -> Result<Self> {
        let size = norms(&r)?;
        let copy = r.clone_in(run)?;
        let first = orthonormal(&mut r, &size, run.ws)?;
        let sides = match &first {
            Some(first) => columns(&first.products(&copy)?, copy.cols()),
            None => vec![Vec::new(); copy.cols()],
        };
        Ok(Self {
            blocks: first.into_iter().collect(),
            images: Vec::new(),
            recycled_images: Vec::new(),
            projected: BlockLeastSquares::new(sides),
        })
    }

    /// Whether the last block has no vectors.
    pub fn is_closed(&self) -> bool {
        self.blocks.last().is_none_or(|last| last.cols() == 0)
    }

    /// Multiplies the last block and adds what is new in that; says whether all numbers are finite. `project` takes the part of a
    /// recycled space out.
    pub fn expand(
        &mut self,
        run: &Run<'w, T>,
        project: impl Fn(&mut Vector<T>) -> Result<Vec<T::Arith>>,
    ) -> Result<bool> {
        let Some(last) = self.blocks.last() else {
            return Ok(true);
        };
        let count = last.cols();
        let mut z = run.ws.vector::<T>(last.executor(), last.rows(), count)?;
        let mut w = run.ws.vector::<T>(last.executor(), last.rows(), count)?;
        let preconditioned: &Vector<T> = run.preconditioned(last, &mut z)?;
        run.multiply(preconditioned, &mut w)?;
        let size = norms(&w)?;
        if !finite(&size) {
            return Ok(false);
        }
        let by_recycled = project(&mut w)?;
        self.recycled_images.extend(columns(&by_recycled, count));
        let mut taken = Vec::new();
        for block in &self.blocks {
            taken.push(take_out(block, &mut w)?);
        }
        for (block, taken) in self.blocks.iter().zip(&mut taken) {
            for (taken, more) in taken.iter_mut().zip(take_out(block, &mut w)?) {
                *taken += more;
            }
        }
        let mut rest = w.clone_in(run)?;
        let next = match orthonormal(&mut rest, &size, run.ws)? {
            Some(next) => next,
            None => run.ws.vector::<T>(w.executor(), w.rows(), 0)?,
        };
        if next.cols() > 0 {
            taken.push(next.products(&w)?);
        }
        for image in columns(&taken.concat(), count) {
            self.projected.push(image.clone());
            self.images.push(image);
        }
        self.blocks.push(next);
        Ok(true)
    }

    /// Combinations of the vectors that were multiplied, with coefficients row after row.
    pub fn combine(&self, coefficients: &[T::Arith], sum: &mut Vector<T>) -> Result<()> {
        sum.fill(T::default())?;
        let (mut first, cols) = (0, sum.cols());
        for block in &self.blocks {
            let end = first + block.cols();
            if end <= self.images.len() && first < end {
                sum.add_combination(block, &coefficients[first * cols..end * cols])?;
            }
            first = end;
        }
        Ok(())
    }
}

/// The columns of a matrix that is given row after row.
fn columns<A: Field>(rows: &[A], count: usize) -> Vec<Vec<A>> {
    let column = |k: usize| rows.iter().skip(k).step_by(count).copied().collect();
    (0..count).map(column).collect()
}

/// A copy in the memory of a run.
pub(super) trait CloneIn<'w, T: Scalar> {
    fn clone_in(&self, run: &Run<'w, T>) -> Result<Scratch<'w, Vector<T>>>;
}

impl<'w, T: Scalar> CloneIn<'w, T> for Vector<T> {
    fn clone_in(&self, run: &Run<'w, T>) -> Result<Scratch<'w, Vector<T>>> {
        let mut copy = run.ws.vector_like::<T, T>(self)?;
        copy.copy_from(self)?;
        Ok(copy)
    }
}
