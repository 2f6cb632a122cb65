//! Which couplings matter: the graph that coarsening and interpolation look at.
//!
//! Every measure gives each coupling a number `s_ij >= 0`; the strong ones are those with
//! `s_ij >= threshold`. In place of a threshold the mean number of strong connections of a row can
//! be prescribed, which keeps the coarsening alike on all levels (2.2.2 of the thesis on Chronos:
//! the threshold is then found by sorting all `s_ij`).

mod affinity;
mod measures;

pub use affinity::Affinity;
pub use measures::{Absolute, Classical, Mutual, Symmetric};

use super::coarsen::Nearby;
use crate::matrix::{Rows, build, ranges};
use crate::operations::coarsen as operations;
use crate::prelude::*;
use crate::reference::csr::CsrArrays;

/// How strong couplings are told from weak ones.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::strength::Strength};
/// let a = gallery::build("aniso5:8,0.01", &Executor::cpu())?.matrix;
/// let strong = Strength::default().graph(&a)?;
/// assert_eq!(strong.columns()[strong.range(9)], [8, 10]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Strength {
    /// What suits the coarsening: classical where unknowns are chosen, mutual where they are
    /// grouped. [`graph`](Self::graph) takes it for classical.
    #[default]
    Auto,
    /// Negative couplings against the largest of the row.
    Classical(Classical),
    /// Couplings against the diagonal entries of both unknowns.
    Symmetric(Symmetric),
    /// Couplings of either sign against the largest of the row.
    Absolute(Absolute),
    /// Couplings of either sign against the largest of both rows.
    Mutual(Mutual),
    /// Couplings between unknowns whose smooth errors are alike.
    Affinity(Affinity),
}

impl Strength {
    /// The same with the threshold of a level; 0 is the finest. Below the levels that go by affinity
    /// it is `Auto`.
    #[must_use]
    pub fn at_level(self, level: usize) -> Self {
        match self {
            Strength::Symmetric(measure) => Strength::Symmetric(Symmetric {
                threshold: measure.threshold * measure.decay.powi(level as i32),
                ..measure
            }),
            Strength::Affinity(measure) if level >= measure.levels => Strength::Auto,
            Strength::Auto
            | Strength::Classical(_)
            | Strength::Absolute(_)
            | Strength::Mutual(_)
            | Strength::Affinity(_) => self,
        }
    }

    /// For every row the columns it strongly depends on, never the diagonal nor a stored zero.
    ///
    /// # Errors
    /// For a matrix that is not square, a threshold or number of connections that is negative or
    /// not a number, and when memory is short.
    pub fn graph(&self, a: &Csr<f64>) -> Result<Arc<Pattern>> {
        self.graph_near(a, &Nearby::default(), false)
    }

    /// The [`graph`](Self::graph) of rows some of which may be those of other ranks, which are asked where a measure goes by
    /// more than rows nearby. Where the diagonal `may_stay` and every coupling is strong, it is the pattern of the matrix
    /// itself: to write that once more takes as long as to find it out.
    pub(super) fn graph_near(
        &self,
        a: &Csr<f64>,
        near: &Nearby,
        may_stay: bool,
    ) -> Result<Arc<Pattern>> {
        match self {
            Strength::Auto => graph(a, &Classical::default(), near, false),
            Strength::Classical(measure) => graph(a, measure, near, false),
            Strength::Symmetric(measure) => graph(a, measure, near, false),
            Strength::Absolute(measure) => graph(a, measure, near, false),
            Strength::Mutual(measure) => graph(a, measure, near, may_stay),
            Strength::Affinity(measure) => measure.strong(a, near),
        }
    }

    /// The couplings for weights that are made of entries: where the strong ones were not told by
    /// theirs, all large ones, of which those are a part.
    pub(super) fn for_weights(&self, a: &Csr<f64>, strong: &Arc<Pattern>) -> Result<Arc<Pattern>> {
        match self.is_by_entries() {
            true => Ok(Arc::clone(strong)),
            false => graph(a, &affinity::LARGE, &Nearby::default(), false),
        }
    }

    /// Whether it looks at the rows on both sides of a coupling.
    pub(super) fn is_of_both_rows(&self) -> bool {
        match self {
            Strength::Auto | Strength::Classical(_) | Strength::Absolute(_) => false,
            Strength::Symmetric(_) | Strength::Mutual(_) | Strength::Affinity(_) => true,
        }
    }

    /// Whether entries of the matrix decide what is strong.
    pub(super) fn is_by_entries(&self) -> bool {
        !matches!(self, Strength::Affinity(_))
    }
}

/// Couplings that rounding alone has taken below the threshold are strong: on grids many lie just there.
const AT_THRESHOLD: f64 = 1.0 - 1e-10;

/// One measure of strength.
trait Measure: Sync {
    /// The smallest strong coupling, and the mean number of strong ones a row that may take its place.
    fn limits(&self) -> (f64, Option<f64>);

    /// The same for a device.
    fn on_device(&self) -> operations::DeviceMeasure;

    /// Numbers, as a rule one a row, that the other functions are given.
    fn scales(&self, a: &Csr<f64>) -> Result<Vec<f64>> {
        Ok(a.diagonal())
    }

    /// What the couplings of row `i` are divided by: `s_ij` is [`coupling`](Self::coupling) over
    /// this. Infinite for a row that has no strong ones.
    fn reference(&self, a: &CsrArrays<'_, f64>, scales: &[f64], row: usize) -> f64;

    /// The size of the coupling `a_ij`; not positive where it is weak in any case.
    fn coupling(&self, scales: &[f64], row: usize, column: usize, value: f64) -> f64;
}

/// Whether a matrix has a graph, and whether the parameters of a measure make sense.
fn check(a: &Csr<f64>, measure: &impl Measure) -> Result<()> {
    let size = a.size();
    if size.rows != size.cols {
        let component = "strength of connection";
        return Err(Error::NotSquare { component, size });
    }
    let (threshold, connections) = measure.limits();
    let not_negative = |parameter, value: f64| {
        let reason = format!("{value} is not a number from 0 on");
        Error::check_parameter(value >= 0.0, parameter, reason)
    };
    not_negative("threshold", threshold)?;
    not_negative("connections", connections.unwrap_or(0.0))
}

/// The strong couplings; or, if the diagonal `may_stay` and all couplings are strong, all entries. Some of the rows may be
/// those of other ranks.
fn graph(
    a: &Csr<f64>,
    measure: &impl Measure,
    near: &Nearby,
    may_stay: bool,
) -> Result<Arc<Pattern>> {
    check(a, measure)?;
    let ((threshold, connections), known) = (measure.limits(), measure.on_device());
    let threshold = match connections {
        None => Some(threshold),
        Some(mean) if near.is_shared() => {
            Some(quantile(a, &measure.scales(a)?, measure, mean, near)?)
        }
        Some(mean) => operations::threshold_for(a, known, wanted(a.size().rows, mean))?,
    };
    if let Some(threshold) = threshold
        && let Some(strong) = operations::strong_couplings(a, known, AT_THRESHOLD * threshold)?
    {
        return Ok(strong);
    }
    let scales = measure.scales(a)?;
    let threshold = match (threshold, connections) {
        (None, Some(mean)) => quantile(a, &scales, measure, mean, near)?,
        (known, _) => known.unwrap_or_default(),
    };
    let threshold = AT_THRESHOLD * threshold;
    if may_stay && all_strong(a, measure, &scales, threshold) {
        return Ok(Arc::clone(a.pattern()));
    }
    let arrays = a.at_hand();
    let fill = |(): &mut (), row: usize, rows: &mut Rows<()>| {
        let (columns, values) = arrays.row(row);
        let strong = threshold * measure.reference(&arrays, &scales, row);
        rows.append_kept(a.executor(), columns.len(), |at| {
            let column = columns[at];
            let coupling = measure.coupling(&scales, row, column as usize, values[at]);
            let keep = (column as usize != row) & (coupling > 0.0) & (coupling >= strong);
            (keep, column, ())
        })
    };
    let pieces = a.pattern().pieces();
    let arrays = build(a.executor(), pieces, a.bytes(), || (), fill)?;
    Ok(arrays.into_pattern(a.executor(), a.size()))
}

/// Whether every stored coupling is at least `threshold`. Ends at the first one that is weak.
fn all_strong(a: &Csr<f64>, measure: &impl Measure, scales: &[f64], threshold: f64) -> bool {
    let arrays = a.at_hand();
    let is_strong = |row: usize| {
        let (columns, values) = arrays.row(row);
        let least = threshold * measure.reference(&arrays, scales, row);
        let mut weak = 0_u32;
        for (&column, &value) in columns.iter().zip(values) {
            let coupling = measure.coupling(scales, row, column as usize, value);
            let strong = (coupling > 0.0) & (coupling >= least);
            weak += u32::from(!strong & (column as usize != row));
        }
        weak == 0
    };
    let parts = a.map_pieces(|mut rows| rows.all(is_strong));
    parts.into_iter().all(|all| all)
}

/// `visit(j, size)` for the couplings of row `i` that are not weak in any case.
#[inline(always)]
fn for_each_coupling(
    a: &CsrArrays<'_, f64>,
    scales: &[f64],
    measure: &impl Measure,
    row: usize,
    mut visit: impl FnMut(u32, f64),
) {
    let (columns, values) = a.row(row);
    for (at, &column) in columns.iter().enumerate() {
        let coupling = measure.coupling(scales, row, column as usize, values[at]);
        if column as usize != row && coupling > 0.0 {
            visit(column, coupling);
        }
    }
}

/// How many couplings `mean` a row are.
fn wanted(rows: usize, mean: f64) -> usize {
    (mean * rows as f64).round() as usize
}

/// The threshold that keeps `mean` couplings a row on average; equal couplings are kept together. Some of the rows may be
/// those of other ranks.
fn quantile(
    a: &Csr<f64>,
    scales: &[f64],
    measure: &impl Measure,
    mean: f64,
    near: &Nearby,
) -> Result<f64> {
    let (arrays, own) = (a.at_hand(), near.own(a.size().rows));
    let piece = |rows: std::ops::Range<usize>| {
        let mut all = Vec::new();
        for row in rows.start.max(own.start)..rows.end.min(own.end) {
            let reference = measure.reference(&arrays, scales, row);
            for_each_coupling(&arrays, scales, measure, row, |_, c| {
                all.push(c / reference)
            });
        }
        all
    };
    let pieces = ranges(a.pattern().pieces());
    let all = a.executor().run(a.bytes(), pieces, piece).concat();
    let count = wanted(near.total(own.len())?, mean);
    Ok(near.nth_largest(all, count)?.unwrap_or(f64::INFINITY))
}

#[inline(always)]
fn largest(a: &CsrArrays<'_, f64>, scales: &[f64], measure: &impl Measure, row: usize) -> f64 {
    let mut largest = 0.0_f64;
    for_each_coupling(a, scales, measure, row, |_, size| {
        largest = if size > largest { size } else { largest };
    });
    largest
}

#[cfg(test)]
mod tests;
