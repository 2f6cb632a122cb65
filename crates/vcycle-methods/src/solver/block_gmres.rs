//! Generalised minimal residuals with a space that right-hand sides share.

use super::block_cg::end;
use super::orthonormal::{finite, leave_ended, norms, orthonormal, take_out};
use super::recycled::Recycled;
use super::{Run, check_restart, solver};
use crate::dense::BlockLeastSquares;
use crate::error::Result;
use crate::executor::Scratch;
use crate::registration::{Component, Memory, MemoryOf, Need, Registration, Support, Symmetry};
use crate::scalar::{Field, Scalar};
use crate::stop::Status;
use crate::vector::{Coefficient, Scalars, Vector};

/// Block generalised minimal residuals (Vital 1990), restarted and preconditioned from the right.
///
/// Every right-hand side minimises its residual over the space of all of them, so that fewer iterations are needed than by
/// [`Gmres`](super::Gmres), which has a space for each. Vectors of the basis that depend on others are left out, and right-hand sides
/// that have converged add none to the next space.
///
/// **Choose it** for several right-hand sides of one matrix that [`Gmres`](super::Gmres) needs many iterations for; memory is the same.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, solver::{BlockGmres, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, -4.0, 8.0]));
/// let b = Vector::from_rows(&cpu, 2, vec![1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0, -1.0])?;
/// let mut x = Vector::zeros_like(&b)?;
/// let outcome = Solver::<f64>::new(BlockGmres::default(), a)?.solve(&b, &mut x)?;
/// assert!(outcome.converged() && outcome.iterations == 2);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct BlockGmres {
    /// Blocks of vectors kept before the method starts afresh, each with one for every right-hand side.
    pub restart: usize,
}

impl Default for BlockGmres {
    fn default() -> Self {
        Self { restart: 50 }
    }
}

impl Component for BlockGmres {
    const REGISTRATION: Registration = Registration {
        name: "block-gmres",
        summary: "Generalised minimal residuals with a space that all right-hand sides share.",
        after_colon: &["restart"],
        needs: &[Need::FixedPreconditioner],
        support: Support::METHOD,
        symmetry: Symmetry::Varying,
        memory: Memory::vectors(10),
    };

    fn memory(&self, _of: MemoryOf) -> Memory {
        Self::REGISTRATION.memory.and(Memory::vectors(self.restart))
    }
}

solver!(BlockGmres);

impl BlockGmres {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        iterate(run, self.restart, &mut Recycled::nothing())
    }
}

/// The iteration of [`BlockGmres`] and, with a space that is kept, of [`GcroDr`](super::GcroDr).
pub(super) fn iterate<T: Scalar>(
    run: &mut Run<'_, T>,
    restart: usize,
    recycled: &mut Recycled<T>,
) -> Result<()> {
    let restart = check_restart(restart, run)?;
    let [mut r] = run.vectors()?;
    let [mut norm] = run.scalars()?;
    let mut ended = run.start(&mut r, &mut norm)?;
    if !ended {
        recycled.begin(run)?;
    }
    while !ended {
        leave_ended(run.monitor.active(), &mut r)?;
        let from_recycled = recycled.project(&mut r)?;
        let mut space = Space::new(run, r.clone_in(run)?)?;
        ended = space.grow(run, restart, recycled, &mut norm)?;
        space.update(run, recycled, &from_recycled)?;
        recycled.renew(run, &space)?;
        if !ended {
            run.residual(&mut r)?;
        }
    }
    Ok(())
}

/// A basis in blocks, and the projected problem.
pub(super) struct Space<'w, T: Scalar> {
    /// Orthonormal vectors, block by block.
    pub blocks: Vec<Scratch<'w, Vector<T>>>,
    /// What the matrix makes of each vector but those of the last block, by the vectors of the basis.
    pub images: Vec<Vec<T::Arith>>,
    /// The same by the images of the recycled space.
    pub recycled_images: Vec<Vec<T::Arith>>,
    projected: BlockLeastSquares<T::Arith>,
}

impl<'w, T: Scalar> Space<'w, T> {
    /// The space of the residuals.
    fn new(run: &Run<'w, T>, mut r: Scratch<'w, Vector<T>>) -> Result<Self> {
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

    /// Adds blocks until all columns have ended, which it says, or there are enough of them.
    fn grow(
        &mut self,
        run: &mut Run<'w, T>,
        restart: usize,
        recycled: &Recycled<T>,
        norm: &mut Scalars<T>,
    ) -> Result<bool> {
        for _ in 0..restart {
            if !self.expand(run, recycled)? {
                end(run, Status::NonFinite)?;
                return Ok(true);
            }
            let lengths = (0..run.b.cols()).map(|side| self.projected.residual(side));
            let lengths: Vec<T::Arith> = lengths.map(T::Arith::from_f64).collect();
            norm.write(&lengths)?;
            if run.done(norm)? {
                return Ok(true);
            }
            if self.is_closed() {
                // The matrix makes nothing new of the space, and the solution is not in it.
                end(run, Status::Breakdown)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the last block has no vectors.
    fn is_closed(&self) -> bool {
        self.blocks.last().is_none_or(|last| last.cols() == 0)
    }

    /// Multiplies the last block and adds what is new in that; says whether all numbers are finite.
    fn expand(&mut self, run: &Run<'w, T>, recycled: &Recycled<T>) -> Result<bool> {
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
        let by_recycled = recycled.project(&mut w)?;
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

    /// Adds to the solution what the projected problem says, and what the recycled space has of the residual.
    fn update(
        &self,
        run: &mut Run<'_, T>,
        recycled: &Recycled<T>,
        from_recycled: &[T::Arith],
    ) -> Result<()> {
        let solution = self.projected.solve();
        let [mut sum, mut z] = run.vectors()?;
        self.combine(&solution, &mut sum)?;
        let correction: &Vector<T> = run.preconditioned(&sum, &mut z)?;
        run.x.axpy(Coefficient::one(), correction)?;
        recycled.add_to(run.x, from_recycled, &self.recycled_images, &solution)
    }

    /// Combinations of the vectors that were multiplied, with coefficients row after row.
    pub(super) fn combine(&self, coefficients: &[T::Arith], sum: &mut Vector<T>) -> Result<()> {
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
trait CloneIn<'w, T: Scalar> {
    fn clone_in(&self, run: &Run<'w, T>) -> Result<Scratch<'w, Vector<T>>>;
}

impl<'w, T: Scalar> CloneIn<'w, T> for Vector<T> {
    fn clone_in(&self, run: &Run<'w, T>) -> Result<Scratch<'w, Vector<T>>> {
        let mut copy = run.ws.vector_like::<T, T>(self)?;
        copy.copy_from(self)?;
        Ok(copy)
    }
}
