//! The systems to be solved.

use std::sync::Arc;

use crate::gallery::Problem;
use crate::matrix::Csr;
use crate::multigrid::NearNullspace;
use crate::vector::Vector;

/// A matrix and what is known of it beside its entries.
///
/// ```
/// use vcycle::{config::{self, Config, System}, executor::{Executor, Workspace}, gallery,
///              vector::Vector};
/// let cpu = Executor::cpu();
/// let problem = gallery::build("elasticity:6x3x3", &cpu)?;
/// let b = Vector::from_column(&cpu, problem.rhs.clone());
/// let config = Config::from_toml(r#"
///     solver = "cg"
///     preconditioner = { name = "amg", coarsening = "sa" }
/// "#)?;
/// let solution = config::solve_system(&config, &System::from(problem), &b, &Workspace::new())?;
/// assert!(solution.outcome.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct System<T> {
    /// The matrix.
    pub matrix: Arc<Csr<T>>,
    /// What it nearly annihilates, and the unknowns of a node; multigrid wants to know.
    pub near_nullspace: Option<NearNullspace>,
    /// Where iterations start, if not from zero.
    pub guess: Option<Vector<T>>,
}

impl<T> System<T> {
    /// A matrix of which nothing more is known.
    pub fn new(matrix: Arc<Csr<T>>) -> Self {
        Self {
            matrix,
            near_nullspace: None,
            guess: None,
        }
    }

    /// With an initial guess, of as many columns as the right-hand side.
    #[must_use]
    pub fn with_guess(self, guess: Vector<T>) -> Self {
        Self {
            guess: Some(guess),
            ..self
        }
    }

    /// With the vectors it nearly annihilates.
    #[must_use]
    pub fn with_near_nullspace(self, near_nullspace: NearNullspace) -> Self {
        Self {
            near_nullspace: Some(near_nullspace),
            ..self
        }
    }
}

impl From<Problem> for System<f64> {
    fn from(problem: Problem) -> Self {
        Self {
            matrix: Arc::new(problem.matrix),
            near_nullspace: problem.near_nullspace,
            guess: None,
        }
    }
}
