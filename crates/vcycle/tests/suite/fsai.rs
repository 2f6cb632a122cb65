//! Approximate inverses on real matrices.

use std::sync::Arc;

use vcycle::executor::Executor;
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::linop::{Factory, LinOp};
use vcycle::matrix::Csr;
use vcycle::precond::{Fsai, Jacobi};
use vcycle::solver::{Cg, Solver};
use vcycle::vector::Vector;

/// Iterations of conjugate gradients, if they converge.
fn iterations(factory: &dyn Factory<f64>, a: &Arc<Csr<f64>>) -> Option<f64> {
    let mut solver = Solver::new(Cg::default(), Arc::clone(a) as Arc<dyn LinOp<f64>>).ok()?;
    solver = solver.preconditioned_by(factory).unwrap();
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
    let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
    let outcome = outcome.unwrap();
    outcome.converged().then_some(outcome.iterations as f64)
}

#[test]
fn on_real_matrices_it_takes_half_the_iterations_of_jacobi() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/matrices/");
    let Ok(manifest) = std::fs::read_to_string(format!("{folder}MANIFEST.tsv")) else {
        eprintln!("skipped: no {folder}");
        return;
    };
    let mut logarithms = Vec::new();
    for line in manifest.lines().filter(|line| line.contains("\tSPD")) {
        let mut words = line.split('\t');
        let name = words.next().unwrap_or_default();
        let rows = words.next().and_then(|rows| rows.parse::<usize>().ok());
        if rows.is_none_or(|rows| rows > 2000) {
            continue;
        }
        let file = format!("{folder}{name}.mtx.xz");
        let a = match load_matrix(std::path::Path::new(&file), &Executor::cpu()) {
            Ok(AnyMatrix::Real(a)) => Arc::new(a),
            _ => continue,
        };
        let fsai = iterations(&Fsai::default(), &a);
        let jacobi = iterations(&Jacobi::default(), &a);
        eprintln!("{name}: fsai {fsai:?}, jacobi {jacobi:?}");
        if let (Some(fsai), Some(jacobi)) = (fsai, jacobi) {
            logarithms.push((fsai / jacobi).ln());
        }
    }
    let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
    eprintln!(
        "{mean} of the iterations of Jacobi over {} matrices",
        logarithms.len()
    );
    assert!(logarithms.len() >= 12 && mean < 0.5, "{mean}");
}
