//! Flexible generalised minimal residuals.

use super::{Method, Run, gmres, solver};
use crate::error::Result;
use crate::registration::{Component, Memory, MemoryOf, Registration, Support, Symmetry};
use crate::scalar::Scalar;
use crate::vector::Storage;

/// Flexible generalised minimal residuals (Saad 1993), restarted.
///
/// [`Gmres`](super::Gmres) that keeps the preconditioned vectors, so that the preconditioner may
/// be another one in every iteration; twice the memory, which `basis` makes less of.
///
/// **Choose it** for nonsymmetric matrices whose preconditioner is an iteration itself.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, solver::{Fgmres, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
/// let mut x = Vector::zeros_like(&b)?;
/// let outcome = Solver::<f64>::new(Fgmres::default(), a)?.solve(&b, &mut x)?;
/// assert!(outcome.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Fgmres {
    /// Vectors kept before the method starts afresh.
    pub restart: usize,
    /// What they are stored in, and what the preconditioner made of them.
    pub basis: Storage,
}

impl Default for Fgmres {
    fn default() -> Self {
        Self {
            restart: 50,
            basis: Storage::Working,
        }
    }
}

impl Component for Fgmres {
    const REGISTRATION: Registration = Registration {
        name: "fgmres",
        summary: "Flexible generalised minimal residuals.",
        after_colon: &["restart", "basis"],
        needs: &[],
        support: Support::METHOD,
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::Varying
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::vectors(
            self.basis
                .vectors(self.restart)
                .saturating_mul(2)
                .saturating_add(4),
        )
    }
}

solver!(Fgmres);

impl<T: Scalar> Method<T> for Fgmres {
    fn name(&self) -> &'static str {
        Self::REGISTRATION.name
    }

    fn iterate(&self, run: &mut Run<'_, T>) -> Result<()> {
        gmres::iterate(run, self.restart, self.basis, true)
    }
}
