//! Groups around roots that are more than two couplings apart.

use vcycle_gpu::Argument;

use super::lists::Lists;
use super::pmis::numbered;
use super::tiles::{graph, shape, tile_file};
use super::{Queue, number, read, write};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::File;

pub(super) const FILE: File = tile_file!("mis2.c");
/// Rounds between two looks at what is left.
const ROUNDS: usize = 6;

/// Whether every coupling has its counterpart.
pub fn is_symmetric(queue: Queue<'_>, pattern: &Pattern) -> Result<bool> {
    let mut count = queue.zeros::<u32>(1)?;
    let shape = shape(pattern);
    let arguments = [
        &[number(shape.0)],
        &graph(pattern)?[..],
        &[write(&mut count)?],
    ]
    .concat();
    queue.rows(FILE, "one_way", &[], shape, &arguments)?;
    Ok(count.get(0)? == 0)
}

/// For every node of a symmetric graph its group or `NONE`, and the number of groups. `seed` has
/// been mixed.
pub fn mis2(queue: Queue<'_>, strength: &Pattern, seed: u64) -> Result<(Buffer<u32>, usize)> {
    let shape = shape(strength);
    let rows = shape.0;
    let ranks = roots(queue, strength, seed)?;
    let mut flags = queue.room(rows)?;
    let arguments = [number(rows), read(&ranks)?, write(&mut flags)?];
    queue.rows(FILE, "mis2_flags", &[], (rows, 1), &arguments)?;
    let (mut groups, count) = numbered(queue, &flags)?;
    let graph = [&[number(rows)], &graph(strength)?[..]].concat();
    for join in ["mis2_join_root", "mis2_join_most"] {
        let mut joined = queue.room(rows)?;
        let arguments = [&graph[..], &[read(&groups)?, write(&mut joined)?]].concat();
        queue.rows(FILE, join, &[], shape, &arguments)?;
        groups = joined;
    }
    Ok((groups, count))
}

/// The final ranks.
fn roots(queue: Queue<'_>, strength: &Pattern, seed: u64) -> Result<Buffer<u64>> {
    let shape = shape(strength);
    let rows = shape.0;
    let graph = graph(strength)?;
    let (mut ranks, mut nearby) = (queue.room::<u64>(rows)?, queue.room::<u64>(rows)?);
    let results = [write(&mut ranks)?, write(&mut nearby)?];
    let arguments = [&[number(rows), graph[0], Argument::U64(seed)], &results[..]].concat();
    queue.rows(FILE, "mis2_start", &[], (rows, 1), &arguments)?;
    let graph = [&[number(rows)], &graph[..]].concat();
    let (mut beside, mut open) = (Lists::new(queue, rows)?, Lists::new(queue, rows)?);
    loop {
        for _ in 0..ROUNDS {
            let changed = [read(&ranks)?, write(&mut nearby)?];
            let arguments = [&graph[..], &beside.current()?, &changed, &beside.next()?].concat();
            queue.rows(FILE, "mis2_near", &[], shape, &arguments)?;
            beside.advance();
            let changed = [read(&nearby)?, write(&mut ranks)?];
            let arguments = [&graph[..], &open.current()?, &changed, &open.next()?].concat();
            queue.rows(FILE, "mis2_decide", &[], shape, &arguments)?;
            open.advance();
        }
        if open.count()? == 0 {
            return Ok(ranks);
        }
        beside.count()?;
    }
}
