//! Preconditioners over ranks in every type of numbers, beside the same without ranks.

use super::{AdditiveSchwarz, ChebyshevPolynomial, Fsai, Ic0, Jacobi, L1Jacobi, Polynomial};
use crate::gallery;
use crate::matrix::Partition;
use crate::prelude::*;
use crate::solver::{Cg, Solver};
use crate::stop::Stop;

/// A Hermitian matrix of 100 rows, real where `T` is.
fn whole<T: Mixes<T, T>>() -> Csr<T> {
    let host = Executor::cpu_with_threads(1).unwrap();
    match T::KIND.is_complex() {
        true => {
            let problem = gallery::build_complex("magnetic:10,0.05", &host).unwrap();
            problem.matrix.convert().unwrap()
        }
        false => {
            let problem = gallery::build("poisson5:10", &host).unwrap();
            problem.matrix.convert().unwrap()
        }
    }
}

/// Iterations of conjugate gradients, and the solution.
fn solved<T: Mixes<T, T>>(
    a: Arc<dyn LinOp<T>>,
    factory: &dyn Factory<T>,
) -> Result<(usize, Vec<T>)> {
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let solver = Solver::new(Cg::default(), a)?.preconditioned_by(factory)?;
    let solver = solver.stopping(Stop::relative(30.0 * T::KIND.roundoff()));
    let mut x = Vector::zeros_like(&b)?;
    let outcome = solver.solve(&b, &mut x)?;
    assert!(outcome.converged(), "{}: {outcome}", T::KIND);
    Ok((outcome.iterations, x.to_vec()))
}

/// Compares with one process, unless what is applied depends on the ranks.
fn check<T: Mixes<T, T>>(factory: &dyn Factory<T>, is_same: bool) {
    let whole = whole::<T>();
    let (alone, expected) = solved(Arc::new(whole.clone()), factory).unwrap();
    for ranks in [1, 2, 3, 7] {
        on_ranks(ranks, |rank, team| {
            let rows = Partition::even(100, 1, ranks);
            let own = rows.range(team.rank());
            let a = Distributed::part_of(rank, &whole, rows)?;
            let (iterations, x) = solved(Arc::new(a), factory)?;
            let apart = iterations.abs_diff(alone);
            assert!(apart <= 1 || !is_same, "{}: {iterations} {alone}", T::KIND);
            for (x, y) in x.iter().zip(&expected[own.start as usize..]) {
                let off = (x.to_c64() - y.to_c64()).norm();
                assert!(off < 1e4 * T::KIND.roundoff() * (1.0 + y.to_c64().norm()));
            }
            Ok(())
        });
    }
}

fn check_all<T: Mixes<T, T>>() {
    check::<T>(&Jacobi::default(), true);
    check::<T>(&L1Jacobi::default(), true);
    check::<T>(&Polynomial::default(), true);
    check::<T>(&ChebyshevPolynomial::default(), true);
    check::<T>(&Fsai::default(), true);
    let schwarz = AdditiveSchwarz::<T> {
        inner: Arc::new(Ic0::default()),
        overlap: 1,
        restricted: false,
    };
    check::<T>(&schwarz, false);
}

#[test]
fn single_precision_is_preconditioned_over_ranks_as_without() {
    check_all::<f32>();
}

#[test]
fn complex_numbers_are_preconditioned_over_ranks_as_without() {
    check_all::<c64>();
    check_all::<c32>();
}
