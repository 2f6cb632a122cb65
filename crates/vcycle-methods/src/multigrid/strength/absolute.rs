//! Couplings of either sign, relative to the largest of the row.

use super::{Measure, largest};
use crate::operations::coarsen::DeviceMeasure;
use crate::reference::csr::CsrArrays;

/// `s_ij = |a_ij| / max_k |a_ik|`, the diagonal left out.
///
/// **Choose it** for classical coarsening of matrices with large positive couplings, such as those
/// of higher-order elements, where [`Classical`](super::Classical) finds too few strong ones.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Absolute {
    /// The smallest strong `s_ij`.
    pub threshold: f64,
    /// The mean number of strong couplings a row, in place of the threshold.
    pub connections: Option<f64>,
}

impl Default for Absolute {
    fn default() -> Self {
        Self {
            threshold: 0.25,
            connections: None,
        }
    }
}

impl Measure for Absolute {
    fn limits(&self) -> (f64, Option<f64>) {
        (self.threshold, self.connections)
    }

    fn on_device(&self) -> DeviceMeasure {
        DeviceMeasure::Absolute
    }

    #[inline(always)]
    fn reference(&self, a: &CsrArrays<'_, f64>, scales: &[f64], row: usize) -> f64 {
        largest(a, scales, self, row)
    }

    #[inline(always)]
    fn coupling(&self, _scales: &[f64], _row: usize, _column: usize, value: f64) -> f64 {
        value.abs()
    }
}
