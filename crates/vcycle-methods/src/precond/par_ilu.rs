//! Incomplete factors by fixed-point sweeps, on the pattern of the matrix or on one that is found together with the values.

use super::ic::{cholesky, lower_triangle};
use super::ilut::check_fill;
use super::incomplete::Incomplete;
use super::search::Search;
use super::sweeper::Sweeper;
use super::triangular::unit_lower;
use super::{diagonal_places, example, nonzero_diagonal, square_entries};
use crate::host_stages::{IC0, ILU0, PARICT, TRIANGLES};
use crate::operations::factor::Factorisation;
use crate::prelude::*;
use crate::registration::preconditioner;

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
        unit_lower("parilu", entries.pattern(), &values, &diagonal)
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
        cholesky("paric", "paric", lower.pattern(), &values, &diagonal)
    }
}

preconditioner! {
    /// Incomplete LU factors whose pattern and values are found together, all entries at once (Anzt, Chow and Dongarra 2018;
    /// Anzt, Ribizel, Flegar, Chow and Dongarra 2019: ParILUT).
    ///
    /// Starting from the pattern of the matrix, each step
    /// 1. adds every place where `A - L U` is not zero, with that value,
    /// 2. makes a fixed-point sweep of [`ParIlu`](super::ParIlu) on the larger pattern,
    /// 3. keeps the largest entries of either factor, `fill` times those of the matrix,
    /// 4. makes another sweep.
    ///
    /// All of it runs on all threads, with the same result on any number of them. Where a sweep would enlarge the residual on the
    /// pattern, the factors are made row after row in its place; a message says so where these are the last ones.
    ///
    /// **Choose it** where [`Ilu0`](super::Ilu0) takes many iterations; [`Ilut`](super::Ilut) is its serial counterpart and the
    /// stronger one for matrices that are far from diagonally dominant.
    ///
    #[doc = example!("ParIlut", "Gmres", "convdiff7:6,20", 10)]
    pub struct ParIlut {
        /// Entries of the factors, over those of the matrix.
        pub fill: f64 = 2.0,
        /// How often entries are added and removed.
        pub steps: usize = 5,
        /// Steps of Jacobi's iteration in place of each triangular solve; 0 for substitution. Where so many are far from
        /// it, it is substitution nevertheless.
        pub sweeps: usize = 0,
        /// Power of the pattern on which approximate inverses take the place of triangular solves; 0 for none.
        pub isai: usize = 0,
    }
    name: "parilut",
    summary: "Incomplete LU factorisation with a threshold, by fixed-point sweeps.",
    after_colon: &["fill", "steps"], needs: &[Entries, Diagonal],
    support: Support::own_rows(&[ILU0, TRIANGLES]), symmetry: OneSided, memory: Memory::per(0, 60);
    more memory: |own, _| Memory::per((80.0 * own.fill) as usize, 0);
}

impl<T: Mixes<T, T>> Factory<T> for ParIlut {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("parilut set-up", 0);
        check_fill(self.fill)?;
        let entries = square_entries(a.as_ref(), "parilut")?;
        nonzero_diagonal(&entries, "parilut")?;
        let (pattern, values) = self.search().factors(&entries.convert::<T::Arith>()?, ws)?;
        let factors = Incomplete::<T> {
            component: "parilut",
            pattern: &pattern,
            values: &values,
            diagonal: &diagonal_places(&pattern, "parilut")?,
        };
        factors.operator((self.sweeps, self.isai), ws)
    }
}

impl ParIlut {
    fn search(&self) -> Search {
        Search {
            component: "parilut",
            factorisation: Factorisation::Lu,
            fill: self.fill,
            steps: self.steps,
        }
    }
}

preconditioner! {
    /// The incomplete Cholesky factor whose pattern and values are found together: what [`ParIlut`](super::ParIlut) is
    /// for general matrices, in the steps of [`ParIc`](super::ParIc).
    ///
    /// Where a sweep would enlarge the residual, or a pivot is not positive, the factor is made row after row in its place, with
    /// the shifts of [`Ic0`](super::Ic0); a message says so where it is the last one.
    ///
    /// **Choose it** with conjugate gradients where `Ic0` takes many iterations and multigrid does not suit the matrix.
    ///
    #[doc = example!("ParIct", "Cg", "poisson5:16", 16)]
    pub struct ParIct {
        /// Entries of the factor, over those of the lower triangle of the matrix.
        pub fill: f64 = 2.0,
        /// How often entries are added and removed.
        pub steps: usize = 5,
    }
    name: "parict",
    summary: "Incomplete Cholesky factorisation with a threshold, by fixed-point sweeps.",
    after_colon: &["fill", "steps"], needs: &[Entries, DefiniteMatrix],
    support: Support::own_rows(&[PARICT, TRIANGLES]), symmetry: Symmetric,
    memory: Memory::per(0, 60);
    more memory: |own, _| Memory::per((60.0 * own.fill) as usize, 0);
}

impl<T: Mixes<T, T>> Factory<T> for ParIct {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        let _stage = ws.stage("parict set-up", 0);
        check_fill(self.fill)?;
        let lower = lower_triangle("parict", a.as_ref(), "parilut")?;
        let search = Search {
            component: "parict",
            factorisation: Factorisation::Cholesky,
            fill: self.fill,
            steps: self.steps,
        };
        let (pattern, values) = search.factors(&lower.convert::<T::Arith>()?, ws)?;
        let diagonal = diagonal_places(&pattern, "parict")?;
        cholesky("parict", "parict", &pattern, &values, &diagonal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precond::testing::{
        convection, error_of, far_from_dominant, hermitian, laplacian, largest_difference,
        matrix_of, parsed, with_messages,
    };
    use crate::precond::{Ic0, Ilu0};

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
        let device = device();
        for at in [Executor::reference()].into_iter().chain(device) {
            let a = far_from_dominant(&at, 20);
            for sweeps in [1, 5, 10] {
                // Without fill they are the inverse.
                let (error, message) = with_messages(|| error_of(&ParIlu { sweeps }, &a));
                assert!(message.contains("parilu: the sweeps diverge"), "{message}");
                assert!(error < 1e-12);
            }
            let (m, message) = with_messages(|| matrix_of(&ParIc::default(), &a));
            assert!(message.contains("paric: the sweeps diverge"), "{message}");
            assert_eq!(m, matrix_of(&Ic0::default(), &a));
        }
    }

    #[test]
    fn fill_is_spent_where_it_helps() {
        let host = Executor::reference();
        let a = convection::<f64>(&host, 8);
        let twice = error_of(&ParIlut::default(), &a);
        assert!(twice < 0.6 * error_of(&Ilu0::default(), &a), "{twice}");
        let error = |text| error_of(parsed(text).as_ref(), &a);
        assert!(twice < 2.0 * error("ilut threshold=0.0"), "{twice}");
        assert!(error("parilut fill=4.0") < 0.5 * twice);
        // The Cholesky factor is half of it.
        let a = laplacian::<f64>(&host, 8);
        let half = error_of(&ParIct::default(), &a);
        assert!(half < 0.8 * error_of(&Ic0::default(), &a), "{half}");
        let whole = error_of(&ParIlut::default(), &a);
        assert!((half - whole).abs() < 1e-6 * whole, "{half} {whole}");
    }

    #[test]
    fn factors_have_as_many_entries_as_allowed() {
        let a = convection::<f64>(&Executor::reference(), 8);
        for fill in [1.0, 1.5, 3.0] {
            let parilut = ParIlut {
                fill,
                ..ParIlut::default()
            };
            let found = parilut.search().search(&a).unwrap().nonzeros() as f64;
            let capacity = fill * (a.nonzeros() - 64) as f64 + 64.0;
            assert!((0.9 * capacity..=capacity).contains(&found), "{fill}");
        }
    }
}
