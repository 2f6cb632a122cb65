//! Symmetric successive over-relaxation.

use std::sync::Arc;

use num_traits::One;

use super::order::{Rows, Side};
use super::sor::relaxation_triangle;
use super::sweeps::repeated;
use super::triangular::{Factors, Triangle};
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

/// Symmetric over-relaxation from a zero guess: a sweep forwards, then one backwards.
///
/// For one sweep `M = (2 - omega) / omega (D / omega + U)^-1 D (D / omega + L)^-1` with
/// `A = L + D + U` (Axelsson 1974). The factors are stored as triangles, so an application costs
/// one pass over the matrix, every further sweep two.
///
/// **Choose it** with conjugate gradients: it is symmetric (Hermitian) positive definite where the
/// matrix is. Symmetric Gauss-Seidel is `omega = 1`. It needs no factorisation, so it cannot fail
/// as [`Ic0`](super::Ic0) can, which is stronger.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, matrix::Csr, precond::Ssor, solver::{Cg, Solver},
///              vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let mut precond = Ssor::default();
/// precond.omega = 1.2;
/// let solver = Solver::<f64>::new(Cg::default(), a)?.preconditioned_by(&precond)?;
/// let mut x = Vector::zeros(&cpu, 3, 1)?;
/// assert_eq!(solver.solve(&Vector::filled(&cpu, 3, 1, 1.0)?, &mut x)?.iterations, 1);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Ssor {
    /// The relaxation `omega`, between 0 and 2.
    pub omega: f64,
    /// How many pairs of sweeps an application makes.
    pub sweeps: usize,
}

impl Default for Ssor {
    fn default() -> Self {
        Self {
            omega: 1.0,
            sweeps: 1,
        }
    }
}

impl Component for Ssor {
    const REGISTRATION: Registration = Registration {
        name: "ssor",
        summary: "Symmetric successive over-relaxation.",
        after_colon: &["omega", "sweeps"],
        needs: &[Need::Entries, Need::Diagonal],
        support: Support::own_rows(&[TRIANGLES]),
    };

    fn symmetry(&self) -> Symmetry {
        Symmetry::Symmetric
    }

    fn memory(&self, _of: MemoryOf) -> Memory {
        Memory::per(12, 58)
    }
}

preconditioner!(Ssor);

impl<T: Mixes<T, T>> Factory<T> for Ssor {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("ssor set-up", 0);
        check_omega(self.omega)?;
        let entries = square_entries(a.as_ref(), "ssor")?;
        let diagonal = nonzero_diagonal(&entries, "ssor")?;
        let once = both_ways("ssor", &Rows::Natural, &entries, &diagonal, self.omega)?;
        repeated("ssor", a, Arc::new(once), self.sweeps)
    }
}

/// A sweep through the rows, in any order, and one back.
pub(super) fn both_ways<T: Scalar>(
    component: &'static str,
    rows: &Rows,
    a: &Csr<T>,
    diagonal: &[T::Arith],
    omega: f64,
) -> Result<Factors<T>> {
    Ok(Factors {
        label: format!("{component} (omega {omega})"),
        lower: relaxation_triangle(component, rows, a, diagonal, omega)?,
        upper: scaled_upper(component, rows, a, diagonal, omega)?,
    })
}

/// `omega / (2 - omega) D^-1 (D / omega + U)`: the scaling between the two sweeps joined to the
/// second of them.
fn scaled_upper<T: Scalar>(
    component: &'static str,
    rows: &Rows,
    a: &Csr<T>,
    diagonal: &[T::Arith],
    omega: f64,
) -> Result<Triangle<T>> {
    let on_diagonal = T::Arith::one() / T::Arith::from_f64(2.0 - omega);
    let scale = T::Arith::from_f64(omega / (2.0 - omega));
    let value = |row: usize, place: usize| scale * a.values()[place].load() / diagonal[row];
    let on_diagonal = Some(vec![on_diagonal; diagonal.len()]);
    Triangle::of_rows(
        component,
        rows,
        Side::Upper,
        a.pattern(),
        on_diagonal,
        value,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::testing::{assemble, convection, hermitian, identity_error, multiply};
    use crate::scalar::c64;

    #[test]
    fn the_inverse_is_the_product_of_the_definition() {
        let (n, omega) = (16, 1.4);
        let a = convection(&Executor::reference(), 4);
        let part = |keep: fn(usize, usize) -> bool, scale: f64| -> Vec<f64> {
            let entry = |i: usize| (i / n, i % n);
            let value = |(row, column)| match row == column {
                true => scale * a.entry(row, row).unwrap(),
                false if keep(row, column) => a.entry(row, column).unwrap_or(0.0),
                false => 0.0,
            };
            (0..n * n).map(entry).map(value).collect()
        };
        let lower = part(|row, column| column < row, 1.0 / omega);
        let upper = part(|row, column| column > row, 1.0 / omega);
        let mut inverse_diagonal = vec![0.0; n * n];
        for row in 0..n {
            inverse_diagonal[row * n + row] = omega / (2.0 - omega) / a.entry(row, row).unwrap();
        }
        let inverse = multiply(n, &multiply(n, &lower, &inverse_diagonal), &upper);
        let matrix: Arc<dyn LinOp<f64>> = Arc::new(a);
        let m = Ssor { omega, sweeps: 1 }.generate(&matrix, &Workspace::new());
        let m = assemble(m.unwrap().as_ref());
        assert!(identity_error(n, &multiply(n, &inverse, &m)) < 1e-13);
    }

    #[test]
    fn it_is_hermitian_for_any_number_of_sweeps() {
        let n = 12;
        let a: Arc<dyn LinOp<c64>> = Arc::new(hermitian::<c64>(&Executor::reference(), n));
        for sweeps in [1, 3] {
            let m = Ssor { omega: 1.2, sweeps }.generate(&a, &Workspace::new());
            let m = assemble(m.unwrap().as_ref());
            for (row, column) in (0..n * n).map(|i| (i / n, i % n)) {
                let difference = m[row * n + column] - m[column * n + row].conj();
                assert!(difference.norm() < 1e-14);
            }
        }
    }
}
