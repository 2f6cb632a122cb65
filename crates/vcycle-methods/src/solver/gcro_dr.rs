//! Minimal residuals that keep a space from one system to the next.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use vcycle_kernels::compiled;

use super::recycled::Recycled;
use super::{Method, Run, SolverComponent, block_gmres};
use crate::error::Result;
use crate::registration::{Component, Memory, MemoryOf, Need, Registration, Support, Symmetry};
use crate::scalar::Scalar;
use crate::vector::Vector;

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
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct GcroDr {
    /// Blocks of vectors of a cycle, each with one for every right-hand side.
    pub restart: usize,
    /// Vectors that are kept.
    pub recycle: usize,
}

impl Default for GcroDr {
    fn default() -> Self {
        Self {
            restart: 40,
            recycle: 10,
        }
    }
}

impl Component for GcroDr {
    const REGISTRATION: Registration = Registration {
        name: "gcro-dr",
        summary: "Minimal residuals that keep a space from cycle to cycle and from system to system.",
        after_colon: &["restart", "recycle"],
        needs: &[Need::FixedPreconditioner],
        support: Support::METHOD,
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::Varying
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::vectors(
            self.recycle
                .saturating_mul(4)
                .saturating_add(self.restart)
                .saturating_add(10),
        )
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::linop::LinOp;
    use crate::precond::Jacobi;
    use crate::solver::{Gmres, Solver, testing};
    use crate::stop::{Outcome, Stop};

    fn solve(method: &Arc<dyn Method<f64>>, a: Arc<dyn LinOp<f64>>, seed: u64) -> Outcome {
        let n = a.size().rows;
        let b = Vector::from_column(a.executor(), testing::values::<f64>(n, seed));
        let solver = Solver::from_shared(Arc::clone(method), a).unwrap();
        let solver = solver.preconditioned_by(&Jacobi::default()).unwrap();
        let solver = solver.stopping(Stop::relative(1e-10));
        solver
            .solve(&b, &mut Vector::zeros_like(&b).unwrap())
            .unwrap()
    }

    #[test]
    fn later_systems_take_fewer_iterations() {
        let mut places = vec![Executor::cpu()];
        places.extend(vcycle_core::testing::device());
        for executor in &places {
            let a = testing::laplacian_2d::<f64>(executor, 16);
            let parameters = GcroDr {
                restart: 20,
                recycle: 8,
            };
            let recycling: Arc<dyn Method<f64>> = Arc::new(Recycling::new(parameters));
            let outcomes = [1, 2, 3].map(|seed| solve(&recycling, a.clone(), seed));
            assert!(outcomes.iter().all(Outcome::converged), "{outcomes:?}");
            let gmres = Gmres {
                restart: 20,
                ..Gmres::default()
            };
            let plain = solve(&(Arc::new(gmres) as _), a.clone(), 3);
            let [first, _, third] = outcomes.map(|outcome| outcome.iterations);
            assert!(first < plain.iterations, "{first} {plain}");
            assert!(4 * third < 3 * first, "{third} {first}");
        }
    }

    #[test]
    fn a_space_of_another_size_is_forgotten() {
        let host = Executor::reference();
        let method: Arc<dyn Method<f64>> = Arc::new(Recycling::new(GcroDr::default()));
        for n in [6, 9] {
            let a = testing::convection_diffusion::<f64>(&host, n);
            assert!(solve(&method, a, 1).converged());
        }
    }

    #[test]
    fn known_vectors_are_deflated() {
        let host = Executor::reference();
        // The smoothest eigenvectors.
        let n = 60;
        let a = testing::laplacian_1d::<f64>(&host, n);
        let modes = (0..n).flat_map(|row| {
            let angle = std::f64::consts::PI * (row + 1) as f64 / (n + 1) as f64;
            [angle.sin(), (2.0 * angle).sin(), (3.0 * angle).sin()]
        });
        let known = Vector::from_rows(&host, 3, modes.collect()).unwrap();
        let parameters = GcroDr {
            restart: 20,
            recycle: 0,
        };
        let with = Recycling::with_known(parameters.clone(), known);
        let without: Arc<dyn Method<f64>> = Arc::new(Recycling::new(parameters));
        let deflated = solve(&(Arc::new(with.clone()) as _), a.clone(), 5);
        let plain = solve(&without, a, 5);
        assert!(deflated.converged(), "{deflated}");
        assert!(
            2 * deflated.iterations < plain.iterations,
            "{deflated}, {plain}"
        );
        assert_eq!(with.dimension(), 3);
    }
}
