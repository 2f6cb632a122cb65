//! Incomplete factors with a threshold, by fixed-point sweeps.

use std::sync::Arc;

use super::ic::{cholesky, lower_triangle};
use super::ilut::check_fill;
use super::incomplete::{Incomplete, Solves};
use super::search::Search;
use super::{diagonal_places, example, nonzero_diagonal, square_entries};
use crate::error::Result;
use crate::executor::Workspace;
use crate::host_stages::{ILU0, PARICT, TRIANGLES};
use crate::linop::{Factory, LinOp};
use crate::operations::factor::Factorisation;
use crate::registration::preconditioner;
use crate::scalar::Mixes;

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
        let (sweeps, isai) = (self.sweeps, self.isai);
        factors.operator(Solves { sweeps, isai }, ws)
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
        let (label, diagonal) = ("parict".to_owned(), diagonal_places(&pattern, "parict")?);
        cholesky("parict", label, &pattern, &values, &diagonal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::precond::testing::{convection, error_of, laplacian, parsed};
    use crate::precond::{Ic0, Ilu0};

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
    fn factors_have_the_room_they_are_given() {
        let a = convection::<f64>(&Executor::reference(), 8);
        for fill in [1.0, 1.5, 3.0] {
            let parilut = ParIlut {
                fill,
                ..ParIlut::default()
            };
            let found = parilut.search().search(&a).unwrap().nonzeros() as f64;
            let room = fill * (a.nonzeros() - 64) as f64 + 64.0;
            assert!((0.9 * room..=room).contains(&found), "{fill}");
        }
    }
}
