//! A maximal independent set of the strong couplings.

use vcycle_gpu::Argument;

use super::lists::Lists;
use super::sharing::{Alone, Sharing, decided};
use super::tiles::{graph, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::Pattern;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::File;

pub(super) const FILE: File = tile_file!("pmis.c");
/// For every unknown its number on the next level or `NONE`, and how many there are. `seed` has
/// been mixed. With `keep_alone` an unknown without couplings is coarse.
pub fn pmis(
    queue: Queue<'_>,
    strength: &Pattern,
    seed: u64,
    keep_alone: bool,
) -> Result<(Buffer<u32>, usize)> {
    pmis_near(queue, strength, (seed, keep_alone), &Alone)
}

/// The same for own rows, where others may be those of other ranks.
pub fn pmis_near(
    queue: Queue<'_>,
    strength: &Pattern,
    (seed, keep_alone): (u64, bool),
    near: &dyn Sharing,
) -> Result<(Buffer<u32>, usize)> {
    let rows = strength.size().rows;
    let own = near.own(rows);
    let [offsets, columns] = graph(strength)?;
    let mut counts = queue.zeros::<u32>(rows)?;
    let entries = strength.nonzeros();
    let arguments = [number(entries), columns, write(&mut counts)?];
    queue.rows(FILE, "pmis_influences", &[], (entries, 1), &arguments)?;
    let (mut measures, mut state) = (queue.room::<u64>(rows)?, queue.room::<u8>(rows)?);
    let arguments = [
        number(rows),
        offsets,
        read(&counts)?,
        number(own.start),
        Argument::U64(near.first()),
        Argument::U64(seed),
        write(&mut measures)?,
        write(&mut state)?,
    ];
    queue.rows(FILE, "pmis_start", &[], (rows, 1), &arguments)?;
    if keep_alone {
        let arguments = [number(rows), write(&mut state)?];
        queue.rows(FILE, "pmis_keep_alone", &[], (rows, 1), &arguments)?;
    }
    near.refresh_words(&mut measures)?;
    near.refresh_bytes(&mut state)?;
    decide(queue, strength, &measures, &mut state, near)?;
    let mut flags = queue.room(own.len())?;
    let results = [read(&state)?, write(&mut flags)?];
    let arguments = [&decided(&own)[..], &results].concat();
    queue.rows(FILE, "pmis_flags", &[], (own.len(), 1), &arguments)?;
    numbered(queue, &flags)
}

/// Rounds until no unknown is open.
fn decide(
    queue: Queue<'_>,
    strength: &Pattern,
    measures: &Buffer<u64>,
    state: &mut Buffer<u8>,
    near: &dyn Sharing,
) -> Result<()> {
    let shape = shape(strength);
    let rows = shape.0;
    let own = near.own(rows);
    let mut beaten = queue.zeros::<u32>(rows)?;
    let graph = [&[number(rows)], &graph(strength)?[..]].concat();
    let mut lists = Lists::new(queue, rows)?;
    let mut round = 0;
    loop {
        for _ in 0..near.rounds() {
            let listed = lists.current()?;
            if round > 0 {
                let known = [word(round), read(measures)?, read(state)?];
                let arguments = [&graph[..], &listed, &known, &[write(&mut beaten)?]].concat();
                queue.rows(FILE, "pmis_compare", &[], shape, &arguments)?;
                near.refresh_counts(&mut beaten)?;
            }
            let changed = [word(round), read(&beaten)?, write(state)?];
            let listed = [&listed[..], &decided(&own)].concat();
            let arguments = [&graph[..], &listed, &changed, &lists.next()?].concat();
            queue.rows(FILE, "pmis_decide", &[], shape, &arguments)?;
            lists.advance();
            near.refresh_bytes(state)?;
            round += 1;
        }
        if !near.any(lists.count()? != 0)? {
            return Ok(());
        }
    }
}

/// Numbers those of `flags` that are not zero, in their order.
pub(super) fn numbered(queue: Queue<'_>, flags: &Buffer<u32>) -> Result<(Buffer<u32>, usize)> {
    let rows = flags.len();
    let (sums, count) = queue.offsets(flags)?;
    let mut numbers = queue.room(rows)?;
    let arguments = [number(rows), read(&sums)?, write(&mut numbers)?];
    queue.rows(FILE, "numbers", &[], (rows, 1), &arguments)?;
    Ok((numbers, count))
}

/// The numbers of the second of two choices for all unknowns, `NONE` for the others.
pub fn composed(
    queue: Queue<'_>,
    first: &Buffer<u32>,
    second: &Buffer<u32>,
) -> Result<Buffer<u32>> {
    let mut numbers = first.clone();
    let rows = numbers.len();
    let arguments = [number(rows), read(second)?, write(&mut numbers)?];
    queue.rows(FILE, "compose", &[], (rows, 1), &arguments)?;
    Ok(numbers)
}
