//! Matrices of other libraries: [`IntoCsr`] takes them over, [`FromCsr`] hands them back.
//!
//! | feature | taken | handed back |
//! |---|---|---|
//! | | [`Csr`], owned, borrowed or shared | |
//! | `sprs` | `CsMat`, `CsMatI<_, u32, usize>`, by rows or by columns | `CsMat`, `CsMatI<_, u32, usize>` |
//! | `nalgebra-sparse` | `CsrMatrix`, `CscMatrix` | `CsrMatrix` |
//! | `faer` | `SparseRowMat<usize, _>`, `SparseColMat<usize, _>` | `SparseRowMat<usize, _>` |
//!
//! Of a matrix that is given away and stored by rows the offsets and values are taken as they are. Columns have 32
//! bits here: those of `usize` are converted, those of `u32` taken as they are. A borrowed matrix is copied, one
//! stored by columns is transposed. Matrices are taken to the host;
//! [`Csr::copy_to`](crate::matrix::Csr::copy_to) brings them to a device.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra_sparse;
#[cfg(feature = "sprs")]
mod sprs;

use std::sync::Arc;

use crate::error::Result;
use crate::matrix::Csr;
use crate::scalar::Scalar;

/// A matrix that can be stored by rows.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::Executor, interop::IntoCsr, matrix::Csr};
/// let a = Arc::new(Csr::<f64>::identity(&Executor::cpu(), 3));
/// assert!(Arc::ptr_eq(&a, &(&a).into_shared_csr()?));
/// # Ok::<(), vcycle::Error>(())
/// ```
pub trait IntoCsr<T> {
    /// The same matrix, in the format of this library.
    ///
    /// # Errors
    /// More columns than 32-bit indices can number, or arrays that are no valid matrix.
    fn into_shared_csr(self) -> Result<Arc<Csr<T>>>;
}

/// A matrix of another library that can be made of one of this library.
pub trait FromCsr<T>: Sized {
    /// The same matrix, in the format of the other library.
    ///
    /// # Errors
    /// When the other library refuses the arrays.
    fn from_csr(a: Csr<T>) -> Result<Self>;
}

impl<T> IntoCsr<T> for Csr<T> {
    fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
        Ok(Arc::new(self))
    }
}

impl<T> IntoCsr<T> for Arc<Csr<T>> {
    fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
        Ok(self)
    }
}

/// Borrowed matrices are copied, shared ones shared again.
macro_rules! copied {
    ($($type:ty),*) => {$(
        impl<T: Scalar> IntoCsr<T> for &$type {
            fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
                self.clone().into_shared_csr()
            }
        }
    )*};
}
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
use copied;

copied!(Csr<T>, Arc<Csr<T>>);

/// What the modules of the other libraries share.
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
mod arrays {
    use std::sync::Arc;

    use crate::error::{Error, Result};
    use crate::executor::Executor;
    use crate::linop::Size;
    use crate::matrix::{Csr, Duplicates};
    use crate::scalar::Scalar;

    /// Takes over arrays; they are checked, and rows sorted where they are not.
    pub(super) fn taken<T: Scalar>(
        size: Size,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Arc<Csr<T>>> {
        let host = Executor::cpu();
        let refuse = Duplicates::Refuse;
        Csr::from_arrays(&host, size, offsets, columns, values, refuse).map(Arc::new)
    }

    /// Columns in 32 bits.
    pub(super) fn narrow(columns: Vec<usize>) -> Result<Vec<u32>> {
        let narrowed = columns.into_iter().enumerate().map(|(position, index)| {
            u32::try_from(index).map_err(|_| Error::IndexOutOfRange {
                position,
                axis: "column",
                index,
                limit: u32::MAX as usize,
            })
        });
        narrowed.collect()
    }

    /// Columns as the other libraries have them.
    pub(super) fn wide(columns: Vec<u32>) -> Vec<usize> {
        columns.into_iter().map(|column| column as usize).collect()
    }
}
