//! The rows of a level that ranks share, for interpolation.

use std::sync::Arc;

use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::{Csr, Distributed, Halo, LocalNumbers};
use crate::multigrid::coarsen::NextNumbers;
use crate::scalar::Scalar;

/// The rows of a matrix that ranks share.
#[derive(Clone, Copy)]
pub(in crate::multigrid) struct RankLevel<'l> {
    /// This rank.
    pub executor: &'l Executor,
    /// Own rows and those of other ranks nearby.
    pub near: &'l Arc<Halo>,
    /// The columns that own rows refer to.
    pub columns: &'l Halo,
}

impl RankLevel<'_> {
    /// A matrix of these rows, given the own ones, from the unknowns of the next level. All ranks call it together.
    pub fn prolongation<V: Scalar>(
        &self,
        (own, numbers): (Csr<V>, &LocalNumbers),
        next: &NextNumbers,
    ) -> Result<Distributed<V>> {
        let rows = self.near.partition();
        Distributed::of_numbered(self.executor, rows, &next.partition, numbers, own)
    }
}
