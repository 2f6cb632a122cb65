//! Aggressive coarsening: a second coarsening of the coarse unknowns that the first one chose.

use super::choice::{Choice, Chosen, NextNumbers};
use super::nearby::Nearby;
use super::pmis::{COARSE, OPEN, complete, pmis_near};
use super::registration::{CoarseningRegistration, Graph};
use super::rounds::{map_rows, mix64, neighbours};
use super::{Aggressive, CoarseUnknowns, NONE, Splitting, pmis};
use crate::matrix::{Accumulator, Halo, Rows, balance, build};
use crate::operations;
use crate::prelude::*;

pub(super) const PMIS_AGGRESSIVE: CoarseningRegistration = CoarseningRegistration {
    name: "pmis-aggressive",
    summary: "`pmis` twice on the finest level, once below.",
    groups: false,
    reads: &["strength", "seed"],
    complex: false,
    on_host: &[],
    over_ranks: true,
    coarsen: |graph| match graph.near.halo() {
        None => {
            let both = aggressive(graph.strength, graph.seed)?;
            Ok(Choice::here(CoarseUnknowns::Twice(both)))
        }
        Some(rows) => over_ranks(graph, rows),
    },
};

/// [`pmis`](super::pmis) of the graph, then of its coarse unknowns (Stueben 1999; Yang 2010).
///
/// In the second stage a coarse unknown strongly depends on another where a path of at most two strong
/// couplings leads to it. One that has no such neighbour stays coarse.
///
/// **Choose it** for the finest level of problems with many couplings a row, above all in three
/// dimensions: it lowers the complexity most, at the price of a weaker interpolation.
///
/// **Smooth** more than once or with a polynomial: a tenth to a sixteenth of the unknowns is left, so
/// that smoothing has more of the error to take care of. With a constant stencil
/// [`L1Jacobi`](crate::precond::L1Jacobi) of weight 1 is Jacobi with weight 1/2, which halves nothing but
/// the error at the upper end of the spectrum. Iterations of CG to 1e-8 with
/// [`two_stage`](crate::multigrid::interpolate::two_stage) interpolation, one sweep before and after:
///
/// | | `poisson5:64` | `poisson7:32` | `poisson5:256` | `jump7:32,1e6` |
/// |---|---|---|---|---|
/// | `l1-jacobi:1` | 27 | 23 | 30 | 27 |
/// | `l1-jacobi:1`, two sweeps | 19 | 17 | 21 | 19 |
/// | `chebyshev:2` | 14 | 12 | 16 | 14 |
/// | `sgs` | 12 | 11 | 14 | 12 |
/// | [`pmis`](super::pmis), `l1-jacobi:1` | 14 | 14 | 15 | 15 |
///
/// Interpolation is not what limits them: without truncation they are the same, or one less.
/// For definite matrices `chebyshev:2` is what the smoother `auto` means. (`vcycle solve poisson5:64
/// --solver cg --coarsening pmis-aggressive --smoother l1-jacobi:1`)
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::{coarsen::aggressive, strength::Strength}};
/// let a = gallery::build("poisson5:16", &Executor::cpu())?.matrix;
/// let splitting = aggressive(&Strength::default().graph(&a)?, 1)?;
/// assert!(2 * splitting.second.coarse_count < splitting.first.coarse_count);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a graph that is not square, and when memory is short.
pub fn aggressive(strength: &Arc<Pattern>, seed: u64) -> Result<Aggressive> {
    let first = pmis(strength, seed)?;
    let chosen = (first.coarse_index.buffer(), first.coarse_count);
    if let Some(found) = operations::coarsen::aggressive(strength, mix64(seed), chosen)? {
        let second = Splitting::of_device(found);
        return Ok(Aggressive { first, second });
    }
    let is_coarse = |&row: &usize| first.coarse_index[row] != NONE;
    let points: Vec<usize> = (0..strength.size().rows).filter(is_coarse).collect();
    let graph = distance_two(strength, &first, &points)?;
    let among = among_coarse(&graph, seed, &Nearby::default())?;
    let compose = |&index: &u32| match index {
        NONE => NONE,
        index => among.coarse_index[index as usize],
    };
    let second = Splitting {
        coarse_index: first.coarse_index.iter().map(compose).collect(),
        coarse_count: among.coarse_count,
    };
    Ok(Aggressive { first, second })
}

/// The choice among the coarse unknowns of the first one, by the graph of what they reach; some of its rows may be those of
/// other ranks.
fn among_coarse(graph: &Pattern, seed: u64, near: &Nearby) -> Result<Splitting> {
    let start = map_rows(graph, |row| match graph.range(row).is_empty() {
        true => COARSE,
        false => OPEN,
    });
    complete(graph, seed, start, near)
}

/// The coarse unknowns that some of them, `points`, reach on paths of length one or two.
fn distance_two(strength: &Pattern, first: &Splitting, points: &[usize]) -> Result<Arc<Pattern>> {
    let (executor, n) = (strength.executor(), first.coarse_count);
    let per_row = strength.nonzeros() / strength.size().rows.max(1) + 1;
    let bounds = balance(points.len(), |row| row * per_row * per_row);
    let fill = |reached: &mut Accumulator<()>, row: usize, rows: &mut Rows<()>| {
        let near = || neighbours(strength, points[row]);
        let entries = near().map(|near| 1 + strength.range(near).len()).sum();
        reached.start(executor, n, entries)?;
        for near in near() {
            for other in std::iter::once(near).chain(neighbours(strength, near)) {
                if first.coarse_index[other] != NONE {
                    reached.sum(first.coarse_index[other]);
                }
            }
        }
        let own = first.coarse_index[points[row]];
        let (columns, _) = reached.sorted();
        rows.append_kept(executor, columns.len(), |at| {
            (columns[at] != own, columns[at], ())
        })
    };
    let bytes = strength.bytes() * per_row;
    let arrays = build(executor, &bounds, bytes, Accumulator::default, fill)?;
    Ok(arrays.into_pattern(executor, Size::new(points.len(), n)))
}

/// A choice among the unknowns of rows nearby, and another one among those of the first, as
/// [`aggressive`] makes them. All ranks call it together.
fn over_ranks(graph: &Graph<'_>, rows: &Halo) -> Result<Choice> {
    let (strength, seed) = (graph.strength, graph.seed);
    let found = pmis_near(strength, seed, graph.near)?;
    let first = Chosen::new(rows, |row| found.coarse_index[row] != NONE)?;
    let is_coarse = |&row: &usize| first.splitting.coarse_index[row] != NONE;
    let points: Vec<usize> = rows.own().filter(is_coarse).collect();
    let reached = distance_two(strength, &first.splitting, &points)?;
    let near = Reaching::new(graph.rank, &reached, &first.next)?;
    let among = among_coarse(near.graph.pattern(), seed, &Nearby::of(&near.halo))?;
    let mut is_second = vec![false; rows.len()];
    for (&row, place) in points.iter().zip(near.halo.own()) {
        is_second[row] = among.coarse_index[place] != NONE;
    }
    let second = Chosen::new(rows, |row| is_second[row])?;
    Ok([first, second].into())
}

/// Couplings of own unknowns and of those beside them, in either direction.
struct Reaching {
    halo: Arc<Halo>,
    graph: Csr<f64>,
}

impl Reaching {
    fn new(executor: &Executor, own: &Arc<Pattern>, next: &NextNumbers) -> Result<Self> {
        let (numbers, partition) = (&next.numbers, &next.partition);
        let own = Csr::with_pattern(own, vec![1.0; own.nonzeros()])?;
        let graph = Distributed::of_numbered(executor, partition, partition, numbers, own)?;
        let back = graph.transpose()?;
        let both = [graph.columns().others(), back.columns().others()].concat();
        let halo = Arc::new(Halo::new(graph.team(), partition, both)?);
        let graph = graph.rows_near(&halo, &halo)?;
        Ok(Self { halo, graph })
    }
}
