//! Groups of consecutive unknowns, by the numbering alone.

use super::choice::Choice;
use super::groups::Groups;
use super::nearby::Nearby;
use super::registration::CoarseningRegistration;
use super::{Aggregates, CoarseUnknowns};
use crate::matrix::Partition;
use crate::prelude::*;

pub(super) const UNIFORM: CoarseningRegistration = CoarseningRegistration {
    name: "uniform",
    summary: "Groups of `aggregate-size` consecutive unknowns, the last perhaps smaller.",
    groups: true,
    reads: &["aggregate-size"],
    complex: true,
    on_host: &[],
    over_ranks: true,
    coarsen: |graph| uniform_near(graph.near, graph.a.size().rows, graph.aggregate_size),
};

/// [`uniform`] of so many rows, or of own ones where ranks share them; a group belongs to the rank of its first row.
pub(in crate::multigrid) fn uniform_near(near: &Nearby, n: usize, size: usize) -> Result<Choice> {
    let Some(rows) = near.halo() else {
        return Ok(Choice::here(CoarseUnknowns::Grouped(uniform(n, size)?)));
    };
    check(size)?;
    let (own, size) = (rows.own_rows(), size as u64);
    let count = own.end.div_ceil(size) - own.start.div_ceil(size);
    let groups = Groups {
        of_own: own.map(|row| row / size).collect(),
        partition: Arc::new(Partition::of_counts(rows.team().as_ref(), count as usize)?),
    };
    Choice::grouped(near, groups)
}

fn check(size: usize) -> Result<()> {
    Error::check_parameter(size > 0, "size", "a group has at least one unknown")
}

/// Groups of `size` consecutive unknowns, the last perhaps smaller.
///
/// **Choose it** where the graph gives nothing to go by: where matching stalls (`pgm` takes it then,
/// and says so), or for a coarse level that only has to become smaller. It is what costs least, and
/// wants a numbering in which neighbours have near numbers.
///
/// ```
/// use vcycle::multigrid::coarsen::uniform;
/// assert_eq!(uniform(5, 2)?.aggregate, [0, 0, 1, 1, 2]);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a size of 0.
pub fn uniform(n: usize, size: usize) -> Result<Aggregates> {
    check(size)?;
    Ok(Aggregates {
        aggregate: (0..n).map(|row| (row / size) as u32).collect(),
        count: n.div_ceil(size),
    })
}
