//! The systems to be solved.

use std::any::Any;
use std::sync::Arc;

use crate::error::Result;
use crate::executor::Executor;
use crate::gallery::Problem;
use crate::io::AnyMatrix;
use crate::matrix::{Csr, Facts};
use crate::multigrid::NearNullspace;
use crate::scalar::{Scalar, c64};
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

impl<T: Scalar> System<T> {
    /// What [`attempts`](super::attempts) chooses by. Where a matrix on a device is symmetric with a
    /// positive diagonal, which is found out there, its size is all that counts: nothing travels.
    pub fn facts(&self) -> Facts {
        let a = &self.matrix;
        let on_device = a.executor().has_kernels_for(T::KIND);
        if !on_device || !matches!(a.symmetric_and_positive(), Ok([true, true])) {
            return a.facts();
        }
        let mut facts = self.definite_facts();
        facts.jumps = self.near_nullspace.is_none() && a.has_jumps().unwrap_or(false);
        facts
    }

    /// What counts of a matrix that is known to be symmetric with a positive diagonal.
    pub(super) fn definite_facts(&self) -> Facts {
        let a = &self.matrix;
        let mut facts = Csr::<T>::identity(&Executor::reference(), 1).facts();
        (facts.rows, facts.columns) = (a.size().rows, a.size().cols);
        facts.nonzeros = a.nonzeros();
        // Nobody has looked.
        facts.strongly_dominant_rows = 0.0;
        facts.on_device = a.executor().is_device();
        facts
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
            Self::Real(system) => system.matrix.bring(),
            Self::Complex(system) => system.matrix.bring(),
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
    use std::sync::Arc;

    use super::System;
    use crate::config::{Config, attempts};
    use crate::executor::Executor;
    use crate::gallery;
    use vcycle_core::testing::device;

    #[test]
    fn devices_choose_as_the_host_does() {
        let Some(device) = device() else { return };
        for problem in ["poisson5:60", "convdiff7:6,20"] {
            let a = gallery::build(problem, &Executor::cpu()).unwrap().matrix;
            let there = System::new(Arc::new(a.copy_to(&device).unwrap()));
            let names = |facts| -> Vec<String> {
                let found = attempts(&Config::default(), None, || facts);
                let all = found.iter();
                all.map(|a| format!("{}+{}", a.solver.name(), a.preconditioner.name()))
                    .collect()
            };
            assert_eq!(names(there.facts()), names(a.facts()), "{problem}");
        }
    }
}
