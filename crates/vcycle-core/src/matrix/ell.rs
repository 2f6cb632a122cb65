//! ELL format: all rows are padded to the same length.

use super::Csr;
use super::rowwise::rowwise_operator;
use super::slots::Slots;
use crate::error::Result;
use crate::scalar::Scalar;

/// A matrix whose rows are all padded to the length of the longest, stored column-major: the
/// first entries of all rows, then the second entries, and so on (ELLPACK).
///
/// **Choose it** when the rows are of nearly equal length, as those of stencils: no row offsets
/// are read and neighbouring rows are worked on together.
#[derive(Clone, Debug)]
pub struct Ell<T> {
    pub(super) slots: Slots<T>,
}

rowwise_operator!(Ell.slots);

impl<T: Scalar> Ell<T> {
    /// The same matrix, from CSR.
    ///
    /// # Errors
    /// [`TooMuchPadding`](crate::Error::TooMuchPadding), before anything is allocated, when a few
    /// long rows would make all others long.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        Self::from_row_starts(a, longest_row(a.offsets()))
    }

    /// The first `width` entries of every row; those beyond are left out.
    pub(super) fn from_row_starts(a: &Csr<T>, width: usize) -> Result<Self> {
        let slots = Slots::in_one_slice(a, width)?;
        Ok(Self { slots })
    }

    /// Slots in every row.
    pub fn width(&self) -> usize {
        self.slots.width
    }
}

/// The number of entries of the longest row.
pub(super) fn longest_row(offsets: &[usize]) -> usize {
    let lengths = offsets.windows(2).map(|row| row[1] - row[0]);
    lengths.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::executor::Executor;
    use crate::linop::{LinOp, Size};
    use crate::vector::Vector;
    use crate::workspace::Workspace;

    #[test]
    fn a_full_row_among_a_million_is_refused() {
        let rows = 1_000_000;
        let mut offsets: Vec<usize> = (0..rows).collect();
        offsets.push(2 * rows - 1);
        let columns = (0..rows as u32 - 1).chain(0..rows as u32).collect();
        let values = vec![1.0; 2 * rows - 1];
        let size = Size::square(rows);
        let a = Csr::from_canonical(&Executor::cpu(), size, offsets, columns, values);
        assert!(matches!(
            Ell::from_csr(&a),
            Err(Error::TooMuchPadding { slots, .. }) if slots == rows * rows
        ));
    }

    #[test]
    fn padding_never_reads_the_vector() {
        for executor in [Executor::reference(), Executor::cpu()] {
            let columns = vec![0, 1, 2];
            let a = Csr::from_canonical(
                &executor,
                Size::new(2, 3),
                vec![0, 2, 3],
                columns,
                vec![1.0; 3],
            );
            let x = Vector::from_column(&executor, vec![1.0, f64::NAN, f64::INFINITY]);
            let mut y = Vector::<f64>::zeros(&executor, 2, 1).unwrap();
            let ell = Ell::from_csr(&a).unwrap();
            ell.apply(&x, &mut y, &Workspace::new()).unwrap();
            assert!(y.to_vec()[0].is_nan());
            assert_eq!(y.to_vec()[1], f64::INFINITY);
        }
    }
}
