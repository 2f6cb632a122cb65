//! Couplings relative to both diagonal entries.

use super::Measure;
use crate::error::Result;
use crate::matrix::Csr;
use crate::operations::coarsen::DeviceMeasure;
use crate::reference::csr::CsrArrays;

/// `s_ij = |a_ij| / sqrt(|a_ii a_jj|)` (Vanek, Mandel and Brezina 1996).
///
/// A symmetric matrix gives a symmetric graph.
///
/// **Choose it** for smoothed aggregation and for structural problems, whose couplings have either
/// sign.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Symmetric {
    /// The smallest strong `s_ij`.
    pub threshold: f64,
    /// Each level has this times the threshold of the one above: coarse matrices have smaller
    /// `s_ij`.
    pub decay: f64,
    /// The mean number of strong couplings a row, in place of the threshold.
    pub connections: Option<f64>,
}

impl Default for Symmetric {
    fn default() -> Self {
        Self {
            threshold: 0.08,
            decay: 0.5,
            connections: None,
        }
    }
}

impl Measure for Symmetric {
    fn limits(&self) -> (f64, Option<f64>) {
        (self.threshold, self.connections)
    }

    fn on_device(&self) -> DeviceMeasure {
        DeviceMeasure::Symmetric
    }

    fn scales(&self, a: &Csr<f64>) -> Result<Vec<f64>> {
        let diagonal = a.diagonal().into_iter();
        Ok(diagonal.map(|entry| entry.abs().sqrt()).collect())
    }

    #[inline(always)]
    fn reference(&self, _a: &CsrArrays<'_, f64>, scales: &[f64], row: usize) -> f64 {
        scales[row]
    }

    #[inline(always)]
    fn coupling(&self, scales: &[f64], _row: usize, column: usize, value: f64) -> f64 {
        value.abs() / scales[column]
    }
}
