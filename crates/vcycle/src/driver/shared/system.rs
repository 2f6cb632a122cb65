//! What ranks have of a system.

use std::sync::Arc;

use crate::matrix::Distributed;
use crate::multigrid::NearNullspace;
use crate::vector::Vector;

/// The rows that a rank has of a matrix, and what is known of them beside their entries.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{communicator::threads, config::{Config, SharedSystem, solve_shared}};
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
///     let system = SharedSystem::new(Arc::new(a));
///     let solution = solve_shared(&Config::default(), &system, &b, &Workspace::new())?;
///     assert!(solution.outcome.converged());
///     Ok(solution.outcome.iterations)
/// })?;
/// assert_eq!(iterations, vec![iterations[0]; 3]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SharedSystem<T = f64> {
    /// The matrix.
    pub matrix: Arc<Distributed<T>>,
    /// Own rows of what it nearly annihilates, and the unknowns of a node.
    pub near_nullspace: Option<NearNullspace>,
    /// Own rows of where iterations start, if not from zero.
    pub guess: Option<Vector<T>>,
}

impl<T> SharedSystem<T> {
    /// A matrix of which nothing more is known.
    pub fn new(matrix: Arc<Distributed<T>>) -> Self {
        Self {
            matrix,
            near_nullspace: None,
            guess: None,
        }
    }

    /// With own rows of an initial guess.
    #[must_use]
    pub fn with_guess(self, guess: Vector<T>) -> Self {
        Self {
            guess: Some(guess),
            ..self
        }
    }

    /// With own rows of the vectors it nearly annihilates.
    #[must_use]
    pub fn with_near_nullspace(self, near_nullspace: NearNullspace) -> Self {
        Self {
            near_nullspace: Some(near_nullspace),
            ..self
        }
    }
}
