//! l1-Jacobi: the inverted absolute row sums of the matrix.

use std::sync::Arc;

use num_traits::Zero;

use super::example;
use super::jacobi::Diagonal;
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{Factory, LinOp};
use crate::matrix::Csr;
use crate::registration::preconditioner;
use crate::scalar::{Field, Mixes, RealOf, Scalar};

preconditioner! {
    /// `M = omega D^-1` with `d_i = sum of |a_ij|`, the diagonal included (Baker, Falgout, Kolev and
    /// Yang 2011).
    ///
    /// The weights are positive whatever the signs of the diagonal, and no diagonal entry need be
    /// stored: `M` is positive definite for any matrix without zero rows.
    ///
    /// **Choose it** as a smoother that needs no damping: for symmetric positive definite matrices
    /// `D - A` is positive semidefinite, so the iteration converges whatever the matrix. As a
    /// preconditioner of CG it is like [`Jacobi`](super::Jacobi) on rows of similar sums, and
    /// [`Minres`](crate::solver::Minres) takes it for indefinite matrices too.
    ///
    #[doc = example!("L1Jacobi", "Cg", "poisson5:16", 60)]
    pub struct L1Jacobi {
        /// The factor `omega`.
        pub weight: f64 = 1.0,
    }
    name: "l1-jacobi", summary: "The diagonal of absolute row sums.", after_colon: &["weight"],
    needs: &[Entries], support: Support::ROWS, symmetry: Symmetric, memory: Memory::per(0, 8),
}

impl<T: Mixes<T, T>> Factory<T> for L1Jacobi {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("l1-jacobi set-up", 0);
        Ok(Arc::new(self.inverse(a.as_ref())?))
    }
}

impl L1Jacobi {
    /// `omega D^-1`.
    pub(crate) fn inverse<T: Scalar>(&self, a: &dyn LinOp<T>) -> Result<Diagonal<T>> {
        let sums = |rows: &Csr<T>, _| absolute_sums(rows);
        Diagonal::over("l1-jacobi", a, self.weight, true, sums)
    }
}

fn absolute_sums<T: Scalar>(a: &Csr<T>) -> Vec<T::Arith> {
    let of_row = |(): &mut (), row: usize| {
        let moduli = a.row(row).1.iter().map(|value| value.load().modulus());
        T::Arith::from_real(moduli.fold(RealOf::<T>::zero(), |sum, modulus| sum + modulus))
    };
    a.map_rows(|| (), of_row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::testing::{from_dense, matrix_of};

    #[test]
    fn rows_are_divided_by_their_absolute_sums() {
        for (a, sums) in [
            ([2.0, -1.0, 5.0, -3.0], [3.0, 8.0]),
            ([0.0, 2.0, 2.0, 0.0], [2.0, 2.0]),
        ] {
            let a = from_dense::<f64>(&Executor::reference(), 2, &a);
            let m = matrix_of(&L1Jacobi { weight: 0.5 }, &a);
            assert_eq!(m, [0.5 / sums[0], 0.0, 0.0, 0.5 / sums[1]]);
        }
    }
}
