//! Groups around roots that are more than two couplings apart.

use std::ops::Range;

use crate::gpu::kernels::mis2 as kernels;
use crate::launch::prelude::*;
use crate::launch::queue::shape;
use crate::operations::coarsen::pmis::{Numbered, numbered};
use crate::operations::coarsen::rounds::{Alone, Lists, Sharing, decided};

/// The graph itself, or what `symmetric` makes of it where a coupling of own rows has no counterpart.
fn made_symmetric(
    queue: Queue<'_>,
    strength: &Arc<Pattern>,
    own: &Range<usize>,
    symmetric: impl FnOnce() -> Result<Arc<Pattern>>,
) -> Result<Arc<Pattern>> {
    let mut count = queue.zeros::<u32>(1)?;
    kernels::one_way(strength, decided(own), &mut count)?.rows(&queue, shape(strength))?;
    match count.get(0)? {
        0 => Ok(Arc::clone(strength)),
        _ => symmetric(),
    }
}

/// Groups around a distance-two independent set; `symmetric` makes the graph for couplings that are not, and `seed` has been
/// mixed. None on the host.
pub fn mis2(
    strength: &Arc<Pattern>,
    seed: u64,
    symmetric: impl FnOnce() -> Result<Arc<Pattern>>,
) -> Result<Option<Numbered>> {
    let queue = queue_of!(strength.executor());
    let all = 0..strength.size().rows;
    let graph = made_symmetric(queue, strength, &all, symmetric)?;
    let ranks = roots(queue, &graph, seed, &Alone)?;
    let (groups, count) = numbered(queue, &flags(queue, &ranks, &all)?)?;
    Ok(Some((joined(queue, &graph, groups, &Alone)?, count)))
}

/// Groups of own rows of a symmetric graph, as `renumbered` takes them.
pub struct OwnGroups {
    /// For every own row the number of its group among those of own roots, [`FOREIGN`] and which of the other rows its root
    /// is, or `NONE`.
    pub groups: Buffer<u32>,
    /// For every own row its number among own roots, or `NONE`.
    pub roots: Buffer<u32>,
    /// Own roots.
    pub count: usize,
}

/// Says that a number is that of another row.
pub const FOREIGN: u32 = 1 << 31;

/// The same for own rows, where others are those of other ranks.
pub fn mis2_near(
    strength: &Arc<Pattern>,
    seed: u64,
    near: &dyn Sharing,
    symmetric: impl FnOnce() -> Result<Arc<Pattern>>,
) -> Result<Option<OwnGroups>> {
    let queue = queue_of!(strength.executor());
    let rows = strength.size().rows;
    let own = near.own(rows);
    let strength = &made_symmetric(queue, strength, &own, symmetric)?;
    let ranks = roots(queue, strength, seed, near)?;
    let mut of_rows = queue.uninit(rows)?;
    kernels::mis2_rows(rows, &ranks, &mut of_rows)?.rows(&queue, (rows, 1))?;
    let of_rows = joined(queue, strength, of_rows, near)?;
    let (numbers, count) = numbered(queue, &flags(queue, &ranks, &own)?)?;
    let mut groups = queue.uninit(own.len())?;
    kernels::mis2_groups(decided(&own), &of_rows, &numbers, &mut groups)?
        .rows(&queue, (own.len(), 1))?;
    Ok(Some(OwnGroups {
        groups,
        roots: numbers,
        count,
    }))
}

/// The number of the [group](OwnGroups::groups) of every row on the next level: those of own roots follow `before` others,
/// those of other rows are given.
pub fn renumbered(
    groups: &Buffer<u32>,
    own: &Range<usize>,
    (before, others): (usize, Vec<u32>),
) -> Result<Buffer<u32>> {
    let queue = Queue::of(groups.executor()).expect("the groups are on a device");
    let rows = own.len() + others.len();
    let (others, mut numbers) = (
        Buffer::from_vec(queue.executor, others),
        queue.uninit(rows)?,
    );
    kernels::mis2_renumbered(rows, decided(own), before, groups, &others, &mut numbers)?
        .rows(&queue, (rows, 1))?;
    Ok(numbers)
}

/// Which own rows are roots.
fn flags(queue: Queue<'_>, ranks: &Buffer<u64>, own: &Range<usize>) -> Result<Buffer<u32>> {
    let mut flags = queue.uninit(own.len())?;
    kernels::mis2_flags(decided(own), ranks, &mut flags)?.rows(&queue, (own.len(), 1))?;
    Ok(flags)
}

/// Groups of roots with the rows that join them.
fn joined(
    queue: Queue<'_>,
    strength: &Pattern,
    mut groups: Buffer<u32>,
    near: &dyn Sharing,
) -> Result<Buffer<u32>> {
    let shape = shape(strength);
    let mut joined = queue.uninit(shape.0)?;
    kernels::mis2_join_root(strength, &groups, &mut joined)?.rows(&queue, shape)?;
    near.refresh_rows(&mut joined)?;
    kernels::mis2_join_most(strength, &joined, &mut groups)?.rows(&queue, shape)?;
    near.refresh_rows(&mut groups)?;
    Ok(groups)
}

/// The final ranks.
fn roots(
    queue: Queue<'_>,
    strength: &Pattern,
    seed: u64,
    near: &dyn Sharing,
) -> Result<Buffer<u64>> {
    let (rows, length) = shape(strength);
    let own = near.own(rows);
    let shape = (own.len(), length);
    let (mut ranks, mut nearby) = (queue.uninit::<u64>(rows)?, queue.uninit::<u64>(rows)?);
    let (offsets, _) = strength.buffers();
    kernels::mis2_start(
        rows,
        offsets,
        own.start,
        near.first(),
        seed,
        &mut ranks,
        &mut nearby,
    )?
    .rows(&queue, (rows, 1))?;
    near.refresh_words(&mut ranks)?;
    let (mut beside, mut open) = (Lists::new(queue, own.len())?, Lists::new(queue, own.len())?);
    loop {
        for _ in 0..near.rounds() {
            let (list, next) = (beside.current()?, beside.next()?);
            kernels::mis2_near(strength, decided(&own), list, &ranks, &mut nearby, next)?
                .rows(&queue, shape)?;
            beside.advance();
            near.refresh_words(&mut nearby)?;
            let (list, next) = (open.current()?, open.next()?);
            kernels::mis2_decide(strength, decided(&own), list, &nearby, &mut ranks, next)?
                .rows(&queue, shape)?;
            open.advance();
            near.refresh_words(&mut ranks)?;
        }
        if !near.any(open.count()? != 0)? {
            return Ok(ranks);
        }
        beside.count()?;
    }
}
