//! Matrices of `nalgebra-sparse`.

use std::sync::Arc;

use nalgebra_sparse::{CscMatrix, CsrMatrix};

use super::arrays::{narrow, taken, wide};
use super::{FromCsr, IntoCsr, copied};
use crate::error::{Error, Result};
use crate::linop::Size;
use crate::matrix::Csr;
use crate::scalar::Scalar;

/// ```
/// use std::sync::Arc;
/// use nalgebra_sparse::{CooMatrix, CsrMatrix};
/// use vcycle::interop::{FromCsr, IntoCsr};
/// let entries = CooMatrix::try_from_triplets(2, 2, vec![0, 1], vec![0, 1], vec![2.0, 4.0]).unwrap();
/// let a = CsrMatrix::from(&entries);
/// assert!(vcycle::solve(&a, &[1.0, 1.0])?.outcome.converged());
/// let own = (&a).into_shared_csr()?;
/// let back = CsrMatrix::from_csr(Arc::unwrap_or_clone(own))?;
/// assert_eq!(back, a);
/// # Ok::<(), vcycle::Error>(())
/// ```
impl<T: Scalar> IntoCsr<T> for CsrMatrix<T> {
    fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
        let size = Size::new(self.nrows(), self.ncols());
        let (offsets, columns, values) = self.disassemble();
        taken(size, offsets, narrow(columns)?, values)
    }
}

/// The rows of the transpose are the columns of the matrix.
impl<T: Scalar> IntoCsr<T> for CscMatrix<T> {
    fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
        let transpose = self.transpose_as_csr().into_shared_csr()?;
        Ok(Arc::new(transpose.transpose()?))
    }
}

copied!(CsrMatrix<T>, CscMatrix<T>);

impl<T: Scalar> FromCsr<T> for CsrMatrix<T> {
    fn from_csr(a: Csr<T>) -> Result<Self> {
        let Size { rows, cols } = a.size();
        let (offsets, columns, values) = a.into_arrays();
        let made = CsrMatrix::try_from_csr_data(rows, cols, offsets, wide(columns), values);
        made.map_err(|why| Error::structure("nalgebra-sparse", why.to_string()))
    }
}
