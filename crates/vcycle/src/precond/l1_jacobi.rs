//! The absolute row sums of the matrix, inverted.

use std::sync::Arc;

use num_traits::Zero;

use super::jacobi::Diagonal;
use super::{nonzero_diagonal, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{Factory, LinOp};
use crate::matrix::Csr;
use crate::scalar::{Field, Mixes, RealOf, Scalar};

/// `M = omega D^-1` with `d_i = sign(a_ii) (|a_ii| + sum of |a_ij|, j != i)` (Baker, Falgout,
/// Kolev and Yang 2011).
///
/// The sign of a complex number is the number over its modulus.
///
/// **Choose it** as a smoother that needs no damping: for symmetric positive definite matrices
/// `D - A` is positive semidefinite, so the iteration converges whatever the matrix. As a
/// preconditioner of CG it is like [`Jacobi`](super::Jacobi) on rows of similar sums.
///
/// ```
/// use vcycle::precond::L1Jacobi;
/// assert_eq!(L1Jacobi::default().weight, 1.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct L1Jacobi {
    /// The factor `omega`.
    pub weight: f64,
}

impl Default for L1Jacobi {
    fn default() -> Self {
        Self { weight: 1.0 }
    }
}

impl<T: Mixes<T, T>> Factory<T> for L1Jacobi {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("l1-jacobi set-up", 0);
        let entries = square_entries(a.as_ref(), "l1-jacobi")?;
        let mut diagonal = nonzero_diagonal(&entries, "l1-jacobi")?;
        for (row, value) in diagonal.iter_mut().enumerate() {
            let sign = *value / T::Arith::from_real(value.modulus());
            *value = sign * T::Arith::from_real(absolute_sum(&entries, row));
        }
        let inverse = Diagonal::<T>::inverse("l1-jacobi", a.executor(), &diagonal, self.weight)?;
        Ok(Arc::new(inverse))
    }
}

fn absolute_sum<T: Scalar>(a: &Csr<T>, row: usize) -> RealOf<T> {
    let moduli = a.row(row).1.iter().map(|value| value.load().modulus());
    moduli.fold(RealOf::<T>::zero(), |sum, modulus| sum + modulus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::testing::{assemble, from_dense};

    #[test]
    fn rows_are_divided_by_their_signed_sums() {
        let a = from_dense(&Executor::reference(), 2, &[2.0, -1.0, 5.0, -3.0]);
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let m = L1Jacobi { weight: 0.5 }.generate(&a, &Workspace::new());
        let m = assemble(m.unwrap().as_ref());
        assert_eq!(m, [0.5 / 3.0, 0.0, 0.0, -0.5 / 8.0]);
    }
}
