//! Successive over-relaxation; Gauss-Seidel.

use std::sync::Arc;

use super::order::{Rows, Side};
use super::sweeps::repeated;
use super::triangular::Triangle;
use super::{check_omega, nonzero_diagonal, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::TRIANGLES;
use crate::linop::{Factory, LinOp};
use crate::matrix::Csr;
use crate::registration::{
    Component, Memory, MemoryOf, Need, Registration, Support, Symmetry, preconditioner,
};
use crate::scalar::{Field, Mixes, Scalar};

/// Sweeps of successive over-relaxation from a zero guess: `M = (D / omega + L)^-1` for one sweep,
/// with the diagonal `D` and the strictly lower triangle `L` of the matrix. Gauss-Seidel is
/// `omega = 1`.
///
/// The result is that of relaxing the rows in their order, whatever the number of threads. Rows
/// that do not depend on each other are relaxed at the same time where there are enough of them;
/// a matrix with long chains of dependencies (a banded one) is left to one thread. The first sweep
/// costs half a pass over the matrix, every further one and a half.
///
/// **Choose it** with solvers for nonsymmetric matrices, or as a smoother. It is not symmetric;
/// with conjugate gradients take [`Ssor`](super::Ssor).
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, precond::Sor, solver::{Cg, Solver},
///              vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let mut precond = Sor::default();
/// precond.omega = 1.2;
/// let solver = Solver::<f64>::new(Cg::default(), a)?.preconditioned_by(&precond)?;
/// let mut x = Vector::zeros(&cpu, 3, 1)?;
/// assert_eq!(solver.solve(&Vector::filled(&cpu, 3, 1, 1.0)?, &mut x)?.iterations, 1);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Sor {
    /// The relaxation `omega`, between 0 and 2.
    pub omega: f64,
    /// How many sweeps an application makes.
    pub sweeps: usize,
}

impl Default for Sor {
    fn default() -> Self {
        Self {
            omega: 1.0,
            sweeps: 1,
        }
    }
}

impl Component for Sor {
    const REGISTRATION: Registration = Registration {
        name: "sor",
        summary: "Successive over-relaxation.",
        after_colon: &["omega", "sweeps"],
        needs: &[Need::Entries, Need::Diagonal],
        support: Support::own_rows(&[TRIANGLES]),
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::OneSided
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::per(12, 58)
    }
}

preconditioner!(Sor);

impl<T: Mixes<T, T>> Factory<T> for Sor {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("sor set-up", 0);
        check_omega(self.omega)?;
        let entries = square_entries(a.as_ref(), "sor")?;
        let diagonal = nonzero_diagonal(&entries, "sor")?;
        let once = relaxation_triangle("sor", &Rows::Natural, &entries, &diagonal, self.omega)?;
        repeated("sor", a, Arc::new(once), self.sweeps)
    }
}

/// `D / omega + L`, with the rows in any order.
pub(super) fn relaxation_triangle<T: Scalar>(
    component: &'static str,
    rows: &Rows,
    a: &Csr<T>,
    diagonal: &[T::Arith],
    omega: f64,
) -> Result<Triangle<T>> {
    let omega = T::Arith::from_f64(omega);
    let relaxed = diagonal.iter().map(|&value| value / omega).collect();
    let value = |_, place: usize| a.values()[place].load();
    let pattern = a.pattern();
    Triangle::of_rows(component, rows, Side::Lower, pattern, Some(relaxed), value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::precond::testing::{convection, values_for};
    use crate::vector::Vector;

    /// Relaxes the unknowns one after the other, as the textbook says.
    fn textbook(a: &Csr<f64>, b: &[f64], omega: f64, sweeps: usize) -> Vec<f64> {
        let mut x = vec![0.0; b.len()];
        for row in (0..sweeps).flat_map(|_| 0..b.len()) {
            let (columns, values) = a.row(row);
            let products = columns.iter().zip(values).map(|(&c, v)| v * x[c as usize]);
            let residual = b[row] - products.sum::<f64>();
            x[row] += omega * residual / a.entry(row, row).unwrap();
        }
        x
    }

    #[test]
    fn sweeps_are_those_of_the_textbook() {
        let host = Executor::reference();
        let a = Arc::new(convection(&host, 5));
        let b = values_for(25);
        for (omega, sweeps) in [(1.0, 1), (1.3, 1), (0.8, 3)] {
            let expected = textbook(&a, &b, omega, sweeps);
            let matrix: Arc<dyn LinOp<f64>> = a.clone();
            let m = Sor { omega, sweeps }.generate(&matrix, &Workspace::new());
            let mut x = Vector::zeros(&host, 25, 1).unwrap();
            let b = Vector::from_column(&host, b.clone());
            m.unwrap().apply(&b, &mut x, &Workspace::new()).unwrap();
            for (x, expected) in x.to_vec().iter().zip(expected) {
                assert!((x - expected).abs() < 1e-13, "{x} {expected}");
            }
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let a: Arc<dyn LinOp<f64>> = Arc::new(Csr::<f64>::identity(&Executor::reference(), 2));
        for (omega, sweeps) in [(0.0, 1), (2.0, 1), (f64::NAN, 1), (1.0, 0)] {
            let result = Sor { omega, sweeps }.generate(&a, &Workspace::new());
            assert!(matches!(result, Err(Error::BadParameter { .. })));
        }
    }
}
