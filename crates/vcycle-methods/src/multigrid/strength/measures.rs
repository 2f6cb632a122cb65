//! Measures that go by entries of the matrix.

use super::{Measure, largest};
use crate::operations::coarsen::DeviceMeasure;
use crate::prelude::*;
use crate::reference::csr::CsrArrays;
use crate::registration::parameters;

parameters! {
    /// `s_ij = -a_ij / max_k (-a_ik)`, the signs taken relative to that of `a_ii` (Ruge and Stueben
    /// 1987).
    ///
    /// Couplings of the sign of the diagonal are weak. A row that is nearly decoupled, with
    /// `|sum_j a_ij| > max_row_sum |a_ii|`, has no strong ones at all: relaxation alone solves it.
    ///
    /// **Choose it** for matrices close to M-matrices: diffusion by finite differences, finite volumes
    /// or linear elements, whatever their anisotropy or jumps.
    pub struct Classical {
        /// The smallest strong `s_ij`: 0.25 for problems in two dimensions, 0.5 gives lower
        /// complexities in three.
        pub threshold: f64 = 0.25,
        /// Rows with a larger sum, relative to the diagonal, have no strong couplings; 1 for none.
        pub max_row_sum: f64 = 0.9,
        /// The mean number of strong couplings a row, in place of the threshold.
        pub connections: Option<f64> = None,
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

parameters! {
    /// `s_ij = |a_ij| / max_k |a_ik|`, the diagonal left out.
    ///
    /// **Choose it** for classical coarsening of matrices with large positive couplings, such as those
    /// of higher-order elements, where [`Classical`] finds too few strong ones.
    pub struct Absolute {
        /// The smallest strong `s_ij`.
        pub threshold: f64 = 0.25,
        /// The mean number of strong couplings a row, in place of the threshold.
        pub connections: Option<f64> = None,
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

parameters! {
    /// `s_ij = |a_ij| / sqrt(|a_ii a_jj|)` (Vanek, Mandel and Brezina 1996).
    ///
    /// A symmetric matrix gives a symmetric graph.
    ///
    /// **Choose it** for smoothed aggregation and for structural problems, whose couplings have either
    /// sign.
    pub struct Symmetric {
        /// The smallest strong `s_ij`.
        pub threshold: f64 = 0.08,
        /// Each level has this times the threshold of the one above: coarse matrices have smaller
        /// `s_ij`.
        pub decay: f64 = 0.5,
        /// The mean number of strong couplings a row, in place of the threshold.
        pub connections: Option<f64> = None,
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

parameters! {
    /// `s_ij = |a_ij| / sqrt(m_i m_j)` with `m_i = max_k |a_ik|` over `k` other than `i`.
    ///
    /// A symmetric matrix gives a symmetric graph, as [`Symmetric`] does, but it does
    /// not matter how many couplings share the diagonal: all of a Laplacian are strong, with seven or
    /// with 27 entries a row. Where a coefficient jumps, the couplings across are weak: next to them
    /// those of one side are large.
    ///
    /// **Choose it** for aggregation.
    pub struct Mutual {
        /// The smallest strong `s_ij`. Unless given it is 0.3, and 0.25 between nodes of several
        /// unknowns: norms of blocks differ less than entries.
        pub threshold: Option<f64> = None,
        /// The mean number of strong couplings a row, in place of the threshold.
        pub connections: Option<f64> = None,
    }
}

const THRESHOLD: f64 = 0.3;
/// The same between nodes of several unknowns.
const NODE_THRESHOLD: f64 = 0.25;

impl Mutual {
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
