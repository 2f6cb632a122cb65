//! Negative couplings, relative to the largest of the row.

use super::{Measure, largest};
use crate::operations::coarsen::DeviceMeasure;
use crate::reference::csr::CsrArrays;

/// `s_ij = -a_ij / max_k (-a_ik)`, the signs taken relative to that of `a_ii` (Ruge and Stueben
/// 1987).
///
/// Couplings of the sign of the diagonal are weak. A row that is nearly decoupled, with
/// `|sum_j a_ij| > max_row_sum |a_ii|`, has no strong ones at all: relaxation alone solves it.
///
/// **Choose it** for matrices close to M-matrices: diffusion by finite differences, finite volumes
/// or linear elements, whatever their anisotropy or jumps.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Classical {
    /// The smallest strong `s_ij`: 0.25 for problems in two dimensions, 0.5 gives lower
    /// complexities in three.
    pub threshold: f64,
    /// Rows with a larger sum, relative to the diagonal, have no strong couplings; 1 for none.
    pub max_row_sum: f64,
    /// The mean number of strong couplings a row, in place of the threshold.
    pub connections: Option<f64>,
}

impl Default for Classical {
    fn default() -> Self {
        Self {
            threshold: 0.25,
            max_row_sum: 0.9,
            connections: None,
        }
    }
}

impl Measure for Classical {
    fn limits(&self) -> (f64, Option<f64>) {
        (self.threshold, self.connections)
    }

    fn on_device(&self) -> DeviceMeasure {
        DeviceMeasure::Classical {
            max_row_sum: self.max_row_sum,
        }
    }

    #[inline(always)]
    fn reference(&self, a: &CsrArrays<'_, f64>, scales: &[f64], row: usize) -> f64 {
        let sum = || a.row(row).1.iter().sum::<f64>();
        if self.max_row_sum < 1.0 && sum().abs() > self.max_row_sum * scales[row].abs() {
            return f64::INFINITY;
        }
        largest(a, scales, self, row)
    }

    #[inline(always)]
    fn coupling(&self, scales: &[f64], row: usize, _column: usize, value: f64) -> f64 {
        if scales[row] < 0.0 { value } else { -value }
    }
}
