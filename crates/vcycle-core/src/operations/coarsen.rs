//! Stages that choose the unknowns of the next level: strong couplings, independent sets, matchings.

use std::ops::Range;
use std::sync::Arc;

use super::{brought, on_device};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::launch::setup::{Queue, affinity, aggressive, mis2 as device_mis2, pgm as device_pgm};
use crate::launch::setup::{pmis as device_pmis, strength};

pub use crate::launch::setup::mis2::{FOREIGN, OwnGroups};
pub use crate::launch::setup::pgm::{Found as Matched, Pairs};
pub use crate::launch::setup::sharing::Sharing;
pub use crate::launch::setup::strength::DeviceMeasure;

/// For every unknown its number, or that of its group, on the next level; and how many there are.
pub type Numbered = (Buffer<u32>, usize);

/// For every row the columns it strongly depends on.
pub fn strong_couplings(
    a: &Csr<f64>,
    measure: DeviceMeasure,
    threshold: f64,
) -> Result<Option<Arc<Pattern>>> {
    on_device(a.executor(), |queue| {
        strength::graph(queue, a, measure, threshold)
    })
}

/// The threshold that so many couplings reach, or as many more as are equal to the last of them; infinite for none.
pub fn threshold_for(a: &Csr<f64>, measure: DeviceMeasure, wanted: usize) -> Result<Option<f64>> {
    on_device(a.executor(), |queue| {
        strength::threshold_for(queue, a, measure, wanted)
    })
}

/// One over the distance of the unknowns of each coupling: how far apart they are in scattered vectors after some sweeps,
/// `(vectors, sweeps)`.
pub fn closeness(
    a: &Csr<f64>,
    couplings: &Arc<Pattern>,
    by: (usize, usize),
) -> Result<Option<Csr<f64>>> {
    on_device(a.executor(), |queue| {
        affinity::closeness(queue, a, couplings, by)
    })
}

/// A maximal independent set; unknowns without couplings are fine, or coarse if they are to be kept.
pub fn pmis(strength: &Pattern, seed: u64, keep_alone: bool) -> Result<Option<Numbered>> {
    on_device(strength.executor(), |queue| {
        device_pmis::pmis(queue, strength, seed, keep_alone)
    })
}

/// The same for own rows, where others are those of other ranks; unknowns without couplings are fine.
pub fn pmis_near(strength: &Pattern, seed: u64, near: &dyn Sharing) -> Result<Option<Numbered>> {
    on_device(strength.executor(), |queue| {
        device_pmis::pmis_near(queue, strength, (seed, false), near)
    })
}

/// Groups around a distance-two independent set; `symmetric` makes the graph for couplings that are not.
pub fn mis2(
    strength: &Arc<Pattern>,
    seed: u64,
    symmetric: impl FnOnce() -> Result<Arc<Pattern>>,
) -> Result<Option<Numbered>> {
    on_device(strength.executor(), |queue| {
        let all = 0..strength.size().rows;
        let graph = match device_mis2::is_symmetric(queue, strength, &all)? {
            true => Arc::clone(strength),
            false => symmetric()?,
        };
        device_mis2::mis2(queue, &graph, seed)
    })
}

/// The same for own rows, where others are those of other ranks.
pub fn mis2_near(
    strength: &Arc<Pattern>,
    seed: u64,
    near: &dyn Sharing,
    symmetric: impl FnOnce() -> Result<Arc<Pattern>>,
) -> Result<Option<OwnGroups>> {
    on_device(strength.executor(), |queue| {
        let own = near.own(strength.size().rows);
        let graph = match device_mis2::is_symmetric(queue, strength, &own)? {
            true => Arc::clone(strength),
            false => symmetric()?,
        };
        device_mis2::mis2_near(queue, &graph, seed, near)
    })
}

/// The numbers on the next level of all rows, of those of own ones: the [groups](OwnGroups::groups) of own roots follow
/// `before` others, those of other rows are given.
pub fn renumbered(
    groups: &Buffer<u32>,
    own: &Range<usize>,
    (before, others): (usize, Vec<u32>),
) -> Result<Buffer<u32>> {
    let renumbered = on_device(groups.executor(), |queue| {
        device_mis2::renumbered(queue, groups, own, (before, others))
    })?;
    Ok(renumbered.expect("the groups are on a device"))
}

/// `pairs`, `times` over, in so many `rounds` each; `collapsed` makes the matrix of the pairs. None, too, where a
/// device does not come to an end.
pub fn pgm(
    a: &Csr<f64>,
    (times, rounds): (usize, usize),
    (pairs, seed): (Pairs, u64),
    collapsed: impl Fn(&Csr<f64>, &Csr<f64>) -> Result<Csr<f64>>,
) -> Result<Option<Matched>> {
    match Queue::of(a.executor()) {
        Some(queue) => device_pgm::pgm(queue, a, (times, rounds), (pairs, seed), collapsed),
        None => Ok(None),
    }
}

/// A second independent set among the coarse unknowns of the `first`, coupled where a path of two strong couplings
/// leads from one to the other.
pub fn aggressive(
    strength: &Pattern,
    seed: u64,
    (first, count): (&Buffer<u32>, usize),
) -> Result<Option<Numbered>> {
    on_device(strength.executor(), |queue| {
        let first = brought(first, strength.executor())?;
        let graph = aggressive::distance_two(queue, strength, (&first, count))?;
        let (among, count) = device_pmis::pmis(queue, &graph, seed, true)?;
        Ok((device_pmis::composed(queue, &first, &among)?, count))
    })
}
