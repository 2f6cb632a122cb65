//! Incomplete LU factorisation with fill up to a level.

use std::sync::Arc;

use super::fill_levels::with_fill;
use super::ilu0::factorise;
use super::incomplete::{Incomplete, Solves};
use super::{diagonal_places, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{ILU0, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::operations;
use crate::registration::{
    Component, Memory, MemoryOf, Need, Registration, Support, Symmetry, preconditioner,
};
use crate::scalar::Mixes;

/// `M = (L U)^-1` with fill up to a level (Saad 2003, section 10.3.3).
///
/// Level 0 is [`Ilu0`](super::Ilu0). Each level lets in what the elimination of the one below it makes, whatever its
/// value: factors grow, and iterations become fewer.
///
/// **Choose it** where `Ilu0` takes many iterations and memory allows more; [`Ilut`](super::Ilut) looks at the
/// values and is the better choice where they differ much.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, gallery, precond::Iluk, solver::{Gmres, Solver}, vector::Vector};
/// let cpu = Executor::cpu();
/// let problem = gallery::build("convdiff7:6,20", &cpu)?;
/// let mut iluk = Iluk::default();
/// iluk.level = 2;
/// let solver = Solver::<f64>::new(Gmres::default(), Arc::new(problem.matrix))?.preconditioned_by(&iluk)?;
/// let b = Vector::from_column(&cpu, problem.rhs);
/// let mut x = Vector::zeros_like(&b)?;
/// assert!(solver.solve(&b, &mut x)?.iterations < 10);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Iluk {
    /// The highest level of fill.
    pub level: usize,
    /// Steps of Jacobi's iteration in place of each triangular solve; 0 for substitution. Where so many are far from
    /// it, it is substitution nevertheless.
    pub sweeps: usize,
    /// Power of the pattern on which approximate inverses take the place of triangular solves; 0 for none.
    pub isai: usize,
}

impl Default for Iluk {
    fn default() -> Self {
        Self {
            level: 1,
            sweeps: 0,
            isai: 0,
        }
    }
}

impl Component for Iluk {
    const REGISTRATION: Registration = Registration {
        name: "iluk",
        summary: "Incomplete LU factorisation with fill up to a level.",
        after_colon: &["level"],
        needs: &[Need::Entries, Need::Diagonal],
        support: Support::own_rows(&[ILU0, TRIANGLES]),
    };

    fn symmetry(&self) -> Symmetry {
        // Of a symmetric matrix `U` is `D L^T`; the pattern of an approximate inverse knows no such thing.
        match self.isai {
            0 => Symmetry::Symmetric,
            _ => Symmetry::OneSided,
        }
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::per(24_usize.saturating_mul(1 + self.level), 60)
    }
}

preconditioner!(Iluk);

impl<T: Mixes<T, T>> Factory<T> for Iluk {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("iluk set-up", 0);
        let entries = square_entries(a.as_ref(), "iluk")?;
        diagonal_places(&entries, "iluk")?;
        let entries = with_fill(&entries, self.level)?;
        let diagonal = diagonal_places(&entries, "iluk")?;
        let values = match operations::factor::ilu0(&entries, &diagonal)? {
            Some(values) => values,
            None => factorise(&entries, &diagonal),
        };
        let factors = Incomplete::<T> {
            component: "iluk",
            pattern: entries.pattern(),
            values: &values,
            diagonal: &diagonal,
        };
        let (sweeps, isai) = (self.sweeps, self.isai);
        factors.operator(Solves { sweeps, isai }, ws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::testing::{assemble, convection, identity_error, multiply};

    fn error(iluk: Iluk) -> f64 {
        let n = 25;
        let a = convection(&Executor::reference(), 5);
        let entry = |k: usize| a.entry(k / n, k % n).unwrap_or(0.0);
        let dense: Vec<f64> = (0..n * n).map(entry).collect();
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let m = iluk.generate(&a, &Workspace::new()).unwrap();
        identity_error(n, &multiply(n, &assemble(m.as_ref()), &dense))
    }

    #[test]
    fn fill_makes_it_better_until_it_is_the_inverse() {
        let of_level = |level| {
            error(Iluk {
                level,
                ..Iluk::default()
            })
        };
        assert!(of_level(2) < of_level(1) && of_level(1) < of_level(0));
        assert!(of_level(20) < 1e-13);
    }

    #[test]
    fn triangular_solves_may_be_approximate() {
        let with = |sweeps, isai| {
            error(Iluk {
                level: 20,
                sweeps,
                isai,
            })
        };
        // A band is triangular in few sweeps, and a full pattern is the inverse.
        assert!(with(30, 0) < 1e-13);
        assert!(with(0, 5) < 1e-12 && with(0, 1) > 1e-6);
    }
}
