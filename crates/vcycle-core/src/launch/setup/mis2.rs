//! Groups around roots that are more than two couplings apart.

use std::ops::Range;

use vcycle_gpu::Argument;

use super::lists::Lists;
use super::pmis::numbered;
use super::sharing::{Alone, Sharing, decided};
use super::tiles::{graph, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::File;

pub(super) const FILE: File = tile_file!("mis2.c");
/// Whether every coupling of own rows has its counterpart.
pub fn is_symmetric(queue: Queue<'_>, pattern: &Pattern, own: &Range<usize>) -> Result<bool> {
    let mut count = queue.zeros::<u32>(1)?;
    let shape = shape(pattern);
    let arguments = [
        &[number(shape.0)],
        &graph(pattern)?[..],
        &decided(own),
        &[write(&mut count)?],
    ]
    .concat();
    queue.rows(FILE, "one_way", &[], shape, &arguments)?;
    Ok(count.get(0)? == 0)
}

/// For every node of a symmetric graph its group or `NONE`, and the number of groups. `seed` has
/// been mixed.
pub fn mis2(queue: Queue<'_>, strength: &Pattern, seed: u64) -> Result<(Buffer<u32>, usize)> {
    let ranks = roots(queue, strength, seed, &Alone)?;
    let flags = flags(queue, &ranks, &(0..strength.size().rows))?;
    let (groups, count) = numbered(queue, &flags)?;
    Ok((joined(queue, strength, groups, &Alone)?, count))
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

/// The groups of own rows. `seed` has been mixed.
pub fn mis2_near(
    queue: Queue<'_>,
    strength: &Pattern,
    seed: u64,
    near: &dyn Sharing,
) -> Result<OwnGroups> {
    let rows = strength.size().rows;
    let own = near.own(rows);
    let ranks = roots(queue, strength, seed, near)?;
    let mut of_rows = queue.room(rows)?;
    let arguments = [number(rows), read(&ranks)?, write(&mut of_rows)?];
    queue.rows(FILE, "mis2_rows", &[], (rows, 1), &arguments)?;
    let of_rows = joined(queue, strength, of_rows, near)?;
    let (roots, count) = numbered(queue, &flags(queue, &ranks, &own)?)?;
    let mut groups = queue.room(own.len())?;
    let known = [read(&of_rows)?, read(&roots)?, write(&mut groups)?];
    let arguments = [&decided(&own)[..], &known].concat();
    queue.rows(FILE, "mis2_groups", &[], (own.len(), 1), &arguments)?;
    Ok(OwnGroups {
        groups,
        roots,
        count,
    })
}

/// The number of the [group](OwnGroups::groups) of every row on the next level: those of own roots follow `before` others,
/// those of other rows are given.
pub fn renumbered(
    queue: Queue<'_>,
    groups: &Buffer<u32>,
    own: &Range<usize>,
    (before, others): (usize, Vec<u32>),
) -> Result<Buffer<u32>> {
    let rows = own.len() + others.len();
    let (others, mut numbers) = (Buffer::from_vec(queue.executor, others), queue.room(rows)?);
    let known = [word(before), read(groups)?, read(&others)?];
    let arguments = [
        &[number(rows)],
        &decided(own)[..],
        &known,
        &[write(&mut numbers)?],
    ]
    .concat();
    queue.rows(FILE, "mis2_renumbered", &[], (rows, 1), &arguments)?;
    Ok(numbers)
}

/// Which own rows are roots.
fn flags(queue: Queue<'_>, ranks: &Buffer<u64>, own: &Range<usize>) -> Result<Buffer<u32>> {
    let mut flags = queue.room(own.len())?;
    let results = [read(ranks)?, write(&mut flags)?];
    let arguments = [&decided(own)[..], &results].concat();
    queue.rows(FILE, "mis2_flags", &[], (own.len(), 1), &arguments)?;
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
    let graph = [&[number(shape.0)], &graph(strength)?[..]].concat();
    for join in ["mis2_join_root", "mis2_join_most"] {
        let mut joined = queue.room(shape.0)?;
        let arguments = [&graph[..], &[read(&groups)?, write(&mut joined)?]].concat();
        queue.rows(FILE, join, &[], shape, &arguments)?;
        groups = joined;
        near.refresh_rows(&mut groups)?;
    }
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
    let graph = graph(strength)?;
    let (mut ranks, mut nearby) = (queue.room::<u64>(rows)?, queue.room::<u64>(rows)?);
    let numbers = [
        number(own.start),
        Argument::U64(near.first()),
        Argument::U64(seed),
    ];
    let results = [write(&mut ranks)?, write(&mut nearby)?];
    let arguments = [&[number(rows), graph[0]], &numbers[..], &results].concat();
    queue.rows(FILE, "mis2_start", &[], (rows, 1), &arguments)?;
    near.refresh_words(&mut ranks)?;
    let graph = [&[number(rows)], &graph[..], &decided(&own)].concat();
    let (mut beside, mut open) = (Lists::new(queue, own.len())?, Lists::new(queue, own.len())?);
    loop {
        for _ in 0..near.rounds() {
            let changed = [read(&ranks)?, write(&mut nearby)?];
            let arguments = [&graph[..], &beside.current()?, &changed, &beside.next()?].concat();
            queue.rows(FILE, "mis2_near", &[], shape, &arguments)?;
            beside.advance();
            near.refresh_words(&mut nearby)?;
            let changed = [read(&nearby)?, write(&mut ranks)?];
            let arguments = [&graph[..], &open.current()?, &changed, &open.next()?].concat();
            queue.rows(FILE, "mis2_decide", &[], shape, &arguments)?;
            open.advance();
            near.refresh_words(&mut ranks)?;
        }
        if !near.any(open.count()? != 0)? {
            return Ok(ranks);
        }
        beside.count()?;
    }
}
