//! The triple product of multigrid.

use super::{Csr, SpGemm};
use crate::error::Result;
use crate::scalar::Scalar;

/// The Galerkin product `R (A P)` with its symbolic phase kept, for matrices whose values change.
///
/// [`galerkin`] is the product alone.
///
/// ```
/// use vcycle::{executor::Executor, linop::Size, matrix::{Csr, Duplicates, Galerkin}};
/// let cpu = Executor::cpu();
/// let mut a = Csr::diagonal_matrix(&cpu, vec![1.0, 2.0]);
/// let p = Csr::from_arrays(&cpu, Size::new(2, 1), vec![0, 1, 2], vec![0, 0], vec![1.0; 2],
///                          Duplicates::Refuse)?;
/// let r = p.transpose()?;
/// let product = Galerkin::symbolic(&r, &a, &p)?;
/// let mut coarse = product.numeric(&r, &a, &p)?;
/// assert_eq!(coarse.values(), [3.0]);
/// a.values_mut()[0] = 5.0;
/// product.renew(&r, &a, &p, &mut coarse)?;
/// assert_eq!(coarse.values(), [7.0]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Galerkin {
    right: SpGemm,
    left: SpGemm,
}

impl Galerkin {
    /// Finds where the entries of `A P` and of `R (A P)` stand.
    ///
    /// # Errors
    /// For matrices that do not fit or live on different executors, and when memory is short.
    pub fn symbolic<T: Scalar>(r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Self> {
        let right = SpGemm::symbolic(a.pattern(), p.pattern())?;
        let left = SpGemm::symbolic(r.pattern(), right.pattern())?;
        Ok(Self { right, left })
    }

    /// `R (A P)`.
    ///
    /// # Errors
    /// When the patterns are not those of the symbolic phase, or memory is short.
    pub fn numeric<T: Scalar>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>> {
        self.left.numeric(r, &self.right.numeric(a, p)?)
    }

    /// Replaces the values of `coarse` by those of `R (A P)`.
    ///
    /// # Errors
    /// When one of the patterns is not that of the symbolic phase, or memory is short.
    pub fn renew<T: Scalar>(
        &self,
        r: &Csr<T>,
        a: &Csr<T>,
        p: &Csr<T>,
        coarse: &mut Csr<T>,
    ) -> Result<()> {
        self.left.renew(r, &self.right.numeric(a, p)?, coarse)
    }
}

/// `R (A P)`, the operator of the coarser level.
///
/// # Errors
/// For matrices that do not fit or live on different executors, and when memory is short.
pub fn galerkin<T: Scalar>(r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>> {
    r.multiply(&a.multiply(p)?)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_close, assert_same, dense, dense_product, grid, random};
    use super::*;
    use crate::executor::Executor;

    #[test]
    fn galerkin_products_agree_with_dense_ones() {
        let host = Executor::reference();
        let a = grid::<f64>(&host, 5);
        let p = random::<f64>(&host, 25, 7, 0.3, 1);
        let r = p.transpose().unwrap();
        let coarse = galerkin(&r, &a, &p).unwrap();
        let right = dense_product(&dense(&a), &dense(&p), 7);
        assert_close(&dense(&coarse), &dense_product(&dense(&r), &right, 7));
        let product = Galerkin::symbolic(&r, &a, &p).unwrap();
        assert_same(&product.numeric(&r, &a, &p).unwrap(), &coarse);
    }
}
