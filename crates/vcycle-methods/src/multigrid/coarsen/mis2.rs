//! Parallel aggregation around a distance-two independent set of roots (MIS-2).

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::choice::Choice;
use super::groups::Groups;
use super::nearby::Nearby;
use super::registration::CoarseningRegistration;
use super::rounds::{Active, map_rows, mix64, neighbours, scramble};
use super::{Aggregates, CoarseUnknowns, NONE, check_square, most_common};
use crate::matrix::{DeviceHalo, ranges};
use crate::operations;
use crate::prelude::*;

/// The rank of a root, above those of all open nodes.
const ROOT: u64 = u64::MAX;
/// The rank of a node that cannot become a root.
const OUT: u64 = 0;

/// Rows of so many entries are not halved to find one.
const SHORT: usize = 16;

pub(super) const MIS2: CoarseningRegistration = CoarseningRegistration {
    name: "mis2",
    summary: "Aggregation around a maximal independent set of distance two (Bell, Dalton and Olson 2012).",
    groups: true,
    reads: &["strength", "seed"],
    complex: true,
    on_host: &[],
    over_ranks: true,
    coarsen: |graph| {
        let (strength, seed) = (graph.strength, graph.seed);
        let Some(halo) = graph.near.halo() else {
            return Ok(Choice::here(CoarseUnknowns::Grouped(mis2(strength, seed)?)));
        };
        let there = DeviceHalo::new(halo, strength.executor());
        let both_ways = || both_ways(strength);
        match operations::coarsen::mis2_near(strength, mix64(seed), &there, both_ways)? {
            Some(found) => {
                let roots = (&found.roots, found.count);
                Choice::of_devices(&there, halo, roots, Some(&found.groups))
            }
            None => {
                let roots = mis2_roots(strength, seed, graph.near)?;
                Choice::grouped(graph.near, Groups::of_roots(&roots, graph.near)?)
            }
        }
    },
};

/// Aggregation around a maximal independent set of distance two (Bell, Dalton and Olson 2012).
///
/// Couplings count in both directions. In every round the open nodes whose random rank is the
/// largest within distance two become roots, and those within distance two of a root are out. Then
/// the neighbours of a root join it, and what is left joins the group that most of its neighbours
/// belong to. A node without strong couplings is left out.
///
/// **Choose it** for smoothed aggregation: groups have a diameter of about three, as one step of
/// smoothing asks for. For matrices with several unknowns a node give the graph of nodes.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::{coarsen::mis2, strength::Strength}};
/// let a = gallery::build("poisson5:16", &Executor::cpu())?.matrix;
/// let aggregates = mis2(&Strength::default().graph(&a)?, 1)?;
/// assert!((20..52).contains(&aggregates.count));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a graph that is not square, and when memory is short.
pub fn mis2(strength: &Arc<Pattern>, seed: u64) -> Result<Aggregates> {
    check_square("mis2", strength.size())?;
    let both_ways = || both_ways(strength);
    if let Some(found) = operations::coarsen::mis2(strength, mix64(seed), both_ways)? {
        return Ok(Aggregates::of_device(found));
    }
    let roots = mis2_roots(strength, seed, &Nearby::default())?;
    Ok(Aggregates::of_roots(&roots))
}

fn both_ways(graph: &Pattern) -> Result<Arc<Pattern>> {
    graph.union(graph.transpose()?.as_ref())
}

/// For every node the root of its group, where some of the nodes may be those of other ranks.
fn mis2_roots(strength: &Arc<Pattern>, seed: u64, near: &Nearby) -> Result<Vec<u32>> {
    let graph = symmetric(strength, near.own(strength.size().rows))?;
    let ranks = ranks(&graph, seed, near)?;
    let is_root = |row: usize| ranks[row] == ROOT;
    let mut root = map_rows(&graph, |row| if is_root(row) { row as u32 } else { NONE });
    for join in [join_root, join_most] {
        root = map_rows(&graph, |row| match root[row] {
            NONE => join(&graph, &root, row),
            known => known,
        });
        near.refresh_numbers(&mut root)?;
    }
    Ok(root)
}

/// The couplings of some rows in both directions.
fn symmetric(graph: &Arc<Pattern>, rows: Range<usize>) -> Result<Arc<Pattern>> {
    match is_symmetric(graph, &rows) {
        true => Ok(Arc::clone(graph)),
        false => both_ways(graph),
    }
}

/// Whether the couplings of some rows are there in both directions. Those between the rows are looked for from one side, and
/// counted on the other.
fn is_symmetric(graph: &Pattern, rows: &Range<usize>) -> bool {
    let has = |row: usize, column: usize| {
        let (columns, column) = (&graph.columns()[graph.range(row)], column as u32);
        match columns.len() <= SHORT {
            true => columns.contains(&column),
            false => columns.binary_search(&column).is_ok(),
        }
    };
    // Couplings that lead up and down among the rows, out of them and into them.
    let counts = |piece: Range<usize>| {
        let [mut up, mut down, mut out, mut into] = [0_usize; 4];
        for row in piece {
            let is_one = rows.contains(&row);
            for other in neighbours(graph, row) {
                match (is_one, rows.contains(&other)) {
                    (true, true) if other < row => down += 1,
                    (true, is_among) => {
                        if other != row && !has(other, row) {
                            return None;
                        }
                        let count = if is_among { &mut up } else { &mut out };
                        *count += usize::from(other != row);
                    }
                    (false, is_among) => into += usize::from(is_among),
                }
            }
        }
        Some([up, down, out, into])
    };
    let pieces = ranges(graph.pieces());
    let parts = graph.executor().run(graph.bytes(), pieces, counts);
    let both = |a: [usize; 4], b: [usize; 4]| [0, 1, 2, 3].map(|k| a[k] + b[k]);
    let all = parts
        .into_iter()
        .try_fold([0; 4], |all, part| Some(both(all, part?)));
    all.is_some_and(|[up, down, out, into]| up == down && out == into)
}

/// The final ranks: [`ROOT`] or [`OUT`].
fn ranks(graph: &Pattern, seed: u64, near: &Nearby) -> Result<Vec<u64>> {
    let is_open = |row: usize| !graph.range(row).is_empty();
    let ranks = map_rows(graph, |row| match is_open(row) {
        true => AtomicU64::new(u64::from(scramble(near.global(row), seed)) + 1),
        false => AtomicU64::new(OUT),
    });
    let nearby = map_rows(graph, |_| AtomicU64::new(OUT));
    let largest = |of: &[AtomicU64], row: usize| {
        let near = neighbours(graph, row).map(|other| of[other].load(Relaxed));
        near.fold(of[row].load(Relaxed), u64::max)
    };
    let refresh = |of: &[AtomicU64]| {
        near.refresh(
            |row| of[row].load(Relaxed),
            |row, rank| of[row].store(rank, Relaxed),
        )
    };
    refresh(&ranks)?;
    let mut open = Active::new(graph, |row| near.is_own(row) && is_open(row));
    let mut beside = open.clone();
    while near.any(!open.is_empty())? {
        beside.retain(|row| {
            let rank = largest(&ranks, row);
            nearby[row].store(rank, Relaxed);
            // Neither changes any more: nothing near is open, or a root is.
            rank != OUT && rank != ROOT
        });
        refresh(&nearby)?;
        open.retain(|row| {
            let (mine, rank) = (ranks[row].load(Relaxed), largest(&nearby, row));
            match rank {
                ROOT => ranks[row].store(OUT, Relaxed),
                rank if rank == mine => ranks[row].store(ROOT, Relaxed),
                _ => return true,
            }
            false
        });
        refresh(&ranks)?;
    }
    Ok(ranks.into_iter().map(AtomicU64::into_inner).collect())
}

/// The root beside a node; there is one at most.
fn join_root(graph: &Pattern, roots: &[u32], row: usize) -> u32 {
    let groups = neighbours(graph, row).map(|other| roots[other]);
    groups.min().unwrap_or(NONE)
}

/// The group most neighbours belong to, the first of several.
fn join_most(graph: &Pattern, aggregate: &[u32], row: usize) -> u32 {
    let groups = neighbours(graph, row).map(|other| aggregate[other]);
    let mut groups: Vec<u32> = groups.filter(|&group| group != NONE).collect();
    most_common(&mut groups).unwrap_or(NONE)
}
