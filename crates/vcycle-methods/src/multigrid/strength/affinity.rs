//! Couplings between unknowns whose smooth errors are alike.

use std::ops::Range;

use super::super::coarsen::Nearby;
use super::{Classical, Measure, check, graph};
use crate::eigen::scattered;
use crate::executor::cut;
use crate::matrix::{Halo, ranges, zeroed};
use crate::operations::coarsen::{self as operations, DeviceMeasure};
use crate::prelude::*;
use crate::reference::csr::CsrArrays;
use crate::registration::parameters;

parameters! {
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
    pub struct Affinity {
        /// The smallest strong `s_ij`, where no number of couplings is given.
        pub threshold: f64 = 0.6,
        /// The mean number of strong couplings a row, in place of the threshold.
        pub connections: Option<f64> = None,
        /// Test vectors; rounded up to a multiple of eight.
        pub vectors: usize = 8,
        /// Sweeps that make them smooth, forwards and backwards in turns.
        pub sweeps: usize = 6,
        /// The levels that go by affinity, the finest first. Entries of coarse matrices tell by
        /// themselves what is strong: on the others strength is what suits the coarsening.
        pub levels: usize = 1,
    }
}

impl Measure for Affinity {
    fn limits(&self) -> (f64, Option<f64>) {
        (self.threshold, self.connections)
    }

    fn on_device(&self) -> DeviceMeasure {
        DeviceMeasure::Closeness
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
    /// The strong couplings of a matrix, some of whose rows may be those of other ranks.
    pub(super) fn strong(&self, a: &Csr<f64>, near: &Nearby) -> Result<Arc<Pattern>> {
        check(a, self)?;
        Error::check_parameter(self.vectors > 0, "vectors", "there have to be some")?;
        let large = graph(a, &LARGE, &Nearby::default(), false)?;
        let mut own = near.own(a.size().rows);
        let has_choice = |row: usize| large.range(row).len() > ALONG_A_LINE;
        let is_clear = !near.is_shared() && large.nonzeros() > ALONG_A_LINE * own.len();
        let have_some = is_clear || near.any(own.any(has_choice))?;
        if self.connections.is_none() && !have_some {
            return Ok(large);
        }
        graph(&self.closeness(a, &large, near)?, self, near, false)
    }

    /// `1 / (1 - c_ij)` for the couplings of a graph.
    fn closeness(&self, a: &Csr<f64>, graph: &Arc<Pattern>, near: &Nearby) -> Result<Csr<f64>> {
        let lanes = self.vectors.div_ceil(LANE);
        if let Some(known) = operations::closeness(a, graph, (lanes * LANE, self.sweeps))? {
            return Ok(known);
        }
        let vectors = match near.halo() {
            Some(halo) => self.smooth_shared(a, lanes, halo)?,
            None => {
                let rows = 0..a.size().rows;
                let mut x = self.start(a.executor(), lanes, rows.clone())?;
                let pieces = ranges(a.pattern().pieces());
                self.smooth((a, &pieces), lanes, &mut x, |_| Ok(()))?;
                x
            }
        };
        let of = |unknown: usize| &vectors[unknown * lanes..][..lanes];
        let columns = graph.columns();
        Csr::from_places(graph, |row, place| {
            let apart = sine_squared(of(row), of(columns[place] as usize));
            1.0 / f64::from(apart.max(f32::EPSILON))
        })
    }

    /// Scattered numbers for rows of all.
    fn start(
        &self,
        executor: &Executor,
        lanes: usize,
        rows: impl ExactSizeIterator<Item = usize>,
    ) -> Result<Vec<Lane>> {
        let mut x: Vec<Lane> = zeroed(executor, rows.len() * lanes)?;
        for (row, values) in rows.zip(x.chunks_exact_mut(lanes)) {
            for (index, lane) in (row * lanes..).zip(values) {
                *lane = std::array::from_fn(|k| scattered(index * LANE + k) as f32);
            }
        }
        Ok(x)
    }

    /// Sweeps of Gauss-Seidel over pieces, which follow each other, forwards and backwards in turns, each with what others
    /// were before; then every row of theirs is scaled to norm one. `refresh` is called after each sweep.
    fn smooth(
        &self,
        (a, pieces): (&Csr<f64>, &[Range<usize>]),
        lanes: usize,
        x: &mut Vec<Lane>,
        refresh: impl Fn(&mut [Lane]) -> Result<()>,
    ) -> Result<()> {
        let first = pieces.first().map_or(0, |rows| rows.start);
        let last = pieces.last().map_or(0, |rows| rows.end);
        let own = first * lanes..last * lanes;
        let mut next = x.clone();
        for sweep in 0..self.sweeps {
            each_piece(a, pieces, lanes, &mut next[own.clone()], |rows, part| {
                part.copy_from_slice(&x[rows.start * lanes..rows.end * lanes]);
                let piece = RelaxedRows {
                    a: a.at_hand(),
                    lanes,
                    rows,
                    others: x,
                };
                piece.relax(sweep % 2 == 0, part);
            });
            std::mem::swap(x, &mut next);
            refresh(x)?;
        }
        each_piece(a, pieces, lanes, &mut x[own], |_, part| {
            part.chunks_exact_mut(lanes).for_each(normalise);
        });
        refresh(x)
    }

    /// The same of rows nearby, which several ranks share: every one relaxes the pieces of the whole matrix that begin in its
    /// rows.
    fn smooth_shared(&self, a: &Csr<f64>, lanes: usize, halo: &Arc<Halo>) -> Result<Vec<Lane>> {
        let executor = a.executor().with_team(halo.team())?;
        let (own, rows) = (a.row_range(halo.own())?, halo.partition());
        let whole = Distributed::of_numbered(&executor, rows, rows, halo, own)?;
        let (whole, bounds) = whole.in_pieces()?;
        let near = whole.surrounded(0, 1)?;
        let here = &near.halo;
        let (first, mine) = (here.own().start as u64, here.own_rows());
        let local = |bound: u64| (first + bound - mine.start) as usize;
        let pieces = bounds.windows(2).filter(|ends| mine.contains(&ends[0]));
        let pieces: Vec<Range<usize>> = pieces.map(|ends| local(ends[0])..local(ends[1])).collect();
        let numbers = (0..here.len()).map(|row| here.global(row) as usize);
        let mut x = self.start(a.executor(), lanes, numbers)?;
        let refresh = |x: &mut [Lane]| refreshed(here, lanes, x);
        self.smooth((&near.matrix, &pieces), lanes, &mut x, refresh)?;
        // What the rows nearby have, wherever they were relaxed.
        let wanted = (0..halo.len()).map(|row| halo.global(row)).collect();
        let to = Halo::new(halo.team(), whole.rows(), wanted)?;
        let mut found = vec![[0.0; LANE]; to.len() * lanes];
        let relaxed = here.own().start * lanes..here.own().end * lanes;
        found[to.own().start * lanes..to.own().end * lanes].copy_from_slice(&x[relaxed]);
        refreshed(&to, lanes, &mut found)?;
        let row = |row: usize| to.local(halo.global(row)).expect("asked for") as usize;
        let rows = (0..halo.len()).flat_map(|at| &found[row(at) * lanes..][..lanes]);
        Ok(rows.copied().collect())
    }
}

/// Gets the values of rows of other ranks.
fn refreshed(halo: &Halo, lanes: usize, x: &mut [Lane]) -> Result<()> {
    let (own, before) = (halo.own(), halo.before() * lanes);
    let mut others = vec![[0.0; LANE]; halo.others().len() * lanes];
    let sent = x[own.start * lanes..own.end * lanes].as_flattened();
    let received = others.as_flattened_mut();
    halo.exchange(lanes * LANE, sent, received, &mut || Ok(()))?;
    x[..before].copy_from_slice(&others[..before]);
    x[own.end * lanes..].copy_from_slice(&others[before..]);
    Ok(())
}

/// Works on the values of every piece side by side.
fn each_piece(
    a: &Csr<f64>,
    pieces: &[Range<usize>],
    lanes: usize,
    x: &mut [Lane],
    work: impl Fn(Range<usize>, &mut [Lane]) + Sync + Send,
) {
    let parts = cut(x, pieces.iter().map(|rows| rows.len() * lanes));
    let tasks = pieces.iter().cloned().zip(parts).collect();
    a.executor()
        .run(a.bytes(), tasks, |(rows, part)| work(rows, part));
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
