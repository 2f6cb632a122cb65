//! Parallel graph matching (PGM): pairs of unknowns that are each other's strongest neighbour.

use std::borrow::Cow;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use super::choice::Choice;
use super::groups::Groups;
use super::nearby::Nearby;
use super::registration::{CoarseningRegistration, Graph};
use super::rounds::{Active, map_rows, mix64};
use super::{Aggregates, CoarseUnknowns, NONE, Numbers, check_square};
use crate::host_stages;
use crate::matrix::{galerkin, galerkin_shared};
use crate::operations;
use crate::operations::coarsen::Pairs;
use crate::prelude::*;

/// Rounds side by side; what is left after them is matched one after the other.
const ROUNDS: usize = 20;
/// Pairs have at least this share of the heaviest coupling of one of the two.
const PAIR_SHARE: f32 = 0.25;

/// Members of the groups of the most matchings.
pub(super) const LARGEST: usize = 8;

pub(super) const PGM: CoarseningRegistration = CoarseningRegistration {
    name: "pgm",
    summary: "Parallel graph match (Naumov et al. 2015).",
    groups: true,
    reads: &["aggregate-size", "weak-pairs", "seed"],
    complex: true,
    on_host: &[host_stages::MATCHING],
    over_ranks: true,
    coarsen: |graph| match graph.near.is_shared() {
        false => Ok(Choice::here(CoarseUnknowns::Grouped(matched_here(graph)?))),
        true => Choice::grouped(graph.near, matched(graph)?),
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
    matched_here(&Graph {
        a,
        strength: a.pattern(),
        aggregate_size: size,
        weak_pairs: false,
        seed,
        near: &Nearby::default(),
        rank: a.executor(),
    })
}

/// The groups of a matrix that is here as a whole: by the device that has it, else by the host.
pub(super) fn matched_here(graph: &Graph<'_>) -> Result<Aggregates> {
    let a = graph.a;
    check_square("pgm", a.size())?;
    let (matchings, of) = (matchings(graph.aggregate_size)?, pairs(graph));
    let collapsed = |a: &Csr<f64>, p: &Csr<f64>| galerkin(&p.transpose()?, a, p);
    if let Some(found) = operations::coarsen::pgm(a, (matchings, ROUNDS), of, collapsed)? {
        let aggregate = Numbers::of_buffer(found.groups).complete(found.is_complete);
        return Ok(Aggregates {
            aggregate,
            count: found.count,
        });
    }
    operations::on_host(a.executor(), host_stages::MATCHING);
    Ok(matched(graph)?.aggregates())
}

/// The groups of own rows, which ranks may share. All ranks call it together.
fn matched(graph: &Graph<'_>) -> Result<Groups> {
    let matchings = matchings(graph.aggregate_size)?;
    let mut weights = Weights::new(graph)?;
    let mut groups: Option<Groups> = None;
    for matching in 0..matchings {
        let step = weights.matched(pairs(graph), matching > 0)?;
        if matching + 1 < matchings {
            weights = weights.between(&step)?;
        }
        groups = Some(match groups {
            None => step,
            Some(before) => before.then(graph.near, step)?,
        });
    }
    Ok(groups.expect("groups have two members at least"))
}

/// Couplings between unknowns, or between groups: here as a whole, or shared by ranks.
enum Weights {
    Here(Box<Csr<f64>>),
    OfRanks(Distributed<f64>),
}

impl Weights {
    fn new(graph: &Graph<'_>) -> Result<Self> {
        let near = couplings_of(graph.a)?;
        let Some(rows) = graph.near.halo() else {
            return Ok(Self::Here(Box::new(near)));
        };
        let (own, partition) = (near.row_range(rows.own())?, rows.partition());
        let shared = Distributed::of_numbered(graph.rank, partition, partition, rows, own)?;
        Ok(Self::OfRanks(shared))
    }

    /// The groups of one matching; `keep_alone` makes groups of those without any coupling, too.
    fn matched(&self, (pairs, seed): (Pairs, u64), keep_alone: bool) -> Result<Groups> {
        let (weights, near) = match self {
            Self::Here(all) => (Cow::Borrowed(all.as_ref()), Nearby::default()),
            Self::OfRanks(own) => {
                let near = own.surrounded(1, 1)?;
                (Cow::Owned(near.matrix), Nearby::of(&near.halo))
            }
        };
        let roots = MatchingGraph::new(&weights, pairs, seed, &near)?.roots(keep_alone)?;
        Groups::of_roots(&roots, &near)
    }

    /// The couplings between groups, in sum.
    fn between(&self, groups: &Groups) -> Result<Self> {
        Ok(match self {
            Self::Here(all) => {
                let (p, _) = groups.ones(all.executor(), 0);
                Self::Here(Box::new(galerkin(&p.transpose()?, all, &p)?))
            }
            Self::OfRanks(own) => {
                let p = groups.constants(own.executor(), own.rows())?;
                Self::OfRanks(galerkin_shared(&p.transpose()?, own, &p)?)
            }
        })
    }
}

/// How often unknowns, and then their groups, are matched for groups of a size.
fn matchings(size: usize) -> Result<usize> {
    let reason = format!("{size} is not 2, 4 or 8");
    Error::check_parameter([2, 4, 8].contains(&size), "size", reason)?;
    Ok(size.ilog2() as usize)
}

/// Which couplings make pairs, and how ties are broken.
fn pairs(graph: &Graph<'_>) -> (Pairs, u64) {
    let pairs = match graph.weak_pairs {
        true => Pairs::Any,
        false => Pairs::Strong,
    };
    (pairs, graph.seed)
}

/// `(|A| + |A^T|) / 2` without the couplings that do not count.
fn couplings_of(a: &Csr<f64>) -> Result<Csr<f64>> {
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
    modulus.add(0.5, 0.5, &modulus.transpose()?)
}

/// Couplings with weights, symmetric. Some of the rows may be those of other ranks: they may be empty.
struct MatchingGraph<'w> {
    weights: &'w Csr<f64>,
    diagonal: Vec<f64>,
    /// For every row the weight of its heaviest coupling, where that counts.
    heaviest: Vec<f32>,
    seed: u64,
    near: &'w Nearby,
}

impl<'w> MatchingGraph<'w> {
    fn new(weights: &'w Csr<f64>, pairs: Pairs, seed: u64, near: &'w Nearby) -> Result<Self> {
        let mut graph = Self {
            diagonal: weights.diagonal(),
            heaviest: Vec::new(),
            weights,
            seed,
            near,
        };
        near.refresh_all(&mut graph.diagonal)?;
        let mut heaviest = map_rows(weights.pattern(), |row| {
            let weights = graph.couplings(row).map(|(_, weight)| weight);
            match pairs {
                Pairs::Strong => weights.fold(0.0, f32::max),
                // Beside nothing, no coupling is weak.
                Pairs::Any => 0.0,
            }
        });
        near.refresh_all(&mut heaviest)?;
        graph.heaviest = heaviest;
        Ok(graph)
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

    /// For every unknown the root of its group, or [`NONE`]. The first of every pair is its root; who has no partner joins the group of its heaviest neighbour.
    fn roots(&self, keep_alone: bool) -> Result<Vec<u32>> {
        let partners = self.match_pairs()?;
        let of_pair = |row: usize| match partners[row] {
            NONE if keep_alone && self.strongest(row, |_| true) == NONE => row as u32,
            NONE => NONE,
            partner => partner.min(row as u32),
        };
        let mut roots = map_rows(self.weights.pattern(), of_pair);
        self.near.refresh_numbers(&mut roots)?;
        let join = |row: usize| match roots[row] {
            NONE => match self.strongest(row, |_| true) {
                NONE => NONE,
                neighbour => roots[neighbour as usize],
            },
            root => root,
        };
        let mut all = map_rows(self.weights.pattern(), join);
        self.near.refresh_numbers(&mut all)?;
        Ok(all)
    }

    /// For every unknown its partner or [`NONE`]; no two that could be a pair are left without one.
    fn match_pairs(&self) -> Result<Vec<u32>> {
        let (pattern, near) = (self.weights.pattern(), self.near);
        let nobody = || map_rows(pattern, |_| AtomicU32::new(NONE));
        let (partners, choices) = (nobody(), nobody());
        let is_free = |row: usize| partners[row].load(Relaxed) == NONE;
        let mut active = Active::new(pattern, |row| near.is_own(row));
        for _ in 0..ROUNDS {
            active.retain(|row| {
                let choice = self.strongest(row, is_free);
                choices[row].store(choice, Relaxed);
                choice != NONE
            });
            if !near.any(!active.is_empty())? {
                break;
            }
            refresh(&choices, near)?;
            active.retain(|row| {
                let choice = choices[row].load(Relaxed);
                let mutual = choices[choice as usize].load(Relaxed) as usize == row;
                if mutual {
                    partners[row].store(choice, Relaxed);
                }
                !mutual
            });
            refresh(&partners, near)?;
        }
        let left = |row: usize| (near.global(row), self.preferences(row, is_free));
        for [row, partner] in near.pairs_in_order(active.iter().map(left).collect())? {
            for (one, other) in [(row, partner), (partner, row)] {
                if let (Some(one), Some(other)) = (near.local(one), near.local(other)) {
                    partners[one as usize].store(other, Relaxed);
                }
            }
        }
        Ok(partners.into_iter().map(AtomicU32::into_inner).collect())
    }

    /// All allowed partners, the heaviest coupling first, by their numbers in the whole graph.
    fn preferences(&self, row: usize, allowed: impl Fn(usize) -> bool) -> Vec<u64> {
        let mut found = Vec::new();
        loop {
            let is_new = |other: usize| allowed(other) && !found.contains(&self.near.global(other));
            match self.strongest(row, is_new) {
                NONE => return found,
                next => found.push(self.near.global(next as usize)),
            }
        }
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
        // The numbers at the end make the order of all couplings a total one.
        let rank = |other: u32| {
            let (row, other) = (self.near.global(row), self.near.global(other as usize));
            let pair = [row.min(other), row.max(other)];
            let joined = pair[0].rotate_left(32) ^ pair[1];
            (mix64(joined ^ self.seed), pair)
        };
        best == NONE || rank(column) > rank(best)
    }
}

/// Gets the numbers of rows that those of other ranks have.
fn refresh(numbers: &[AtomicU32], near: &Nearby) -> Result<()> {
    near.refresh(
        |row| near.as_global(numbers[row].load(Relaxed)),
        |row, number| numbers[row].store(near.as_local(number), Relaxed),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multigrid::testing::chain;

    #[test]
    fn what_rounds_leave_is_matched_in_the_order_of_all_rows() {
        // Weights that grow along a line make a pair a round.
        let n = 150_u32;
        let whole = chain(1000.0, (1..n).map(f64::from));
        let whole = whole.copy_to(&Executor::cpu()).unwrap();
        let expected = pgm(&whole, 4, 1).unwrap();
        for ranks in [1, 3, 7] {
            on_parts(None, ranks, &whole, |rank, a| {
                let near = a.surrounded(1, 1)?;
                let found = matched(&Graph {
                    a: &near.matrix,
                    strength: near.matrix.pattern(),
                    aggregate_size: 4,
                    weak_pairs: false,
                    seed: 1,
                    near: &Nearby::of(&near.halo),
                    rank,
                })?;
                assert_eq!(found.partition.total(), expected.count as u64);
                for (row, &group) in near.halo.own_rows().zip(&found.of_own) {
                    assert_eq!(group, u64::from(expected.aggregate[row as usize]));
                }
                Ok(())
            });
        }
    }
}
