//! The systems to be solved, and their solutions.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::SystemMatrix;
use crate::communicator::Traffic;
use crate::configuration::Config;
use crate::error::Result;
use crate::gallery::Problem;
use crate::io::AnyMatrix;
use crate::linop::{Size, check_size};
use crate::matrix::Facts;
use crate::multigrid::{NearNullspace, Report};
use crate::scalar::{Scalar, c64};
use crate::stop::Outcome;
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
///
/// Where ranks share the rows, each of them has its own rows of everything, and they call everything together:
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{communicator::threads, config::{Config, System, solve_system}};
/// use vcycle::{executor::{Executor, Workspace}, matrix::{Distributed, Duplicates}, vector::Vector};
/// let iterations = threads::run(3, |team| {
///     let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
///     // A line of 300 points; every rank has 100 of them.
///     let own = 100 * team.rank() as u64..100 * (team.rank() as u64 + 1);
///     let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
///     for row in own {
///         for column in row.saturating_sub(1)..=(row + 1).min(299) {
///             columns.push(column);
///             values.push(if column == row { 2.0 } else { -1.0 });
///         }
///         offsets.push(columns.len());
///     }
///     let a = Distributed::from_rows(&rank, offsets, columns, values, Duplicates::Refuse)?;
///     let b = Vector::filled(&rank, 100, 1, 1.0)?;
///     let solution = solve_system(&Config::default(), &System::new(Arc::new(a)), &b, &Workspace::new())?;
///     assert!(solution.outcome.converged());
///     Ok(solution.outcome.iterations)
/// })?;
/// assert_eq!(iterations, vec![iterations[0]; 3]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct System<T = f64> {
    /// The matrix.
    pub matrix: SystemMatrix<T>,
    /// What it nearly annihilates, and the unknowns of a node; multigrid wants to know.
    pub near_nullspace: Option<NearNullspace>,
    /// Where iterations start, if not from zero.
    pub guess: Option<Vector<T>>,
    /// Whether solutions are rounded to single precision, because the caller has no room for more. The outcome is that of the
    /// rounded solution.
    pub single: bool,
}

impl<T> System<T> {
    /// A matrix of which nothing more is known: a [`Csr`](crate::matrix::Csr), or the rows of this rank of a
    /// [`Distributed`](crate::matrix::Distributed).
    pub fn new(matrix: impl Into<SystemMatrix<T>>) -> Self {
        Self {
            matrix: matrix.into(),
            near_nullspace: None,
            guess: None,
            single: false,
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

impl<T: Scalar> System<T> {
    /// What [`attempts`](super::attempts) chooses by.
    ///
    /// # Errors
    /// When another rank has failed.
    pub fn facts(&self) -> Result<Facts> {
        self.matrix.facts(self.near_nullspace.as_ref())
    }

    /// Fails for operands of another size than the matrix, on any rank, and for other operands on some.
    pub(super) fn check(&self, b: &Vector<T>, guess: Option<&Vector<T>>) -> Result<()> {
        let fitting = Size::new(self.matrix.rows(), b.cols());
        let checked = check_size("right-hand side", fitting, b.size()).and_then(|()| {
            let Some(guess) = guess else { return Ok(()) };
            b.executor().check_same(guess.executor(), "initial guess")?;
            check_size("initial guess", fitting, guess.size())
        });
        self.matrix.agree(checked)?;
        let Some(team) = self.matrix.team() else {
            return Ok(());
        };
        let numbers = [b.cols(), usize::from(guess.is_some())];
        team.check_same("right-hand sides or initial guesses", &numbers)
    }
}

impl From<Problem> for System<f64> {
    fn from(problem: Problem) -> Self {
        Self {
            matrix: Arc::new(problem.matrix).into(),
            near_nullspace: problem.near_nullspace,
            guess: None,
            single: false,
        }
    }
}

/// A solved system and how it was solved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution<T> {
    /// The solution, or the best guess: look at the outcome.
    pub x: Vector<T>,
    /// How the last attempt ended.
    pub outcome: Outcome,
    /// The configuration with every `auto` decided.
    pub config: Config,
    /// What `auto` chose, what failed and what was done about it.
    pub messages: Vec<String>,
    /// Time of all set-ups.
    pub setup: Duration,
    /// Time of all iterations.
    pub solving: Duration,
    /// Bytes of the stored matrix and of the preconditioner.
    pub bytes: usize,
    /// Bytes that this attempt was estimated to take at most, with the matrix and the program itself.
    pub estimated_bytes: usize,
    /// The levels, where the preconditioner is multigrid.
    pub multigrid: Option<Report>,
    /// What this rank has sent in all set-ups and in all iterations, where ranks share the system.
    pub traffic: Option<[Traffic; 2]>,
}

/// A system whose type a file or an array decided.
#[derive(Clone, Debug)]
pub enum AnySystem {
    /// Real numbers.
    Real(System<f64>),
    /// Complex numbers.
    Complex(System<c64>),
}

impl AnySystem {
    /// The system, if its numbers are of that type.
    pub fn of<T: Scalar>(self) -> Option<System<T>> {
        let any: Box<dyn Any> = match self {
            Self::Real(system) => Box::new(system),
            Self::Complex(system) => Box::new(system),
        };
        any.downcast().ok().map(|system| *system)
    }

    /// Copies the matrix to a device now, which would happen when it is first used there.
    ///
    /// # Errors
    /// When the device has no room, or fails.
    pub fn bring(&self) -> Result<()> {
        match self {
            Self::Real(system) => system.matrix.whole()?.bring(),
            Self::Complex(system) => system.matrix.whole()?.bring(),
        }
    }
}

impl From<AnyMatrix> for AnySystem {
    fn from(matrix: AnyMatrix) -> Self {
        match matrix {
            AnyMatrix::Real(a) => Self::Real(System::new(Arc::new(a))),
            AnyMatrix::Complex(a) => Self::Complex(System::new(Arc::new(a))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{config, device, matrix, system};
    use crate::config::attempts;

    #[test]
    fn devices_choose_as_the_host_does() {
        let Some(device) = device() else { return };
        for problem in ["poisson5:60", "convdiff7:6,20"] {
            let a = matrix(problem);
            let there = system(a.copy_to(&device).unwrap());
            let choices = |facts| {
                let found = attempts(&config(""), None, || facts).into_iter();
                let all = found.map(|a| (a.solver, a.preconditioner.name()));
                all.collect::<Vec<_>>()
            };
            assert_eq!(
                choices(there.facts().unwrap()),
                choices(a.facts()),
                "{problem}"
            );
        }
    }
}
