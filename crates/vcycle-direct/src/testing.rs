//! Matrices for tests.

use crate::graph::Graph;
use crate::{Number, Pattern};

/// A matrix, row after row.
pub(crate) struct Matrix<F> {
    pub offsets: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<F>,
}

impl<F: Number> Matrix<F> {
    /// Of so many rows, with these entries that are not zero.
    pub fn new(n: usize, entry: impl Fn(usize, usize) -> F) -> Self {
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..n {
            for column in 0..n {
                let value = entry(row, column);
                if value != F::ZERO {
                    columns.push(column as u32);
                    values.push(value);
                }
            }
            offsets.push(columns.len());
        }
        Self {
            offsets,
            columns,
            values,
        }
    }

    pub fn pattern(&self) -> Pattern<'_> {
        Pattern {
            offsets: &self.offsets,
            columns: &self.columns,
        }
    }

    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn graph(&self) -> Graph {
        Graph::symmetrised(&self.offsets, &self.columns, &natural(self.len()))
    }
}

pub(crate) fn natural(n: usize) -> Vec<u32> {
    (0..n as u32).collect()
}

/// The Laplacian of a grid of points.
pub(crate) fn grid(width: usize, height: usize) -> Matrix<f64> {
    Matrix::new(width * height, |one, other| {
        let ([x, y], [u, v]) = ([one % width, one / width], [other % width, other / width]);
        match x.abs_diff(u) + y.abs_diff(v) {
            0 => 4.0,
            1 => -1.0,
            _ => 0.0,
        }
    })
}
