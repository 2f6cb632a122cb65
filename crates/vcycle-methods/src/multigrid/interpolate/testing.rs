//! Matrices and choices of coarse unknowns for the tests of interpolation.

use crate::matrix::galerkin;
use crate::multigrid::coarsen::{NONE, Splitting};
use crate::multigrid::testing::of_triplets;
use crate::prelude::*;

/// A square matrix of its rows.
pub(super) fn matrix(rows: &[Vec<(u32, f64)>]) -> Csr<f64> {
    let entry = |row: u32| move |&(column, value): &(u32, f64)| (row, column, value);
    let rows_of = (0..).zip(rows);
    let triplets = rows_of.flat_map(|(row, entries)| entries.iter().map(entry(row)));
    of_triplets(rows.len(), triplets)
}

/// The 1-D Laplacian `[-1 2 -1]`.
pub(super) fn line(n: usize) -> Csr<f64> {
    let row = |i: usize| {
        let beside = [i.wrapping_sub(1), i + 1].into_iter().filter(|&j| j < n);
        let mut row: Vec<_> = beside.map(|j| (j as u32, -1.0)).collect();
        row.push((i as u32, 2.0));
        row
    };
    matrix(&(0..n).map(row).collect::<Vec<_>>())
}

/// The five-point Laplacian on a `side` by `side` grid with insulated boundary: all rows have
/// sum zero.
pub(super) fn neumann(side: usize) -> Csr<f64> {
    let row = |i: usize| {
        let (x, y) = (i % side, i / side);
        let beside = [
            (x > 0).then(|| i - 1),
            (x + 1 < side).then(|| i + 1),
            (y > 0).then(|| i - side),
            (y + 1 < side).then(|| i + side),
        ];
        let beside = beside.into_iter().flatten();
        let mut row: Vec<_> = beside.map(|j| (j as u32, -1.0)).collect();
        row.push((i as u32, row.len() as f64));
        row
    };
    matrix(&(0..side * side).map(row).collect::<Vec<_>>())
}

/// Those unknowns are coarse for which it is said.
pub(super) fn choose(coarse: &[bool]) -> Splitting {
    Splitting::of(coarse.len(), |row| coarse[row])
}

/// Every `step`-th of `n` unknowns.
pub(super) fn every(step: usize, n: usize) -> Splitting {
    choose(&(0..n).map(|i| i % step == 0).collect::<Vec<_>>())
}

/// Every unknown is coarse that depends on no coarse one before it.
pub(super) fn greedy(strength: &Pattern) -> Splitting {
    greedy_among(strength, &every(1, strength.size().rows))
}

/// The same among the coarse unknowns of `first`.
pub(super) fn greedy_among(strength: &Pattern, first: &Splitting) -> Splitting {
    let mut coarse = vec![false; strength.size().rows];
    for i in 0..coarse.len() {
        let strong = &strength.columns()[strength.range(i)];
        coarse[i] = first.coarse_index[i] != NONE && !strong.iter().any(|&j| coarse[j as usize]);
    }
    choose(&coarse)
}

/// `trace(P^T A P)`.
pub(super) fn energy(a: &Csr<f64>, p: &Csr<f64>) -> f64 {
    let coarse = galerkin(&p.transpose().unwrap(), a, p).unwrap();
    coarse.diagonal().iter().sum()
}

/// `P x`, in the order of the entries.
pub(super) fn mapped(p: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    let row = |row| {
        let (columns, values) = p.row(row);
        columns
            .iter()
            .zip(values)
            .map(|(&c, v)| v * x[c as usize])
            .sum()
    };
    (0..p.size().rows).map(row).collect()
}

pub(super) fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }
}

/// Fails unless every row has the sum one.
pub(super) fn assert_constants_kept(p: &Csr<f64>) {
    let sum = |row| p.row(row).1.iter().sum();
    let sums: Vec<f64> = (0..p.size().rows).map(sum).collect();
    assert_close(&sums, &vec![1.0; p.size().rows]);
}
