//! Small LU factorisations with partial pivoting, in a band.

use super::matrix::BatchMatrix;
use crate::prelude::*;

/// The factors of a matrix whose entries are at most `below` rows below and `above` columns above the diagonal, as those of
/// LAPACK's `gbtrf`. A full matrix has the widest band.
///
/// Row `i` is stored from column `i - below` on, with room for what pivoting brings from rows below.
#[derive(Clone, Debug)]
pub(super) struct BandLu<A> {
    n: usize,
    below: usize,
    /// Columns stored of a row.
    width: usize,
    values: Vec<A>,
    pivots: Vec<usize>,
}

impl<A: Field> BandLu<A> {
    pub(super) fn new(n: usize, below: usize, above: usize) -> Self {
        let width = (2 * below + above + 1).min(n + below);
        Self {
            n,
            below,
            width,
            values: vec![A::zero(); n * width],
            pivots: vec![0; n],
        }
    }

    /// For the band of a pattern.
    pub(super) fn of_band(matrix: &dyn BatchMatrix<A>) -> Self {
        let (offsets, columns) = matrix.structure();
        let (mut below, mut above) = (0, 0);
        for row in 0..matrix.rows() {
            for &column in &columns[offsets[row]..offsets[row + 1]] {
                below = below.max(row.saturating_sub(column as usize));
                above = above.max((column as usize).saturating_sub(row));
            }
        }
        Self::new(matrix.rows(), below, above)
    }

    pub(super) fn clear(&mut self) {
        self.values.fill(A::zero());
    }

    pub(super) fn entry(&mut self, row: usize, column: usize) -> &mut A {
        &mut self.values[row * self.width + column + self.below - row]
    }

    fn get(&self, row: usize, column: usize) -> A {
        self.values[row * self.width + column + self.below - row]
    }

    /// One past the last column that a row may have.
    fn end(&self, row: usize) -> usize {
        (row + self.width - self.below).min(self.n)
    }

    /// Replaces the entries by the factors, or names the column that has no pivot.
    pub(super) fn factorise(&mut self) -> Result<(), usize> {
        for k in 0..self.n {
            let rows = k..(k + self.below + 1).min(self.n);
            let size = |row: usize| self.get(row, k).modulus_squared();
            let mut pivot = k;
            for row in rows.clone() {
                if size(row) > size(pivot) {
                    pivot = row;
                }
            }
            self.pivots[k] = pivot;
            let value = self.get(pivot, k);
            if value.is_zero() || !Field::is_finite(value) {
                return Err(k);
            }
            let end = self.end(k);
            if pivot != k {
                for column in k..end {
                    let mine = self.get(k, column);
                    *self.entry(k, column) = self.get(pivot, column);
                    *self.entry(pivot, column) = mine;
                }
            }
            for row in k + 1..rows.end {
                let factor = self.get(row, k) / value;
                *self.entry(row, k) = factor;
                if !factor.is_zero() {
                    self.eliminate(k, row, end, factor);
                }
            }
        }
        Ok(())
    }

    /// Subtracts `factor` times row `k` from a row below it, behind column `k`.
    fn eliminate(&mut self, k: usize, row: usize, end: usize, factor: A) {
        let (above, below) = self.values.split_at_mut(row * self.width);
        let start = k * self.width + self.below + 1;
        let source = &above[start..start + (end - k - 1)];
        let target = &mut below[k + 1 + self.below - row..];
        for (target, &source) in target.iter_mut().zip(source) {
            *target -= factor * source;
        }
    }

    /// Replaces a right-hand side by the solution.
    pub(super) fn solve(&self, b: &mut [A]) {
        for k in 0..self.n {
            b.swap(k, self.pivots[k]);
            let value = b[k];
            for row in k + 1..(k + self.below + 1).min(self.n) {
                b[row] -= self.get(row, k) * value;
            }
        }
        for row in (0..self.n).rev() {
            let mut sum = b[row];
            for column in row + 1..self.end(row) {
                sum -= self.get(row, column) * b[column];
            }
            b[row] = sum / self.get(row, row);
        }
    }
}
