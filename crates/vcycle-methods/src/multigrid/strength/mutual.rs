//! Couplings relative to the largest of both rows.

use super::{Absolute, Measure, largest};
use crate::error::Result;
use crate::matrix::Csr;
use crate::operations::coarsen::DeviceMeasure;
use crate::reference::csr::CsrArrays;

/// `s_ij = |a_ij| / sqrt(m_i m_j)` with `m_i = max_k |a_ik|` over `k` other than `i`.
///
/// A symmetric matrix gives a symmetric graph, as [`Symmetric`](super::Symmetric) does, but it does
/// not matter how many couplings share the diagonal: all of a Laplacian are strong, with seven or
/// with 27 entries a row. Where a coefficient jumps, the couplings across are weak: next to them
/// those of one side are large.
///
/// **Choose it** for aggregation.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Mutual {
    /// The smallest strong `s_ij`. Unless given it is 0.3, and 0.25 between nodes of several
    /// unknowns: norms of blocks differ less than entries.
    pub threshold: Option<f64>,
    /// The mean number of strong couplings a row, in place of the threshold.
    pub connections: Option<f64>,
}

/// The threshold unless one is given.
const THRESHOLD: f64 = 0.3;
/// The same between nodes of several unknowns.
const NODE_THRESHOLD: f64 = 0.25;

impl Mutual {
    /// The same for a graph of nodes.
    pub(in crate::multigrid) fn of_nodes(self) -> Self {
        let threshold = self.threshold.or(Some(NODE_THRESHOLD));
        Self { threshold, ..self }
    }
}

impl Measure for Mutual {
    fn limits(&self) -> (f64, Option<f64>) {
        (self.threshold.unwrap_or(THRESHOLD), self.connections)
    }

    fn on_device(&self) -> DeviceMeasure {
        DeviceMeasure::Mutual
    }

    fn scales(&self, a: &Csr<f64>) -> Result<Vec<f64>> {
        let (arrays, measure) = (a.at_hand(), Absolute::default());
        let scale = |(): &mut (), row| 1.0 / largest(&arrays, &[], &measure, row).sqrt();
        Ok(a.map_rows(|| (), scale))
    }

    #[inline(always)]
    fn reference(&self, _a: &CsrArrays<'_, f64>, scales: &[f64], row: usize) -> f64 {
        1.0 / scales[row]
    }

    #[inline(always)]
    fn coupling(&self, scales: &[f64], _row: usize, column: usize, value: f64) -> f64 {
        value.abs() * scales[column]
    }
}
