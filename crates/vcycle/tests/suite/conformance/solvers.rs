//! Every method on every executor.

use std::sync::Arc;

use vcycle::config::SolverConfig;
use vcycle::executor::Executor;
use vcycle::linop::LinOp;
use vcycle::precond::Jacobi;
use vcycle::scalar::{Field, Mixes, c64};
use vcycle::solver::{Method, Solver, SolverFactory};
use vcycle::stop::{Outcome, Stop};
use vcycle::vector::Vector;

use super::matrices::{tridiagonal, vector};

/// Of every system.
const ROWS: usize = 100;
/// Those that need a Hermitian positive definite matrix.
const DEFINITE: [&str; 6] = ["cg", "fcg", "pipecg", "minres", "chebyshev", "block-cg"];

/// Every iterative method there is, and whether it needs a Hermitian positive definite matrix.
fn methods<T: Mixes<T, T>>() -> Vec<(Arc<dyn Method<T>>, bool)> {
    let all = SolverConfig::all().into_iter();
    let iterative = all.filter(|solver| !["auto", "direct"].contains(&solver.name()));
    let method = |solver: SolverConfig| {
        let is_definite = DEFINITE.contains(&solver.name());
        (solver.method().unwrap(), is_definite)
    };
    iterative.map(method).collect()
}

fn solver<T: Mixes<T, T>>(
    executor: &Executor,
    method: &Arc<dyn Method<T>>,
    definite: bool,
    stop: Stop,
) -> Solver<T> {
    let (lower, upper) = if definite { (-1.0, -1.0) } else { (-1.5, -0.5) };
    let a: Arc<dyn LinOp<T>> = Arc::new(tridiagonal::<T>(executor, ROWS, lower, upper));
    let factory = SolverFactory {
        method: Arc::clone(method),
        preconditioner: Some(Arc::new(Jacobi::default())),
        stop,
    };
    factory.solver(&a, &Default::default()).unwrap()
}

/// Solves for a solution that is known; returns the largest error and the outcome.
fn error_of<T: Mixes<T, T>>(solver: &Solver<T>, cols: usize) -> (f64, Outcome) {
    let executor = solver.matrix().executor().clone();
    let known: Vector<T> = vector(&executor, ROWS, cols, 11);
    let mut b = Vector::zeros_like(&known).unwrap();
    let ws = Default::default();
    solver.matrix().apply(&known, &mut b, &ws).unwrap();
    let mut x = Vector::zeros_like(&known).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    let error = x
        .to_vec()
        .iter()
        .zip(known.to_vec())
        .map(|(x, known)| (x.to_c64() - known.to_c64()).modulus())
        .fold(0.0, f64::max);
    (error, outcome)
}

fn check<T: Mixes<T, T>>(executor: &Executor, tolerance: f64) {
    for (method, definite) in methods::<T>() {
        for cols in [1, 3] {
            let solver = solver(executor, &method, definite, Stop::relative(tolerance));
            let (error, outcome) = error_of(&solver, cols);
            assert!(outcome.converged(), "{}: {outcome}", method.name());
            assert!(error < 1e3 * tolerance, "{}: error {error}", method.name());
        }
    }
}

pub fn every_solver_finds_a_known_solution(executor: &Executor) {
    check::<f64>(executor, 1e-10);
    check::<f32>(executor, 1e-5);
    check::<c64>(executor, 1e-10);
}

pub fn columns_stop_individually(executor: &Executor) {
    for (method, definite) in methods::<f64>() {
        let solver = solver(executor, &method, definite, Stop::relative(1e-10));
        // The first column is zero and needs no iteration, the second needs many.
        let mut values = vec![0.0; 2 * ROWS];
        values[ROWS + 1] = 1.0;
        let b = Vector::from_rows(executor, 2, values).unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = solver.solve(&b, &mut x).unwrap();
        assert!(outcome.converged(), "{}: {outcome}", method.name());
        assert_eq!(outcome.columns[0].iterations, 0, "{}", method.name());
        assert!(outcome.columns[1].iterations > 0, "{}", method.name());
        assert!(x.to_vec().iter().step_by(2).all(|&value| value == 0.0));
    }
}
