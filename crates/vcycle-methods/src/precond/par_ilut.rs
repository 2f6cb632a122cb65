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
    use crate::error::Error;
    use crate::executor::Executor;
    use crate::precond::testing::{
        convection, error_of, laplacian, largest_difference, made, made_of, said,
    };
    use crate::precond::{Ic0, Ilu0, Ilut};
    use crate::vector::Vector;
    use vcycle_core::testing::device;

    fn of_fill(fill: f64) -> ParIlut {
        ParIlut {
            fill,
            ..ParIlut::default()
        }
    }

    #[test]
    fn fill_is_spent_where_it_helps() {
        let a = convection::<f64>(&Executor::reference(), 8);
        let twice = error_of(&ParIlut::default(), &a);
        assert!(twice < 0.6 * error_of(&Ilu0::default(), &a), "{twice}");
        let serial = Ilut {
            threshold: 0.0,
            ..Ilut::default()
        };
        assert!(twice < 2.0 * error_of(&serial, &a), "{twice}");
        assert!(error_of(&of_fill(4.0), &a) < 0.5 * twice);
    }

    #[test]
    fn the_cholesky_factor_is_half_of_it() {
        let a = laplacian::<f64>(&Executor::reference(), 8);
        let half = error_of(&ParIct::default(), &a);
        assert!(half < 0.8 * error_of(&Ic0::default(), &a), "{half}");
        let whole = error_of(&ParIlut::default(), &a);
        assert!((half - whole).abs() < 1e-6 * whole, "{half} {whole}");
    }

    #[test]
    fn factors_have_the_room_they_are_given() {
        let a = convection::<f64>(&Executor::reference(), 8);
        for fill in [1.0, 1.5, 3.0] {
            let found = of_fill(fill).search().search(&a).unwrap().nonzeros() as f64;
            let room = fill * (a.nonzeros() - 64) as f64 + 64.0;
            assert!((0.9 * room..=room).contains(&found), "{fill}");
        }
    }

    #[test]
    fn devices_find_the_factors_of_the_host() {
        let Some(device) = device() else { return };
        // Many entries are equal: which of them are kept is part of it.
        let host = convection::<f64>(&Executor::reference(), 12);
        let there = host.copy_to(&device).unwrap();
        let ws = Workspace::new();
        for fill in [1.0, 2.0, 3.5] {
            let search = Search {
                steps: 3,
                ..of_fill(fill).search()
            };
            let (found, told) = said(|| search.factors(&there, &ws).unwrap());
            assert!(told.is_empty(), "{told}");
            let expected = search.factors(&host, &ws).unwrap();
            assert_eq!(found.0.columns(), expected.0.columns(), "{fill}");
            assert_eq!(found.0.offsets(), expected.0.offsets(), "{fill}");
            assert!(largest_difference(&found.1, &expected.1) < 1e-13);
        }
        let a = laplacian::<f64>(&Executor::reference(), 12);
        for fill in [1.0, 2.0] {
            let [here, there] = [&Executor::reference(), &device].map(|executor| {
                let parict = ParIct {
                    fill,
                    ..ParIct::default()
                };
                let a = a.copy_to(executor).unwrap();
                let (m, told) = said(|| made(&parict, &a).unwrap());
                assert!(told.is_empty(), "{told}");
                let ones = Vector::filled(executor, a.size().rows, 1, 1.0).unwrap();
                let mut x = Vector::zeros_like(&ones).unwrap();
                m.apply(&ones, &mut x, &ws).unwrap();
                x.to_vec()
            });
            assert!(largest_difference(&here, &there) < 1e-12, "{fill}");
        }
    }

    #[test]
    fn threads_change_no_bit() {
        let [one, three] = [1, 3].map(|threads| {
            let cpu = Executor::cpu_with_threads(threads).unwrap();
            let found = ParIlut::default()
                .search()
                .search(&convection::<f64>(&cpu, 12));
            let found = found.unwrap();
            (found.columns().to_vec(), found.values().to_vec())
        });
        assert_eq!(one, three);
    }

    #[test]
    fn missing_diagonals_indefinite_matrices_and_bad_fill_are_named() {
        let missing = made_of(&ParIlut::default(), 2, &[1.0, 2.0, 2.0, 0.0]);
        assert!(matches!(missing, Err(Error::ZeroDiagonal { row: 1, .. })));
        let refused = made_of(&of_fill(0.5), 1, &[1.0]);
        assert!(matches!(refused, Err(Error::BadParameter { .. })));
        let indefinite = made_of(&ParIct::default(), 2, &[1.0, 2.0, 2.0, -3.0]);
        assert!(matches!(indefinite, Err(Error::BadPivot { row: 1, .. })));
    }
}
