//! Groups of consecutive unknowns or of boxes of a grid, by the numbering alone.

use super::Aggregates;
use super::registration::{CoarseUnknowns, CoarseningRegistration};
use crate::error::{Error, Result};

/// What it says of itself.
pub(super) const UNIFORM: CoarseningRegistration = CoarseningRegistration {
    name: "uniform",
    summary: "Groups of `aggregate-size` consecutive unknowns, the last perhaps smaller.",
    groups: true,
    weighs: true,
    coarsen: |graph| {
        let groups = uniform(graph.a.size().rows, graph.aggregate_size)?;
        Ok(CoarseUnknowns::Grouped(groups))
    },
};

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
    boxes([n, 1, 1], [size, 1, 1])
}

/// Boxes of `block` points of a grid whose first index runs fastest; those at the end of an axis
/// are perhaps smaller.
///
/// **Choose it** for matrices of regular grids without strong directions: the coarse levels are
/// grids again.
///
/// ```
/// use vcycle::multigrid::coarsen::boxes;
/// assert_eq!(boxes([3, 2, 1], [2, 2, 2])?.aggregate, [0, 0, 1, 0, 0, 1]);
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a block without points.
pub fn boxes(grid: [usize; 3], block: [usize; 3]) -> Result<Aggregates> {
    if block.contains(&0) {
        let (parameter, reason) = ("size", "a group has at least one unknown".to_owned());
        return Err(Error::BadParameter { parameter, reason });
    }
    let [nx, ny, nz] = grid;
    let [bx, by, bz] = block;
    let (cx, cy, cz) = (nx.div_ceil(bx), ny.div_ceil(by), nz.div_ceil(bz));
    let row = |j: usize, k: usize| move |i: usize| (i / bx + cx * (j / by + cy * (k / bz))) as u32;
    let plane = |k: usize| (0..ny).flat_map(move |j| (0..nx).map(row(j, k)));
    Ok(Aggregates {
        aggregate: (0..nz).flat_map(plane).collect(),
        count: cx * cy * cz,
    })
}
