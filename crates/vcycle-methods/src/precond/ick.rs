//! Incomplete Cholesky factorisation with fill up to a level.

use std::sync::Arc;

use super::fill_levels::with_fill;
use super::ic0::{check_positive, cholesky, factorise_shifted};
use super::{check_hermitian, diagonal_places, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{IC0, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::operations::on_host;
use crate::registration::{
    Component, Memory, MemoryOf, Need, Registration, Support, Symmetry, preconditioner,
};
use crate::scalar::Mixes;

/// `M = (L L^H)^-1` with fill up to a level: what [`Iluk`](super::Iluk) is for general matrices.
///
/// Level 0 is [`Ic0`](super::Ic0), whose shifts take over where a pivot is not positive.
///
/// **Choose it** with conjugate gradients where `Ic0` takes many iterations and memory allows more;
/// [`ParIct`](super::ParIct) looks at the values.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, gallery, precond::Ick, solver::{Cg, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let problem = gallery::build("poisson5:16", &cpu)?;
/// let solver = Solver::<f64>::new(Cg::default(), Arc::new(problem.matrix))?
///     .preconditioned_by(&Ick::default())?;
/// let b = Vector::from_column(&cpu, problem.rhs);
/// let mut x = Vector::zeros_like(&b)?;
/// assert!(solver.solve(&b, &mut x)?.iterations < 16);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Ick {
    /// The highest level of fill.
    pub level: usize,
}

impl Default for Ick {
    fn default() -> Self {
        Self { level: 1 }
    }
}

impl Component for Ick {
    const REGISTRATION: Registration = Registration {
        name: "ick",
        summary: "Incomplete Cholesky factorisation with fill up to a level.",
        after_colon: &["level"],
        needs: &[Need::Entries, Need::DefiniteMatrix],
        support: Support::own_rows(&[IC0, TRIANGLES]),
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::Symmetric
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::per(25_usize.saturating_mul(1 + self.level), 56)
    }
}

preconditioner!(Ick);

impl<T: Mixes<T, T>> Factory<T> for Ick {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("ick set-up", 0);
        let entries = square_entries(a.as_ref(), "ick")?;
        check_positive("ick", &entries, &diagonal_places(&entries, "ick")?)?;
        check_hermitian(&entries, "ick", "iluk")?;
        on_host(entries.executor(), IC0);
        let entries = with_fill(&entries, self.level)?;
        let diagonal = diagonal_places(&entries, "ick")?;
        let (values, shift) = factorise_shifted("ick", &entries, &diagonal, 0.0)?;
        let label = format!("ick (shift {shift})");
        cholesky("ick", label, entries.pattern(), &values, &diagonal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::testing::{assemble, identity_error, laplacian, multiply};

    #[test]
    fn fill_makes_it_better_until_it_is_the_inverse() {
        let n = 25;
        let a = laplacian(&Executor::reference(), 5);
        let entry = |k: usize| a.entry(k / n, k % n).unwrap_or(0.0);
        let dense: Vec<f64> = (0..n * n).map(entry).collect();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let error = |level| {
            let m = Ick { level }.generate(&a, &Workspace::new()).unwrap();
            identity_error(n, &multiply(n, &assemble(m.as_ref()), &dense))
        };
        assert!(error(2) < error(1) && error(1) < error(0));
        assert!(error(20) < 1e-13);
    }
}
