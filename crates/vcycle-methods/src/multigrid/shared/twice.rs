//! Aggressive coarsening over ranks.

use std::sync::Arc;

use super::choice::{Chosen, NextNumbers};
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::{Csr, Distributed, Halo, Pattern};
use crate::multigrid::coarsen::{NONE, Nearby, PATHS, among_coarse, distance_two, pmis_shared};

/// A choice among the unknowns of rows nearby, and another one among those of the first, as
/// [`aggressive`](crate::multigrid::coarsen::aggressive) makes them. All ranks call it together.
pub(super) fn twice(
    executor: &Executor,
    strength: &Arc<Pattern>,
    seed: u64,
    rows: &Arc<Halo>,
) -> Result<[Chosen; 2]> {
    let found = pmis_shared(strength, seed, &Nearby::of(rows))?;
    let first = Chosen::new(rows, |row| found.coarse_index[row] != NONE)?;
    let is_coarse = |&row: &usize| first.splitting.coarse_index[row] != NONE;
    let points: Vec<usize> = rows.own().filter(is_coarse).collect();
    let reached = distance_two(strength, &first.splitting, &points, PATHS)?;
    let near = Reaching::new(executor, &reached, &first.next)?;
    let among = among_coarse(near.graph.pattern(), seed, &Nearby::of(&near.halo))?;
    let mut is_second = vec![false; rows.len()];
    for (&row, place) in points.iter().zip(near.halo.own()) {
        is_second[row] = among.coarse_index[place] != NONE;
    }
    let second = Chosen::new(rows, |row| is_second[row])?;
    Ok([first, second])
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
