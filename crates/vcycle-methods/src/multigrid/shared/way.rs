//! From a level that ranks share to the matrix of the next.

use std::sync::Arc;

use super::{SharedLevel, SharedWay};
use crate::error::Result;
use crate::linop::Size;
use crate::matrix::{Bsr, Csr, Distributed, galerkin, galerkin_in_blocks, galerkin_shared};
use crate::multigrid::interpolate;
use crate::multigrid::systems::{in_blocks, spread_over};
use crate::scalar::Scalar;

impl<V: Scalar> SharedWay<V> {
    /// A level that it leads from.
    pub(super) fn level(
        &self,
        a: &Arc<Distributed<V>>,
        radius: Option<f64>,
    ) -> Result<SharedLevel<V>> {
        Ok(SharedLevel {
            a: Arc::clone(a),
            way: self.clone(),
            radius,
            nonzeros: [a.total_nonzeros()?, self.prolongation.total_nonzeros()?],
        })
    }
}

impl SharedWay {
    /// The matrix of the next level.
    pub(super) fn coarse(&self, a: &Distributed<f64>) -> Result<Distributed<f64>> {
        let (r, p) = (&self.restriction, &self.prolongation);
        let product = |r: &Csr<f64>, a: &Csr<f64>, p: &Csr<f64>| product(r, a, p, self.block);
        let coarse = match self.block == Size::square(1) {
            true => galerkin_shared(r, a, p)?,
            false => galerkin_in_blocks(r, a, p, self.block, product)?,
        };
        let coarse = coarse.without_empty_rows()?;
        match &self.filter {
            Some((vectors, kept)) => filtered(&coarse, vectors, *kept),
            None => Ok(coarse),
        }
    }
}

/// A matrix with fewer entries that does the same to vectors.
fn filtered(a: &Distributed<f64>, vectors: &[Vec<f64>], kept: f64) -> Result<Distributed<f64>> {
    let columns = a.columns();
    let vectors = vectors.iter().map(|own| spread_over(columns, own));
    let vectors: Vec<Vec<f64>> = vectors.collect::<Result<_>>()?;
    let shorter = interpolate::filtered(a.local(), &vectors, kept);
    let (rows, shorter) = (a.rows(), a.team().agree(shorter)?);
    Distributed::of_numbered(a.executor(), rows, rows, columns, shorter)
}

/// `R A P` of rows nearby, by blocks where the whole product would be.
fn product(r: &Csr<f64>, a: &Csr<f64>, p: &Csr<f64>, block: Size) -> Result<Csr<f64>> {
    if !a.executor().is_device()
        && let Some((a, p)) = in_blocks(a, p, block)
        && let Ok(r) = Bsr::from_csr(r, block.transposed())
    {
        return r.multiply(&a.multiply(&p)?)?.rows();
    }
    galerkin(r, a, p)
}
