//! What tests of the driver share: systems by name, and solves of them.

use std::sync::Arc;

pub use vcycle_core::testing::device;

use crate::config::{Config, Solution, System, SystemMatrix, solve_system};
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::linop::Size;
use crate::matrix::{Csr, Duplicates};
use crate::vector::Vector;

/// Options in one line.
pub fn config(text: &str) -> Config {
    text.parse().unwrap()
}

/// A matrix of the gallery.
pub fn matrix(spec: &str) -> Csr<f64> {
    gallery::build(spec, &Executor::cpu()).unwrap().matrix
}

pub fn triplets(rows: usize, entries: &[(usize, usize, f64)]) -> Csr<f64> {
    let of = |part: fn(&(usize, usize, f64)) -> usize| {
        entries.iter().map(|entry| part(entry) as u32).collect()
    };
    let values = entries.iter().map(|entry| entry.2).collect();
    let (cpu, size) = (Executor::cpu(), Size::square(rows));
    Csr::from_triplets(
        &cpu,
        size,
        of(|e| e.0),
        of(|e| e.1),
        values,
        Duplicates::Sum,
    )
    .unwrap()
}

/// Blocks `[1 off; off 1]` on the diagonal.
pub fn blocks(off: f64, count: usize) -> Csr<f64> {
    let block = |k: usize| {
        let (i, j) = (2 * k, 2 * k + 1);
        [(i, i, 1.0), (i, j, off), (j, i, off), (j, j, 1.0)]
    };
    triplets(2 * count, &(0..count).flat_map(block).collect::<Vec<_>>())
}

/// Rows with one entry each, beside the diagonal.
pub fn cycle(rows: usize) -> Csr<f64> {
    let entry = |row: usize| (row, (row + 1) % rows, row as f64 + 1.0);
    triplets(rows, &(0..rows).map(entry).collect::<Vec<_>>())
}

/// A square of points with Neumann conditions all around.
pub fn neumann(side: usize) -> Csr<f64> {
    let mut a = matrix(&format!("poisson5:{side}"));
    for row in 0..a.size().rows {
        let (columns, _) = a.row(row);
        let (others, diagonal) = (columns.len() - 1, columns.binary_search(&(row as u32)));
        let place = a.offsets()[row] + diagonal.unwrap();
        a.values_mut()[place] = others as f64;
    }
    a
}

pub fn system(a: Csr<f64>) -> System {
    System::new(Arc::new(a))
}

pub fn ones(matrix: &SystemMatrix<f64>) -> Vector<f64> {
    Vector::filled(matrix.executor(), matrix.rows(), 1, 1.0).unwrap()
}

/// 1, 2, 3...
pub fn counted(matrix: &SystemMatrix<f64>) -> Vector<f64> {
    let values = (1..=matrix.rows()).map(|row| row as f64).collect();
    Vector::from_column(matrix.executor(), values)
}

/// Solves with options in one line.
pub fn solve(options: &str, system: &System, b: &Vector<f64>) -> crate::Result<Solution<f64>> {
    solve_system(&config(options), system, b, &Workspace::new())
}

/// The same where it converges.
pub fn solved(options: &str, system: &System, b: &Vector<f64>) -> Solution<f64> {
    let solution = solve(options, system, b).unwrap();
    let message = format!("{options}: {}: {:?}", solution.outcome, solution.messages);
    assert!(solution.outcome.converged(), "{message}");
    solution
}

/// Fails unless a text has all of these words, which bars part.
pub fn assert_has(text: impl ToString, words: &str) {
    let text = text.to_string();
    let missing = words.split('|').find(|word| !text.contains(word));
    assert!(
        missing.is_none(),
        "`{}` in: {text}",
        missing.unwrap_or_default()
    );
}

/// Solver and preconditioner by their names: `cg+amg`.
pub fn chosen(config: &Config) -> String {
    format!("{}+{}", config.solver.name(), config.preconditioner.name())
}
