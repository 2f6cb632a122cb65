//! What the tests of multigrid share.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::strength::{Absolute, Classical, Mutual, Strength, Symmetric};
use super::{Amg, Hierarchy, NearNullspace, Report};
use crate::gallery;
use crate::matrix::Duplicates;
use crate::prelude::*;
use crate::solver::{Cg, Method, Solver};
use crate::stop::Outcome;

pub(crate) type Matrix = Arc<dyn LinOp<f64>>;

/// Parameters some of which are others: `key=value, key=value`, as options and files spell them.
pub(crate) fn with<P: Serialize + DeserializeOwned>(parameters: &P, text: &str) -> P {
    let mut all = serde_json::to_value(parameters).unwrap();
    for pair in text.split(", ") {
        let (key, value) = pair.split_once('=').unwrap();
        all[key] = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    }
    serde_json::from_value(all).unwrap()
}

/// Algebraic multigrid some of whose parameters are not those by default.
pub(crate) fn amg(text: &str) -> Amg {
    with(&Amg::default(), text)
}

/// Stages that the matrix has no say in, in double precision.
pub(crate) fn classical() -> Amg {
    amg("coarsening=pmis, smoother=l1-jacobi, precision=dp")
}

/// The matrix of a problem, for loops over its entries.
pub(crate) fn csr(spec: &str) -> Csr<f64> {
    gallery::build(spec, &Executor::reference()).unwrap().matrix
}

/// The matrix of a problem.
pub(crate) fn problem(spec: &str) -> Matrix {
    Arc::new(gallery::build(spec, &Executor::cpu()).unwrap().matrix)
}

/// A body and its rigid motions.
pub(crate) fn body(spec: &str, executor: &Executor) -> (Csr<f64>, NearNullspace) {
    let problem = gallery::build(spec, executor).unwrap();
    (problem.matrix, problem.near_nullspace.unwrap())
}

/// A square matrix of entries that are given one by one.
pub(crate) fn of_triplets(
    n: usize,
    triplets: impl IntoIterator<Item = (u32, u32, f64)>,
) -> Csr<f64> {
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (row, column, value) in triplets {
        rows.push(row);
        columns.push(column);
        values.push(value);
    }
    let (host, size) = (Executor::reference(), Size::square(n));
    Csr::from_triplets(&host, size, rows, columns, values, Duplicates::Sum).unwrap()
}

/// All measures of strength by entries.
pub(crate) fn strengths() -> [Strength; 4] {
    [
        Strength::Mutual(Mutual::default()),
        Strength::Classical(Classical::default()),
        Strength::Symmetric(Symmetric::default()),
        Strength::Absolute(Absolute::default()),
    ]
}

/// A line of unknowns by their diagonal and what couples each with the next.
pub(crate) fn chain(diagonal: f64, couplings: impl Iterator<Item = f64>) -> Csr<f64> {
    let mut triplets = vec![(0, 0, diagonal)];
    for (i, coupling) in (0..).zip(couplings) {
        let next = i + 1;
        triplets.extend([
            (i, next, -coupling),
            (next, i, -coupling),
            (next, next, diagonal),
        ]);
    }
    of_triplets(triplets.len() / 3 + 1, triplets)
}

/// A matrix without zeros, of its entries row by row.
pub(crate) fn dense(cols: usize, values: &[f64]) -> Csr<f64> {
    let rows = values.len() / cols.max(1);
    let offsets = (0..=rows).map(|row| row * cols).collect();
    let columns = (0..values.len()).map(|k| (k % cols) as u32).collect();
    let (host, size) = (Executor::reference(), Size::new(rows, cols));
    let (values, once) = (values.to_vec(), Duplicates::Refuse);
    Csr::from_arrays(&host, size, offsets, columns, values, once).unwrap()
}

pub(crate) fn hierarchy(amg: &Amg, a: &Matrix) -> Result<Hierarchy<f64>> {
    amg.hierarchy(a, &Workspace::new())
}

/// A solve for ones on the right.
pub(crate) fn solved<T: Scalar>(
    method: impl Method<T> + 'static,
    a: &Arc<dyn LinOp<T>>,
    m: Arc<dyn LinOp<T>>,
) -> Outcome {
    let solver = Solver::new(method, Arc::clone(a)).unwrap();
    let solver = solver.with_preconditioner(m).unwrap();
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    solver.solve(&b, &mut x).unwrap()
}

/// Iterations of conjugate gradients, which have to converge.
pub(crate) fn iterations_with(a: &Matrix, m: Hierarchy<f64>) -> usize {
    let outcome = solved(Cg::default(), a, Arc::new(m));
    assert!(outcome.converged(), "{outcome}");
    outcome.iterations
}

/// The same with parameters of multigrid.
pub(crate) fn iterations(amg: &Amg, a: &Matrix) -> usize {
    iterations_with(a, hierarchy(amg, a).unwrap())
}

/// Rows, entries and entries of the prolongation of every level.
pub(crate) fn shape(report: &Report) -> Vec<[usize; 3]> {
    let levels = report.levels.iter();
    levels
        .map(|level| [level.rows, level.nonzeros, level.transfer_nonzeros])
        .collect()
}

/// A vector without any regularity.
pub(crate) fn irregular(a: &dyn LinOp<f64>, seed: f64) -> Vector<f64> {
    let value = |row: usize| ((row * row) as f64 * 0.618 + seed).fract() - 0.5;
    Vector::from_column(a.executor(), (0..a.size().rows).map(value).collect())
}

pub(crate) fn apply(m: &dyn LinOp<f64>, x: &Vector<f64>) -> Vector<f64> {
    let mut y = Vector::zeros_like(x).unwrap();
    m.apply(x, &mut y, &Workspace::new()).unwrap();
    y
}

pub(crate) fn dot(x: &Vector<f64>, y: &Vector<f64>) -> f64 {
    x.to_vec().iter().zip(y.to_vec()).map(|(x, y)| x * y).sum()
}

/// Fails unless numbers differ by at most so much of the largest.
pub(crate) fn assert_near(found: &[f64], expected: &[f64], within: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        let apart = (found - expected).abs();
        assert!(apart <= within * largest, "{what}: {found}, not {expected}");
    }
}

/// Equal patterns, and values that are near.
pub(crate) fn assert_matrices_near(found: &Csr<f64>, expected: &Csr<f64>, within: f64) {
    assert_eq!(found.size(), expected.size());
    assert_eq!(found.offsets(), expected.offsets());
    assert_eq!(found.columns(), expected.columns());
    assert_near(found.values(), expected.values(), within, "values");
}
