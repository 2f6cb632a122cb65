//! Couplings between unknowns whose smooth errors are alike.

use std::ops::Range;
use std::sync::Arc;

use super::{Classical, Measure, check, graph};
use crate::eigen::scattered;
use crate::error::{Error, Result};
use crate::executor::cut;
use crate::matrix::{Csr, Pattern, ranges, zeroed};
use crate::operations::coarsen::{self as operations, DeviceMeasure};
use crate::reference::csr::CsrArrays;

/// `c_ij = (v_i . v_j)² / (|v_i|² |v_j|²)`, where `v_i` is what unknown `i` has in a few test
/// vectors (Livne and Brandt 2012; (2.12) of the thesis on Chronos).
///
/// The test vectors are scattered numbers after some sweeps of Gauss-Seidel: what smoothing
/// leaves of any error. Unknowns that have nearly the same value up to a factor in all of them
/// interpolate each other well, whatever the entries of the matrix look like. All `c_ij` lie close to
/// one, and how close is a matter of chance that differs from place to place. So what counts is the
/// distance `1 - c_ij` beside the smallest one that either unknown has to a neighbour:
/// `s_ij = max(d_i, d_j) / (1 - c_ij)` with `d_i = min_k (1 - c_ik)`.
///
/// Entries have a say, too: couplings of the sign of the diagonal, and those below a fifth of the
/// largest of the row, are weak whatever the test vectors say, which by chance may be alike across
/// them; where that leaves two a row, there is nothing to choose. And where weights are made of entries
/// (extended+i and its like), the large ones count as well, or most of a row would be weak; only the
/// choice or grouping of unknowns goes by affinity alone.
///
/// **Choose it** for anisotropy that does not follow the grid, where large entries mislead, with a
/// coarsening that goes far: `pmis-aggressive`. It costs `sweeps` times `vectors` products in single
/// precision.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Affinity {
    /// The smallest strong `s_ij`, where no number of couplings is given.
    pub threshold: f64,
    /// The mean number of strong couplings a row, in place of the threshold.
    pub connections: Option<f64>,
    /// Test vectors; rounded up to a multiple of eight.
    pub vectors: usize,
    /// Sweeps that make them smooth, forwards and backwards in turns.
    pub sweeps: usize,
    /// The levels that go by affinity, the finest first. Entries of coarse matrices tell by
    /// themselves what is strong: on the others strength is what suits the coarsening.
    pub levels: usize,
}

impl Default for Affinity {
    fn default() -> Self {
        Self {
            threshold: 0.6,
            connections: None,
            vectors: 8,
            sweeps: 6,
            levels: 1,
        }
    }
}

impl Measure for Affinity {
    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn connections(&self) -> Option<f64> {
        self.connections
    }

    fn on_device(&self) -> Option<DeviceMeasure> {
        Some(DeviceMeasure::Closeness)
    }

    /// How close the closest neighbour of every row is; of a matrix of closenesses.
    fn scales(&self, closeness: &Csr<f64>) -> Result<Vec<f64>> {
        let most =
            |(): &mut (), row: usize| closeness.row(row).1.iter().copied().fold(0.0, f64::max);
        Ok(closeness.map_rows(|| (), most))
    }

    fn reference(&self, _closeness: &CsrArrays<'_, f64>, _scales: &[f64], _row: usize) -> f64 {
        1.0
    }

    fn coupling(&self, scales: &[f64], row: usize, column: usize, value: f64) -> f64 {
        value / scales[row].min(scales[column])
    }
}

/// Values of one unknown in some of the test vectors.
type Lane = [f32; LANE];
const LANE: usize = 8;

/// Couplings that may be strong: not much smaller than the largest of the row.
pub(super) const LARGE: Classical = Classical {
    threshold: 0.2,
    max_row_sum: 0.9,
    connections: None,
};
/// With so many neighbours there is no choice of directions.
const ALONG_A_LINE: usize = 2;

impl Affinity {
    /// The strong couplings of a matrix.
    pub(super) fn strong(&self, a: &Csr<f64>) -> Result<Arc<Pattern>> {
        check(a, self)?;
        if self.vectors == 0 {
            let reason = "there have to be some".to_owned();
            let parameter = "vectors";
            return Err(Error::BadParameter { parameter, reason });
        }
        let large = graph(a, &LARGE, false)?;
        let rows = a.size().rows;
        let has_choice = |row: usize| large.range(row).len() > ALONG_A_LINE;
        let have_some = large.nonzeros() > ALONG_A_LINE * rows || (0..rows).any(has_choice);
        if self.connections.is_none() && !have_some {
            return Ok(large);
        }
        graph(&self.closeness(a, &large)?, self, false)
    }

    /// `1 / (1 - c_ij)` for the couplings of a graph.
    fn closeness(&self, a: &Csr<f64>, graph: &Arc<Pattern>) -> Result<Csr<f64>> {
        let lanes = self.vectors.div_ceil(LANE);
        if let Some(known) = operations::closeness(a, graph, (lanes * LANE, self.sweeps))? {
            return Ok(known);
        }
        let vectors = self.smooth(a, lanes)?;
        let of = |unknown: usize| &vectors[unknown * lanes..][..lanes];
        let columns = graph.columns();
        Csr::from_places(graph, |row, place| {
            let apart = sine_squared(of(row), of(columns[place] as usize));
            1.0 / f64::from(apart.max(f32::EPSILON))
        })
    }

    /// Scattered numbers after sweeps of Gauss-Seidel, forwards and backwards in turns; every row
    /// scaled to norm one.
    fn smooth(&self, a: &Csr<f64>, lanes: usize) -> Result<Vec<Lane>> {
        let size = a.size().rows * lanes;
        let number = |index: usize| scattered(index) as f32;
        let mut x: Vec<Lane> = zeroed(a.executor(), size)?;
        for (index, lane) in x.iter_mut().enumerate() {
            *lane = std::array::from_fn(|k| number(index * LANE + k));
        }
        let mut next = x.clone();
        for sweep in 0..self.sweeps {
            self.each_piece(a, lanes, &mut next, |rows, part| {
                part.copy_from_slice(&x[rows.start * lanes..rows.end * lanes]);
                let piece = RelaxedRows {
                    a: a.at_hand(),
                    lanes,
                    rows,
                    others: &x,
                };
                piece.relax(sweep % 2 == 0, part);
            });
            std::mem::swap(&mut x, &mut next);
        }
        self.each_piece(a, lanes, &mut x, |_, part| {
            part.chunks_exact_mut(lanes).for_each(normalise);
        });
        Ok(x)
    }

    fn each_piece(
        &self,
        a: &Csr<f64>,
        lanes: usize,
        x: &mut [Lane],
        work: impl Fn(Range<usize>, &mut [Lane]) + Sync + Send,
    ) {
        let pieces = ranges(a.pattern().pieces());
        let parts = cut(x, pieces.iter().map(|rows| rows.len() * lanes));
        let tasks = pieces.into_iter().zip(parts).collect();
        a.executor()
            .run(a.bytes(), tasks, |(rows, part)| work(rows, part));
    }
}

/// Rows that are relaxed one after the other.
struct RelaxedRows<'a> {
    a: CsrArrays<'a, f64>,
    lanes: usize,
    rows: Range<usize>,
    /// All test vectors before the sweep; those of this piece are relaxed in their own place.
    others: &'a [Lane],
}

impl RelaxedRows<'_> {
    fn relax(&self, forwards: bool, own: &mut [Lane]) {
        for step in 0..self.rows.len() {
            let row = match forwards {
                true => self.rows.start + step,
                false => self.rows.end - 1 - step,
            };
            for lane in 0..self.lanes {
                own[self.place(row, lane)] = self.relaxed(row, lane, own);
            }
        }
    }

    /// `-sum_j a_ij x_j / a_ii`; zero where the diagonal is.
    fn relaxed(&self, row: usize, lane: usize, own: &[Lane]) -> Lane {
        let (columns, values) = self.a.row(row);
        let mut sum = [0.0; LANE];
        let diagonal = match columns.binary_search(&(row as u32)) {
            Ok(place) if values[place] != 0.0 => values[place],
            _ => return sum,
        };
        let scale = -1.0 / diagonal;
        for (&column, &value) in columns.iter().zip(values) {
            let column = column as usize;
            if column == row {
                continue;
            }
            let x = match self.rows.contains(&column) {
                true => &own[self.place(column, lane)],
                false => &self.others[column * self.lanes + lane],
            };
            let weight = (scale * value) as f32;
            for (sum, x) in sum.iter_mut().zip(x) {
                *sum += weight * x;
            }
        }
        sum
    }

    /// Where a row of this piece is.
    fn place(&self, row: usize, lane: usize) -> usize {
        (row - self.rows.start) * self.lanes + lane
    }
}

/// Scales to norm one, unless it is zero.
fn normalise(row: &mut [Lane]) {
    let squares = |lane: &Lane| {
        lane.iter()
            .map(|&x| f64::from(x) * f64::from(x))
            .sum::<f64>()
    };
    let norm = row.iter().map(squares).sum::<f64>().sqrt();
    if norm > 0.0 {
        let scale = (1.0 / norm) as f32;
        row.iter_mut().flatten().for_each(|x| *x *= scale);
    }
}

/// `1 - c²` for the cosine `c` of the angle between vectors of norm one, without cancellation.
fn sine_squared(x: &[Lane], y: &[Lane]) -> f32 {
    let mut sums = [0.0_f32; LANE];
    for (x, y) in x.iter().zip(y) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += (x - y) * (x - y);
        }
    }
    let half = 0.5 * sums.iter().sum::<f32>();
    half * (2.0 - half)
}
