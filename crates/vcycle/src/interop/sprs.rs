//! Matrices of `sprs`.
//!
//! ```
//! use std::sync::Arc;
//! use sprs::{CsMat, TriMat};
//! use vcycle::interop::{FromCsr, IntoCsr};
//! let mut entries = TriMat::new((2, 2));
//! entries.add_triplet(0, 0, 2.0);
//! entries.add_triplet(1, 1, 4.0);
//! let a: CsMat<f64> = entries.to_csc();
//! assert!(vcycle::solve(&a, &[1.0, 1.0])?.outcome.converged());
//! let own = (&a).into_shared_csr()?;
//! let back = CsMat::from_csr(Arc::unwrap_or_clone(own))?;
//! assert_eq!(back, a.to_csr());
//! # Ok::<(), vcycle::Error>(())
//! ```

use std::sync::Arc;

use sprs::{CsMat, CsMatI};

use super::arrays::{narrow, taken, wide};
use super::{FromCsr, IntoCsr};
use crate::error::{Error, Result};
use crate::linop::Size;
use crate::matrix::Csr;
use crate::scalar::Scalar;

/// Matrices by the type of their indices; how these become columns of this library, and columns indices again.
macro_rules! matrices {
    ($($matrix:ty: $columns:expr, $indices:expr;)*) => {$(
        impl<T: Scalar> IntoCsr<T> for $matrix {
            fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
                let size = Size::new(self.rows(), self.cols());
                let (offsets, indices, values) = <$matrix>::into_csr(self).into_raw_storage();
                taken(size, offsets, $columns(indices)?, values)
            }
        }

        impl<T: Scalar> IntoCsr<T> for &$matrix {
            fn into_shared_csr(self) -> Result<Arc<Csr<T>>> {
                IntoCsr::into_shared_csr(self.to_csr())
            }
        }

        impl<T: Scalar> FromCsr<T> for $matrix {
            fn from_csr(a: Csr<T>) -> Result<Self> {
                let Size { rows, cols } = a.size();
                let (offsets, columns, values) = a.into_arrays();
                let made = <$matrix>::try_new((rows, cols), offsets, $indices(columns), values);
                made.map_err(|why| Error::InvalidStructure {
                    format: "sprs",
                    reason: why.3.to_string(),
                })
            }
        }
    )*};
}

matrices! {
    CsMat<T>: narrow, wide;
    CsMatI<T, u32, usize>: Ok::<_, Error>, std::convert::identity;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_taken_as_they_are() {
        let a = CsMatI::<f64, u32, usize>::new((2, 3), vec![0, 1, 2], vec![2, 0], vec![5.0, 7.0]);
        let place = a.data().as_ptr();
        let taken = IntoCsr::into_shared_csr(a.clone()).unwrap();
        assert_eq!(taken.row(0), (&[2][..], &[5.0][..]));
        let own = IntoCsr::into_shared_csr(a).unwrap();
        assert_eq!(own.values().as_ptr(), place);
        let back = CsMatI::<f64, u32, usize>::from_csr(Arc::into_inner(own).unwrap()).unwrap();
        assert_eq!(back.data().as_ptr(), place);
    }

    #[test]
    fn columns_beyond_32_bits_are_refused() {
        let a = CsMat::new((1, 1 << 33), vec![0, 1], vec![1 << 32], vec![1.0]);
        let refused = IntoCsr::into_shared_csr(a);
        assert!(matches!(refused, Err(Error::IndexOutOfRange { .. })));
    }
}
