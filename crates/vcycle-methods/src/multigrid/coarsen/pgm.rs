//! Parallel graph matching (PGM): pairs of unknowns that are each other's strongest neighbour.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::registration::{CoarseUnknowns, CoarseningRegistration};
use super::rounds::{Active, map_rows, mix64};
use super::{Aggregates, NONE, Numbers, check_square};
use crate::error::{Error, Result};
use crate::host_stages::MATCHING;
use crate::linop::Size;
use crate::matrix::{Csr, galerkin};
use crate::operations;
use crate::operations::coarsen::Pairs;

/// Rounds side by side; what is left after them is matched one after the other.
const ROUNDS: usize = 20;
/// Pairs have at least this share of the heaviest coupling of one of the two.
const PAIR_SHARE: f32 = 0.25;

/// What it says of itself.
pub(super) const PGM: CoarseningRegistration = CoarseningRegistration {
    name: "pgm",
    summary: "Parallel graph match (Naumov et al. 2015).",
    groups: true,
    weighs: true,
    coarsen: |graph| {
        let pairs = match graph.weak_pairs {
            true => Pairs::Any,
            false => Pairs::Strong,
        };
        let groups = matched(graph.a, graph.aggregate_size, pairs, graph.seed)?;
        Ok(CoarseUnknowns::Grouped(groups))
    },
};

/// Parallel graph match (Naumov et al. 2015; algorithm 17 of the thesis on mixed-precision
/// multigrid in Ginkgo).
///
/// The weight of a coupling is `w_ij = (|a_ij| + |a_ji|) / 2 / max(|a_ii|, |a_jj|)`. In every round
/// each unmatched unknown points to its heaviest unmatched neighbour, and two that point to each
/// other are a pair. What finds no partner joins the group of its heaviest neighbour. For groups of
/// 4 and 8 the groups are matched again, the couplings between two of them summed.
///
/// - Equal weights are told apart by a hash of the pair, the same from both ends, and not by the
///   index: on a uniform stencil all would point the same way, and one pair a row be found.
/// - A coupling below a quarter of the heaviest ones at both its ends makes no pair: where the
///   strong neighbours are taken, joining one of their groups is better than a weak partner. Algorithm 17 has
///   no such bound: [`weak_pairs`](crate::multigrid::Amg::weak_pairs) leaves it out.
/// - Couplings stored as zero do not count, nor does an unknown whose row has no other entry (a
///   Dirichlet condition), although others may depend on it.
/// - An unknown without any coupling is left out of all groups: relaxation solves it.
///
/// **Choose it** for set-up in the least time and memory, with interpolation that is constant on
/// groups; it wants a K-cycle or an outer Krylov method to converge well.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::coarsen::pgm};
/// let a = gallery::build("poisson5:16", &Executor::cpu())?.matrix;
/// assert!(pgm(&a, 2, 1)?.count < 144);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a matrix that is not square, a size that is not 2, 4 or 8, and when memory is short.
pub fn pgm(a: &Csr<f64>, size: usize, seed: u64) -> Result<Aggregates> {
    matched(a, size, Pairs::Strong, seed)
}

/// [`pgm`] with pairs of one kind or the other.
pub(super) fn matched(a: &Csr<f64>, size: usize, pairs: Pairs, seed: u64) -> Result<Aggregates> {
    check_square("pgm", a.size())?;
    if ![2, 4, 8].contains(&size) {
        let (parameter, reason) = ("size", format!("{size} is not 2, 4 or 8"));
        return Err(Error::BadParameter { parameter, reason });
    }
    let matchings = (size.ilog2() as usize, ROUNDS);
    let collapsed = |a: &Csr<f64>, p: &Csr<f64>| galerkin(&p.transpose()?, a, p);
    if let Some(found) = operations::coarsen::pgm(a, matchings, (pairs, seed), collapsed)? {
        let aggregate = Numbers::of_buffer(found.groups).complete(found.is_complete);
        return Ok(Aggregates {
            aggregate,
            count: found.count,
        });
    }
    operations::on_host(a.executor(), MATCHING);
    let mut graph = MatchingGraph::of_matrix(a, pairs, seed)?;
    let mut step = graph.match_all(false);
    let mut aggregates = step.clone();
    for _ in 1..size.ilog2() {
        graph = graph.collapse(&step)?;
        step = graph.match_all(true);
        aggregates = aggregates.then(&step);
    }
    Ok(aggregates)
}

impl Aggregates {
    /// The groups of groups, for the unknowns of this one.
    fn then(mut self, next: &Aggregates) -> Aggregates {
        for group in self.aggregate.iter_mut().filter(|group| **group != NONE) {
            *group = next.aggregate[*group as usize];
        }
        self.count = next.count;
        self
    }
}

/// `(|A| + |A^T|) / 2` without the couplings that do not count.
struct MatchingGraph {
    weights: Csr<f64>,
    diagonal: Vec<f64>,
    /// For every row the weight of its heaviest coupling, where that counts.
    heaviest: Vec<f32>,
    pairs: Pairs,
    seed: u64,
}

impl MatchingGraph {
    fn of_matrix(a: &Csr<f64>, pairs: Pairs, seed: u64) -> Result<Self> {
        let coupled = map_rows(a.pattern(), |row| {
            let (columns, values) = a.row(row);
            let mut entries = columns.iter().zip(values);
            entries.any(|(&column, &value)| column as usize != row && value != 0.0)
        });
        let modulus = Csr::from_places(a.pattern(), |row, place| {
            let column = a.columns()[place] as usize;
            match row == column || coupled[row] && coupled[column] {
                true => a.values()[place].abs(),
                false => 0.0,
            }
        })?;
        let weights = modulus.add(0.5, 0.5, &modulus.transpose()?)?;
        Ok(Self::new(weights, pairs, seed))
    }

    fn new(weights: Csr<f64>, pairs: Pairs, seed: u64) -> Self {
        let mut graph = Self {
            diagonal: weights.diagonal(),
            heaviest: Vec::new(),
            weights,
            pairs,
            seed,
        };
        graph.heaviest = map_rows(graph.weights.pattern(), |row| {
            let weights = graph.couplings(row).map(|(_, weight)| weight);
            match pairs {
                Pairs::Strong => weights.fold(0.0, f32::max),
                // Beside nothing, no coupling is weak.
                Pairs::Any => 0.0,
            }
        });
        graph
    }

    /// The neighbours of an unknown and the weights of their couplings.
    fn couplings(&self, row: usize) -> impl Iterator<Item = (u32, f32)> {
        let (columns, values) = self.weights.row(row);
        let couplings = columns.iter().zip(values);
        let couplings =
            couplings.filter(move |(column, value)| **column as usize != row && **value != 0.0);
        couplings.map(move |(&column, value)| {
            let scale = self.diagonal[row].max(self.diagonal[column as usize]);
            // Single precision: sums over groups round differently from either end.
            (column, (value / scale) as f32)
        })
    }

    /// The graph of the groups: `P^T W P` with `P` constant on them.
    fn collapse(&self, aggregates: &Aggregates) -> Result<Self> {
        let executor = self.weights.executor();
        let size = Size::new(aggregates.aggregate.len(), aggregates.count);
        let kept = aggregates.aggregate.iter().filter(|&&group| group != NONE);
        let columns: Vec<u32> = kept.copied().collect();
        let mut end = 0;
        let ends = aggregates.aggregate.iter().map(|&group| {
            end += usize::from(group != NONE);
            end
        });
        let offsets = [0].into_iter().chain(ends).collect();
        let ones = vec![1.0; columns.len()];
        let p = Csr::from_canonical(executor, size, offsets, columns, ones);
        let weights = galerkin(&p.transpose()?, &self.weights, &p)?;
        Ok(Self::new(weights, self.pairs, self.seed))
    }

    /// Matches all; `keep_alone` makes groups of those without any coupling.
    fn match_all(&self, keep_alone: bool) -> Aggregates {
        let partners = self.match_pairs();
        let n = partners.len();
        let mut count = 0;
        let mut aggregate = vec![NONE; n];
        for row in 0..n {
            let partner = partners[row];
            let is_new = match partner {
                NONE => keep_alone && self.strongest(row, |_| true) == NONE,
                partner => partner as usize > row,
            };
            aggregate[row] = match partner {
                _ if is_new => count,
                NONE => NONE,
                partner => aggregate[partner as usize],
            };
            count += u32::from(is_new);
        }
        let join = |row: usize| match aggregate[row] {
            NONE => match self.strongest(row, |_| true) {
                NONE => NONE,
                neighbour => aggregate[neighbour as usize],
            },
            group => group,
        };
        Aggregates {
            aggregate: map_rows(self.weights.pattern(), join).into(),
            count: count as usize,
        }
    }

    /// For every unknown its partner or [`NONE`]; no two that could be a pair are left without one.
    fn match_pairs(&self) -> Vec<u32> {
        let pattern = self.weights.pattern();
        let nobody = || map_rows(pattern, |_| AtomicU32::new(NONE));
        let (partners, choices) = (nobody(), nobody());
        let is_free = |row: usize| partners[row].load(Relaxed) == NONE;
        let mut active = Active::new(pattern, |_| true);
        for _ in 0..ROUNDS {
            active.retain(|row| {
                let choice = self.strongest(row, is_free);
                choices[row].store(choice, Relaxed);
                choice != NONE
            });
            active.retain(|row| {
                let choice = choices[row].load(Relaxed);
                let mutual = choices[choice as usize].load(Relaxed) as usize == row;
                if mutual {
                    partners[row].store(choice, Relaxed);
                }
                !mutual
            });
        }
        for row in active.iter() {
            let choice = self.strongest(row, is_free);
            if is_free(row) && choice != NONE {
                partners[row].store(choice, Relaxed);
                partners[choice as usize].store(row as u32, Relaxed);
            }
        }
        partners.into_iter().map(AtomicU32::into_inner).collect()
    }

    /// The allowed partner with the heaviest coupling, or [`NONE`].
    fn strongest(&self, row: usize, allowed: impl Fn(usize) -> bool) -> u32 {
        let (mut best, mut most) = (NONE, 0.0);
        for (column, weight) in self.couplings(row) {
            let least = PAIR_SHARE * self.heaviest[row].min(self.heaviest[column as usize]);
            if weight < least || !allowed(column as usize) {
                continue;
            }
            let wins = weight > most || weight == most && self.wins_tie(row, column, best);
            if wins {
                (best, most) = (column, weight);
            }
        }
        best
    }

    /// Whether of two equal couplings of a row the first is taken.
    fn wins_tie(&self, row: usize, column: u32, best: u32) -> bool {
        // The indices at the end make the order of all couplings a total one.
        let rank = |other: u32| {
            let pair = [(row as u32).min(other), (row as u32).max(other)];
            let joined = u64::from(pair[0]) << 32 | u64::from(pair[1]);
            (mix64(joined ^ self.seed), pair)
        };
        best == NONE || rank(column) > rank(best)
    }
}
