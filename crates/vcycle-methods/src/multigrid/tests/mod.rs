//! Whole hierarchies.

mod coarsest;
mod complex;
mod cycles;
mod mechanics;
mod precision;
mod ranks;
mod report;
mod stages;

use std::sync::Arc;

use super::*;
use crate::error::Result;
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::linop::LinOp;
use crate::solver::{Cg, Method, Solver};
use crate::stop::Outcome;
use crate::vector::Vector;

type Matrix = Arc<dyn LinOp<f64>>;

/// Stages that the matrix has no say in, in double precision.
fn classical() -> Amg {
    Amg {
        coarsening: Coarsening::Pmis,
        smoother: Smoother::l1_jacobi(),
        precision: "dp".parse().unwrap(),
        ..Amg::default()
    }
}

fn problem(spec: &str) -> Matrix {
    Arc::new(gallery::build(spec, &Executor::cpu()).unwrap().matrix)
}

fn hierarchy(amg: &Amg, a: &Matrix) -> Result<Hierarchy<f64>> {
    amg.hierarchy(a, &Workspace::new())
}

fn solve_with(method: impl Method<f64> + 'static, amg: &Amg, a: &Matrix) -> Outcome {
    let solver = Solver::new(method, Arc::clone(a)).unwrap();
    let solver = solver.preconditioned_by(amg).unwrap();
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    solver.solve(&b, &mut x).unwrap()
}

/// Iterations of conjugate gradients, which have to converge.
fn iterations(amg: &Amg, a: &Matrix) -> usize {
    let outcome = solve_with(Cg::default(), amg, a);
    assert!(outcome.converged(), "{amg:?}: {outcome}");
    outcome.iterations
}

/// A vector without any regularity.
fn irregular(a: &Matrix, seed: f64) -> Vector<f64> {
    let value = |row: usize| ((row * row) as f64 * 0.618 + seed).fract() - 0.5;
    Vector::from_column(a.executor(), (0..a.size().rows).map(value).collect())
}

fn apply(m: &dyn LinOp<f64>, x: &Vector<f64>) -> Vector<f64> {
    let mut y = Vector::zeros_like(x).unwrap();
    m.apply(x, &mut y, &Workspace::new()).unwrap();
    y
}

fn dot(x: &Vector<f64>, y: &Vector<f64>) -> f64 {
    x.to_vec().iter().zip(y.to_vec()).map(|(x, y)| x * y).sum()
}
