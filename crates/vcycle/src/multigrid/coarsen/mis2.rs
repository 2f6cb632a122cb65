//! Groups around roots that are more than two couplings apart.

use std::sync::Arc;

use super::rounds::{map_rows, neighbours};
use super::{Aggregates, NONE, check_square, number};
use crate::error::Result;
use crate::matrix::Pattern;

/// Aggregation around a maximal independent set of distance two (Bell, Dalton and Olson 2012).
///
/// Couplings count in both directions. A node becomes a root unless one before it within distance
/// two is. Then the neighbours of a root join it, and what is left joins the group that most of
/// its neighbours belong to. A node without strong couplings is left out.
///
/// Going by the numbering, and not by random ranks, is one pass and packs the roots more tightly:
/// on a grid with 27 couplings a node, groups have 27 members on average and not 42. These are also the
/// groups of Vanek, Mandel and Brezina (1996).
///
/// **Choose it** for smoothed aggregation: groups have a diameter of about three, as one step of
/// smoothing asks for. For matrices with several unknowns a node give the graph of nodes.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::{coarsen::mis2, strength::Strength}};
/// let a = gallery::build("poisson5:16", &Executor::cpu())?.matrix;
/// let aggregates = mis2(&Strength::default().graph(&a)?)?;
/// assert!((20..52).contains(&aggregates.count));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a graph that is not square, and when memory is short.
pub fn mis2(strength: &Arc<Pattern>) -> Result<Aggregates> {
    check_square("mis2", strength.size())?;
    let graph = symmetric(strength)?;
    let is_root = roots(&graph);
    let (mut aggregate, count) = number(is_root.len(), |row| is_root[row]);
    for join in [join_root, join_most] {
        aggregate = map_rows(&graph, |row| match aggregate[row] {
            NONE => join(&graph, &aggregate, row),
            known => known,
        });
    }
    Ok(Aggregates { aggregate, count })
}

/// The couplings in both directions.
fn symmetric(graph: &Arc<Pattern>) -> Result<Arc<Pattern>> {
    let transposed = graph.transpose()?;
    if transposed.same_as(graph) {
        return Ok(transposed);
    }
    graph.union(&transposed)
}

/// Which nodes are roots: the first set of its kind in the order of the numbering.
fn roots(graph: &Pattern) -> Vec<bool> {
    let rows = graph.size().rows;
    let mut is_root = vec![false; rows];
    let mut taken = vec![false; rows];
    for row in 0..rows {
        let alone = graph.range(row).is_empty();
        if alone || taken[row] || neighbours(graph, row).any(|other| taken[other]) {
            continue;
        }
        is_root[row] = true;
        taken[row] = true;
        neighbours(graph, row).for_each(|other| taken[other] = true);
    }
    is_root
}

/// The group of the root beside a node; there is one at most.
fn join_root(graph: &Pattern, roots: &[u32], row: usize) -> u32 {
    let groups = neighbours(graph, row).map(|other| roots[other]);
    groups.min().unwrap_or(NONE)
}

/// The group most neighbours belong to, the first of several.
fn join_most(graph: &Pattern, aggregate: &[u32], row: usize) -> u32 {
    let groups = neighbours(graph, row).map(|other| aggregate[other]);
    let mut groups: Vec<u32> = groups.filter(|&group| group != NONE).collect();
    groups.sort_unstable();
    let (mut best, mut most) = (NONE, 0);
    for equal in groups.chunk_by(|a, b| a == b) {
        if equal.len() > most {
            (best, most) = (equal[0], equal.len());
        }
    }
    best
}
