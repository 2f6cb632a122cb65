//! Matrices of `faer`.

use std::sync::Arc;

use faer::sparse::{SparseColMat, SparseRowMat, SymbolicSparseRowMat};

use super::arrays::{narrow, taken, wide};
use super::{FromCsr, IntoCsr, copied};
use crate::error::Result;
use crate::linop::Size;
use crate::matrix::Csr;
use crate::scalar::Scalar;

/// ```
/// use std::sync::Arc;
/// use faer::sparse::{SparseColMat, SparseRowMat, Triplet};
/// use vcycle::interop::{FromCsr, IntoCsr};
/// let entries = [Triplet::new(0, 0, 2.0), Triplet::new(1, 1, 4.0)];
/// let a = SparseColMat::<usize, f64>::try_new_from_triplets(2, 2, &entries).unwrap();
/// assert!(vcycle::solve(&a, &[1.0, 1.0])?.outcome.converged());
/// let back = SparseRowMat::from_csr(Arc::unwrap_or_clone(a.into_shared_csr()?))?;
/// assert_eq!(back.val(), [2.0, 4.0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
impl<T: Scalar> IntoCsr<T> for SparseRowMat<usize, T> {
    fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
        let (symbolic, values) = self.into_parts();
        let (rows, cols, offsets, lengths, columns) = symbolic.into_parts();
        let size = Size::new(rows, cols);
        let columns = narrow(columns)?;
        match lengths {
            None => taken(size, offsets, columns, values),
            Some(lengths) => {
                let (offsets, columns, values) = packed(&offsets, &lengths, &columns, &values);
                taken(size, offsets, columns, values)
            }
        }
    }
}

/// Rows stored with padding between them, without it.
fn packed<T: Scalar>(
    starts: &[usize],
    lengths: &[usize],
    columns: &[u32],
    values: &[T],
) -> (Vec<usize>, Vec<u32>, Vec<T>) {
    let entries = lengths.iter().sum();
    let mut offsets = vec![0; lengths.len() + 1];
    let (mut own_columns, mut own_values) =
        (Vec::with_capacity(entries), Vec::with_capacity(entries));
    for (row, (&start, &length)) in starts.iter().zip(lengths).enumerate() {
        own_columns.extend_from_slice(&columns[start..start + length]);
        own_values.extend_from_slice(&values[start..start + length]);
        offsets[row + 1] = own_columns.len();
    }
    (offsets, own_columns, own_values)
}

/// The rows of the transpose are the columns of the matrix.
impl<T: Scalar> IntoCsr<T> for SparseColMat<usize, T> {
    fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
        let transpose = self.into_transpose().into_shared_csr()?;
        Ok(Arc::new(transpose.transpose()?))
    }
}

copied!(SparseRowMat<usize, T>, SparseColMat<usize, T>);

impl<T: Scalar> FromCsr<T> for SparseRowMat<usize, T> {
    fn from_csr(a: Csr<T>) -> Result<Self> {
        let Size { rows, cols } = a.size();
        let (offsets, columns, values) = a.into_arrays();
        let symbolic = SymbolicSparseRowMat::new_checked(rows, cols, offsets, None, wide(columns));
        Ok(SparseRowMat::new(symbolic, values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_between_rows_is_left_out() {
        let columns = vec![0, 9, 1, 9];
        let symbolic =
            SymbolicSparseRowMat::new_checked(2, 2, vec![0, 2, 4], Some(vec![1, 1]), columns);
        let a = SparseRowMat::new(symbolic, vec![5.0, 0.0, 7.0, 0.0]);
        let a = a.into_shared_csr().unwrap();
        assert_eq!((a.nonzeros(), a.row(1)), (2, (&[1][..], &[7.0][..])));
    }
}
