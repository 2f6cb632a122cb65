//! The direct method of a batch.

use super::band_lu::BandLu;
use super::matrix::BatchMatrix;
use super::one::One;
use crate::scalar::Field;

/// Factors of one system after the other, in the band of their pattern.
pub(super) struct Direct<A>(BandLu<A>);

impl<A: Field> Direct<A> {
    pub(super) fn new(matrix: &dyn BatchMatrix<A>) -> Self {
        let (offsets, columns) = matrix.structure();
        let (mut below, mut above) = (0, 0);
        for row in 0..matrix.rows() {
            for &column in &columns[offsets[row]..offsets[row + 1]] {
                below = below.max(row.saturating_sub(column as usize));
                above = above.max((column as usize).saturating_sub(row));
            }
        }
        Self(BandLu::new(matrix.rows(), below, above))
    }

    pub(super) fn factorise(&mut self, a: One<'_, A>) -> Result<(), usize> {
        self.0.clear();
        a.visit(|row, column, value| *self.0.entry(row, column) += value);
        self.0.factorise()
    }

    pub(super) fn solve(&self, b: &mut [A]) {
        self.0.solve(b);
    }
}
