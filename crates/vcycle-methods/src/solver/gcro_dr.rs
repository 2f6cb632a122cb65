//! Minimal residuals that keep a space from one system to the next.

use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use vcycle_kernels::compiled;

use super::recycled::Recycled;
use super::{Method, Run, SolverComponent, block_gmres};
use crate::prelude::*;
use crate::registration::{Component, component};

component! {
    /// Generalised conjugate residuals with inner orthogonalisation and deflated restarting, which recycle a space (GCRO-DR: Parks,
    /// de Sturler, Mackey, Johnson and Maiti 2006), for sequences of systems.
    ///
    /// From each cycle of [`BlockGmres`](super::BlockGmres) some vectors are kept: those that the preconditioned matrix makes shortest, by the
    /// smallest singular values of the projected problem where the paper takes harmonic Ritz vectors. The residual is minimised over them, too, in the
    /// next cycle and in the next solve, also with another matrix or right-hand side: a solve begins with a product of the matrix with
    /// all of them. Restarts lose little, and later systems of a sequence need fewer iterations.
    ///
    /// **Choose it** for systems that follow each other with matrices that change slowly, in time steps or Newton's method, or where restarts slow
    /// [`Gmres`](super::Gmres) down. What is kept lives in the method: solve with one [`Solver`](super::Solver), or make a
    /// [`Recycling`] and hand it to the solver of each matrix.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::Executor, matrix::Csr, solver::{GcroDr, Recycling, Solver}, vector::Vector};
    /// let cpu = Executor::cpu();
    /// let recycling = Recycling::<f64>::new(GcroDr::default());
    /// let b = Vector::filled(&cpu, 40, 1, 1.0)?;
    /// let iterations = |shift: f64| {
    ///     let diagonal = (1..=40).map(|k| k as f64 * k as f64 + shift).collect();
    ///     let a = Arc::new(Csr::diagonal_matrix(&cpu, diagonal));
    ///     let solver = Solver::new(recycling.clone(), a)?;
    ///     Ok::<_, vcycle::Error>(solver.solve(&b, &mut Vector::zeros_like(&b)?)?.iterations)
    /// };
    /// let (first, second) = (iterations(0.0)?, iterations(0.1)?);
    /// assert!(second < first);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub struct GcroDr {
        /// Blocks of vectors of a cycle, each with one for every right-hand side.
        pub restart: usize = 40,
        /// Vectors that are kept.
        pub recycle: usize = 10,
    }
    name: "gcro-dr",
    summary: "Minimal residuals that keep a space from cycle to cycle and from system to system.",
    after_colon: &["restart", "recycle"], needs: &[FixedPreconditioner], support: Support::METHOD, symmetry: Varying,
    memory: Memory::vectors(10);
    more memory: |own, _| Memory::vectors(own.recycle.saturating_mul(4).saturating_add(own.restart));
}

impl SolverComponent for GcroDr {
    fn method<T: Scalar>(&self) -> Arc<dyn Method<T>> {
        compiled!(working T: fn(&GcroDr) -> Arc<dyn Method<T>> = |own| {
            Arc::new(Recycling::<T>::new(own.to_owned()))
        })(self)
    }
}

/// [`GcroDr`] with the space it keeps. Clones share the space.
#[derive(Clone, Debug)]
pub struct Recycling<T: Scalar> {
    parameters: GcroDr,
    space: Arc<Mutex<Recycled<T>>>,
}

impl<T: Scalar> Recycling<T> {
    /// Begins without a space.
    pub fn new(parameters: GcroDr) -> Self {
        Self::of(parameters, None)
    }

    /// Begins with known vectors, the columns of `vectors`: modes that the preconditioner leaves to the method, as those of
    /// parts of a body that are hardly connected. With `recycle = 0` these and no others are deflated.
    pub fn with_known(parameters: GcroDr, vectors: Vector<T>) -> Self {
        Self::of(parameters, Some(vectors))
    }

    fn of(parameters: GcroDr, vectors: Option<Vector<T>>) -> Self {
        let space = Recycled::new(parameters.recycle, vectors);
        Self {
            parameters,
            space: Arc::new(Mutex::new(space)),
        }
    }

    /// How many vectors are kept now.
    pub fn dimension(&self) -> usize {
        self.locked().len()
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Recycled<T>> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Scalar> Method<T> for Recycling<T> {
    fn name(&self) -> &'static str {
        GcroDr::REGISTRATION.name
    }

    fn iterate(&self, run: &mut Run<'_, T>) -> Result<()> {
        block_gmres::iterate(run, self.parameters.restart, &mut self.locked())
    }
}
