//! An operator given by a function, preconditioned by multigrid of a simpler matrix: `-div(grad u) + c u^2`
//! linearised on a square, whose coefficients are computed and never stored.
//!
//! `cargo run --release --example matrix_free -- 200`

use std::sync::Arc;

use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::linop::{LinOp, MatrixFree, Size};
use vcycle::multigrid::Amg;
use vcycle::solver::{Cg, Solver};
use vcycle::vector::Vector;

/// `y = (K + diag(c)) x` with the five-point Laplacian `K` of an `n` by `n` grid.
fn reaction_diffusion(executor: &Executor, n: usize) -> MatrixFree<f64> {
    let coefficient =
        |i: usize, j: usize| 0.1 * (1.0 + (i as f64 * 0.1).sin() * (j as f64 * 0.1).cos());
    MatrixFree::new(executor, Size::square(n * n), move |x, y, _| {
        let columns = x.cols();
        let x = x.host()?;
        let at = |i: usize, j: usize, column: usize| match i < n && j < n {
            true => x[(i + n * j) * columns + column],
            false => 0.0,
        };
        for (place, y) in y.host_mut()?.iter_mut().enumerate() {
            let (column, i, j) = (place % columns, place / columns % n, place / columns / n);
            let (west, south) = (i.wrapping_sub(1), j.wrapping_sub(1));
            let around = at(west, j, column)
                + at(i + 1, j, column)
                + at(i, south, column)
                + at(i, j + 1, column);
            *y = (4.0 + coefficient(i, j)) * at(i, j, column) - around;
        }
        Ok(())
    })
}

/// Solves with it.
pub fn main() -> vcycle::Result<()> {
    let size = std::env::args()
        .nth(1)
        .and_then(|argument| argument.parse().ok());
    let n: usize = size.unwrap_or(40);
    let cpu = Executor::cpu();
    let a: Arc<dyn LinOp<f64>> = Arc::new(reaction_diffusion(&cpu, n));

    let laplacian: Arc<dyn LinOp<f64>> =
        Arc::new(gallery::build(&format!("poisson5:{n}"), &cpu)?.matrix);
    let cycle = Amg::default().hierarchy(&laplacian, &Workspace::new())?;

    let b = Vector::filled(&cpu, n * n, 1, 1.0)?;
    let mut x = Vector::zeros_like(&b)?;
    let plain = Solver::new(Cg::default(), Arc::clone(&a))?.solve(&b, &mut x)?;
    println!("without preconditioner: {plain}");

    let mut x = Vector::zeros_like(&b)?;
    let solver = Solver::new(Cg::default(), a)?.with_preconditioner(Arc::new(cycle))?;
    let outcome = solver.solve(&b, &mut x)?;
    println!("with multigrid of the Laplacian: {outcome}");
    assert!(outcome.converged() && outcome.iterations < plain.iterations);
    Ok(())
}
