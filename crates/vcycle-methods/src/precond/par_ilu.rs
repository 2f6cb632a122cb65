//! Incomplete factors by fixed-point sweeps.

use std::sync::Arc;

use super::ic::{cholesky, lower_triangle};
use super::sweeper::Sweeper;
use super::triangular::Factors;
use super::{diagonal_places, example, nonzero_diagonal, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{IC0, ILU0, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::operations::factor::Factorisation;
use crate::registration::preconditioner;
use crate::scalar::Mixes;

preconditioner! {
    /// The factors of [`Ilu0`](super::Ilu0), approached by sweeps that compute all entries at once
    /// (Chow and Patel 2015).
    ///
    /// With `F = (L - I) D + U` and the diagonal `D` of `U`, a sweep sets, on the pattern of `A` and from the values
    /// before it, `f_ij = a_ij - sum_k<min(i,j) f_ik f_kj / f_kk`, and starts from `F = A`. Of a symmetric matrix `F` stays
    /// symmetric. The result is the same on any number of threads, and the exact factors once there are as many sweeps
    /// as the longest chain of dependencies.
    ///
    /// On the way there values can grow beyond all bounds, for matrices far from diagonally dominant. Where a sweep would
    /// enlarge the residual `A - L U` on the pattern, the factors are those of `Ilu0`, row after row, on devices front after front
    /// of rows that do not depend on each other, and a message says so.
    ///
    /// **Choose it** where the serial set-up of `Ilu0` takes too long; a few sweeps are as good for a
    /// preconditioner.
    ///
    #[doc = example!("ParIlu", "Gmres", "convdiff7:6,20", 20)]
    pub struct ParIlu {
        /// How many sweeps the set-up makes.
        pub sweeps: usize = 5,
    }
    // Of a symmetric matrix `U` is `D L^T`.
    name: "parilu", summary: "Incomplete LU factorisation by fixed-point sweeps.",
    after_colon: &["sweeps"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[ILU0, TRIANGLES]), symmetry: Symmetric,
    memory: Memory::per(24, 30),
}

impl<T: Mixes<T, T>> Factory<T> for ParIlu {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("parilu set-up", 0);
        let entries = square_entries(a.as_ref(), "parilu")?;
        nonzero_diagonal(&entries, "parilu")?;
        let diagonal = diagonal_places(entries.pattern(), "parilu")?;
        let sweeper = Sweeper {
            component: "parilu",
            factorisation: Factorisation::Lu,
            a: &entries,
            diagonal: &diagonal,
        };
        let values = sweeper.factors(None, self.sweeps, ws)?;
        Factors::unit_lower("parilu", entries.pattern(), &values, &diagonal)
    }
}

preconditioner! {
    /// The factor of [`Ic0`](super::Ic0), approached by sweeps that compute all entries at once (Chow and Patel 2015).
    ///
    /// With `F = L D^(1/2)` and `D` the square of the diagonal of `L`, a sweep sets, on the lower triangle of the pattern of `A` and
    /// from the values before it, `f_ij = a_ij - sum_k<j f_ik conj(f_jk) / d_k`, and starts from `F = A`. It is half the work of
    /// [`ParIlu`](super::ParIlu).
    ///
    /// Where a sweep would enlarge the residual `A - L L^H` on the pattern, the factor is that of `Ic0`, row after row, and a
    /// message says so.
    ///
    /// **Choose it** where the serial set-up of `Ic0` takes too long.
    ///
    #[doc = example!("ParIc", "Cg", "poisson5:16", 30)]
    pub struct ParIc {
        /// How many sweeps the set-up makes.
        pub sweeps: usize = 5,
    }
    name: "paric", summary: "Incomplete Cholesky factorisation by fixed-point sweeps.",
    after_colon: &["sweeps"], needs: &[Entries, DefiniteMatrix],
    support: Support::own_rows(&[IC0, TRIANGLES]), symmetry: Symmetric, memory: Memory::per(24, 56),
}

impl<T: Mixes<T, T>> Factory<T> for ParIc {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("paric set-up", 0);
        let lower = lower_triangle("paric", a.as_ref(), "parilu")?;
        let diagonal = diagonal_places(lower.pattern(), "paric")?;
        let sweeper = Sweeper {
            component: "paric",
            factorisation: Factorisation::Cholesky,
            a: &lower,
            diagonal: &diagonal,
        };
        let values = sweeper.factors(None, self.sweeps, ws)?;
        let (label, pattern) = ("paric".to_owned(), lower.pattern());
        cholesky("paric", label, pattern, &values, &diagonal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::testing::{
        convection, error_of, far_from_dominant, hermitian, laplacian, largest_difference,
        matrix_of, said,
    };
    use crate::precond::{Ic0, Ilu0};
    use crate::scalar::c64;

    #[test]
    fn sweeps_converge_to_the_factors_without_fill() {
        let host = Executor::reference();
        let (wind, a) = (convection::<f64>(&host, 8), hermitian::<c64>(&host, 12));
        let of_lu = matrix_of(&Ilu0::default(), &wind);
        let of_cholesky = matrix_of(&Ic0::default(), &a);
        let lu = |sweeps| largest_difference(&matrix_of(&ParIlu { sweeps }, &wind), &of_lu);
        let cholesky = |sweeps| largest_difference(&matrix_of(&ParIc { sweeps }, &a), &of_cholesky);
        assert!(lu(5) < 0.1 * lu(0) && lu(50) < 1e-14);
        assert!(cholesky(4) < 0.1 * cholesky(0) && cholesky(30) < 1e-14);
        // On the way they are as symmetric as the matrix.
        let m = matrix_of(&ParIlu { sweeps: 2 }, &laplacian(&host, 5));
        let turned: Vec<f64> = (0..625).map(|k| m[k % 25 * 25 + k / 25]).collect();
        assert!(largest_difference(&m, &turned) < 1e-14);
    }

    #[test]
    fn sweeps_that_diverge_give_way_to_factors_without_fill() {
        let device = vcycle_core::testing::device();
        for at in [Executor::reference()].into_iter().chain(device) {
            let a = far_from_dominant(&at, 20);
            for sweeps in [1, 5, 10] {
                // Without fill they are the inverse.
                let (error, told) = said(|| error_of(&ParIlu { sweeps }, &a));
                assert!(told.contains("parilu: the sweeps diverge"), "{told}");
                assert!(error < 1e-12);
            }
            let (m, told) = said(|| matrix_of(&ParIc::default(), &a));
            assert!(told.contains("paric: the sweeps diverge"), "{told}");
            assert_eq!(m, matrix_of(&Ic0::default(), &a));
        }
    }
}
