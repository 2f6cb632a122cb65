//! Couplings between unknowns whose smooth errors are alike.

use num_traits::Zero;

use super::Measure;
use crate::backend::reference::csr::CsrArrays;
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::{Csr, ranges};
use crate::multigrid::spectrum::{row_sum_bound, scattered};
use crate::vector::{Coefficient, Vector};

/// `c_ij = (v_i . v_j)² / (|v_i|² |v_j|²)`, where `v_i` is what unknown `i` has in a few test
/// vectors (Livne and Brandt 2012; (2.12) of the thesis on Chronos).
///
/// The test vectors are scattered numbers after some sweeps of damped Jacobi: what smoothing
/// leaves of any error. Unknowns that have nearly the same value up to a factor in all of them
/// interpolate each other well, whatever the entries of the matrix look like. All `c_ij` lie close to
/// one, and how close is a matter of chance that differs from place to place. So what counts is the
/// distance `1 - c_ij` beside the smallest one that either unknown has to a neighbour:
/// `s_ij = max(d_i, d_j) / (1 - c_ij)` with `d_i = min_k (1 - c_ik)`.
///
/// Only the choice or grouping of unknowns goes by it alone: weights that are made of entries
/// (extended+i and its like) need the large ones as well, or most of a row would count as weak.
///
/// **Choose it** for anisotropy that does not follow the grid, where large entries mislead. It
/// costs `sweeps` products with `vectors` columns a level.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Affinity {
    /// The smallest strong `s_ij`, where no number of couplings is given.
    pub threshold: f64,
    /// The mean number of strong couplings a row, in place of the threshold.
    pub connections: Option<f64>,
    /// Test vectors.
    pub vectors: usize,
    /// Sweeps that make them smooth.
    pub sweeps: usize,
}

impl Default for Affinity {
    fn default() -> Self {
        Self {
            threshold: 0.7,
            connections: None,
            vectors: 16,
            sweeps: 20,
        }
    }
}

impl Measure for Affinity {
    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn connections(&self) -> Option<f64> {
        self.connections
    }

    /// The rows of the test vectors, each of norm one, or zero; then for every row how close the
    /// closest of its neighbours is.
    fn scales(&self, a: &Csr<f64>) -> Result<Vec<f64>> {
        let mut rows = self.smooth(a)?.to_vec();
        for row in rows.chunks_exact_mut(self.vectors) {
            let norm = row.iter().map(|value| value * value).sum::<f64>().sqrt();
            if norm > 0.0 {
                row.iter_mut().for_each(|value| *value /= norm);
            }
        }
        let closest = self.closest(a, &rows);
        rows.extend(closest);
        Ok(rows)
    }

    fn reference(&self, _a: &CsrArrays<'_, f64>, _scales: &[f64], _row: usize) -> f64 {
        1.0
    }

    fn coupling(&self, scales: &[f64], row: usize, column: usize, value: f64) -> f64 {
        if value.is_zero() {
            return 0.0;
        }
        let closest = &scales[scales.len() / (self.vectors + 1) * self.vectors..];
        self.closeness(scales, row, column) / closest[row].min(closest[column])
    }
}

impl Affinity {
    /// `1 / (1 - c_ij)`, of rows of norm one.
    fn closeness(&self, rows: &[f64], i: usize, j: usize) -> f64 {
        let of = |unknown: usize| &rows[unknown * self.vectors..][..self.vectors];
        let cosine: f64 = of(i).iter().zip(of(j)).map(|(x, y)| x * y).sum();
        1.0 / (1.0 - cosine * cosine).max(f64::EPSILON)
    }

    /// For every row the largest closeness to a neighbour.
    fn closest(&self, a: &Csr<f64>, rows: &[f64]) -> Vec<f64> {
        let of_row = |row: usize| {
            let (columns, values) = a.row(row);
            let neighbours = columns.iter().zip(values);
            let others = neighbours.filter(|&(&j, value)| j as usize != row && !value.is_zero());
            others.fold(1.0, |most: f64, (&j, _)| {
                most.max(self.closeness(rows, row, j as usize))
            })
        };
        let piece = |range: std::ops::Range<usize>| range.map(of_row).collect::<Vec<_>>();
        let pieces = ranges(a.pattern().pieces());
        a.executor().run(a.bytes(), pieces, piece).concat()
    }

    /// `x` after sweeps of `x -= D^-1 A x / bound`, with a bound of the spectral radius.
    fn smooth(&self, a: &Csr<f64>) -> Result<Vector<f64>> {
        let (rows, executor, ws) = (a.size().rows, a.executor(), Workspace::new());
        let start = (0..rows * self.vectors).map(scattered).collect();
        let mut x = Vector::from_rows(executor, self.vectors, start)?;
        let mut product = Vector::zeros_like(&x)?;
        let diagonal = a.diagonal();
        let bound = row_sum_bound(a)?;
        let inverse = diagonal.iter().map(|entry| -1.0 / (bound * entry));
        let inverse = Vector::from_column(executor, inverse.collect());
        for _ in 0..self.sweeps {
            a.apply(&x, &mut product, &ws)?;
            let one = Coefficient::one;
            x.combine_rows(one(), (&inverse, false), &product, one())?;
        }
        Ok(x)
    }
}
