//! The commands scripts rely on, on real matrices of the shared collection.

use std::path::{Path, PathBuf};

use crate::common::{ok, scratch, vcycle};
use vcycle::executor::Executor;
use vcycle::io::{self, AnyMatrix, AnyVector};
use vcycle::matrix::Csr;
use vcycle::scalar::c64;

/// A file of the collection, if there is one.
fn shared(name: &str) -> Option<PathBuf> {
    vcycle_gpu::testing::shared(&format!("matrices/{name}.mtx.xz"))
}

/// A matrix, in complex numbers.
fn matrix(path: &Path) -> Csr<c64> {
    match io::load_matrix(path, &Executor::reference()).unwrap() {
        AnyMatrix::Real(real) => real.convert::<c64>().unwrap(),
        AnyMatrix::Complex(complex) => complex,
    }
}

fn values(path: &Path) -> Vec<c64> {
    match io::read_vector(path, &Executor::reference()).unwrap() {
        AnyVector::Real(x) => x.to_vec().into_iter().map(c64::from).collect(),
        AnyVector::Complex(x) => x.to_vec(),
    }
}

/// Square of a component of `1 - A x` and of the most by which rounding can change it.
fn residual((columns, values): (&[u32], &[c64]), x: &[c64]) -> (f64, f64) {
    let pairs = columns.iter().zip(values);
    let terms: Vec<c64> = pairs
        .map(|(&column, value)| value * x[column as usize])
        .collect();
    let steps = 4.0 * (terms.len() + 2) as f64;
    let sizes: f64 = terms.iter().map(|term| term.norm()).sum();
    let rounding = steps * f64::EPSILON * (1.0 + sizes);
    let component = c64::from(1.0) - terms.iter().sum::<c64>();
    (component.norm_sqr(), rounding.powi(2))
}

/// Solves for a right-hand side of ones and checks that `|b - A x| / |b|` of the solution
/// written, by plain loops, is what was reported and at most 1e-8.
fn solves(name: &str, options: &str) {
    let Some(path) = shared(name) else { return };
    let solution = scratch(&format!("contract-{name}.mtx"));
    let (input, output) = (path.display(), solution.display());
    let run = ok(&format!("solve {input} {options} --json --output {output}"));
    let object = run.json();
    assert_eq!(object["status"], "converged", "{name}");
    let reported = object["relative_residual"].as_f64().unwrap();
    assert!(reported <= 1e-8, "{name}: {reported:e}");
    let (a, x) = (matrix(&path), values(&solution));
    let rows = 0..a.size().rows;
    let (squares, roundings): (Vec<f64>, Vec<f64>) =
        rows.map(|row| residual(a.row(row), &x)).unzip();
    let relative = |squares: Vec<f64>| (squares.iter().sum::<f64>() / x.len() as f64).sqrt();
    let (computed, rounding) = (relative(squares), relative(roundings));
    assert!(
        (reported - computed).abs() <= rounding + 1e-12 * reported,
        "{name}: {reported:e} reported, {computed:e} computed, rounding {rounding:e}"
    );
}

#[test]
fn real_matrices_are_solved_and_the_residual_is_true() {
    solves("bcsstk16", "--solver cg --precond ic0");
    solves("young1c", "--solver gmres");
    solves("west0479", "--solver direct");
}

#[test]
fn what_conjugate_gradients_cannot_solve_is_reported() {
    for (name, options) in [
        ("c-62", ""),
        ("sherman1", "--precond none"),
        ("sherman1", "--precond jacobi"),
    ] {
        let Some(path) = shared(name) else { return };
        let run = vcycle(&format!(
            "solve {} --solver cg {options} --json",
            path.display()
        ));
        assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
        assert_eq!(run.json()["status"], "indefinite");
    }
    let Some(path) = shared("trilinos_maxwell_D0") else {
        return;
    };
    let run = vcycle(&format!("solve {} --json", path.display()));
    assert_eq!(run.status, 2);
    let message = run.json()["error"].as_str().unwrap().to_owned();
    assert!(message.contains("needs a square matrix"), "{message}");
}
