//! SELL-P format: slices of rows, each slice padded to a length of its own.

use super::Csr;
use super::ell::longest_row;
use super::rowwise::rowwise_operator;
use super::slots::Slots;
use crate::error::Result;
use crate::scalar::Scalar;

/// Slices of consecutive rows, each an [`Ell`](super::Ell) matrix as wide as its longest row
/// (SELL-P, Anzt, Tomov and Dongarra 2014; SELL-C-sigma of Kreutzer et
/// al. 2014 without its sorting of rows).
///
/// **Choose it** when rows differ in length over the matrix but little from their neighbours.
#[derive(Clone, Debug)]
pub struct SellP<T> {
    slots: Slots<T>,
}

rowwise_operator!(SellP.slots);

impl<T: Scalar> SellP<T> {
    /// The same matrix, from CSR, in slices of 64 rows.
    ///
    /// # Errors
    /// [`TooMuchPadding`](crate::Error::TooMuchPadding), before anything is allocated, when long rows
    /// stand among short ones.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        Self::with_slices(a, SLICE_ROWS)
    }

    /// The same in slices of so many rows.
    pub(super) fn with_slices(a: &Csr<T>, slice_rows: usize) -> Result<Self> {
        let slots = Slots::in_slices(a, slice_rows, slice_offsets(a.offsets(), slice_rows))?;
        Ok(Self { slots })
    }

    /// Slots in all, padding included.
    pub fn slots(&self) -> usize {
        self.slots.values.len()
    }
}

/// Rows of a slice.
pub(super) const SLICE_ROWS: usize = 64;

/// For every slice the place of its first slot, and at the end the number of slots; saturated
/// where that has no end.
pub(super) fn slice_offsets(row_offsets: &[usize], slice_rows: usize) -> Vec<usize> {
    let rows = row_offsets.len() - 1;
    let mut offsets = vec![0_usize];
    for first in (0..rows).step_by(slice_rows) {
        let last = first.saturating_add(slice_rows).min(rows);
        let width = longest_row(&row_offsets[first..=last]);
        let slots = slice_rows.saturating_mul(width);
        offsets.push(offsets[offsets.len() - 1].saturating_add(slots));
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::executor::Executor;

    #[test]
    fn slices_are_as_wide_as_their_longest_row() {
        assert_eq!(slice_offsets(&[0, 1, 4, 4, 4, 5], 2), [0, 6, 6, 8]);
        assert_eq!(slice_offsets(&[0], 2), [0]);
        let a = Csr::<f64>::identity(&Executor::reference(), 2);
        let result = SellP::with_slices(&a, usize::MAX);
        assert!(matches!(result, Err(Error::TooMuchPadding { .. })));
    }
}
