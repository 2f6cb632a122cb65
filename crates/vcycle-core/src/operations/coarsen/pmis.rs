//! A maximal independent set of the strong couplings.

use crate::gpu::kernels::pmis as kernels;
use crate::launch::prelude::*;
use crate::launch::queue::shape;
use crate::operations::coarsen::rounds::{Alone, Lists, Sharing, decided};
use crate::operations::on_device;

/// For every unknown its number, or that of its group, on the next level or `NONE`; and how many there are.
pub type Numbered = (Buffer<u32>, usize);

/// A maximal independent set; `seed` has been mixed. With `keep_alone` an unknown without couplings is coarse, else fine.
/// None on the host.
pub fn pmis(strength: &Pattern, seed: u64, keep_alone: bool) -> Result<Option<Numbered>> {
    on_device(strength.executor(), |queue| {
        independent(queue, strength, (seed, keep_alone), &Alone)
    })
}

/// The same for own rows, where others may be those of other ranks; unknowns without couplings are fine.
pub fn pmis_near(strength: &Pattern, seed: u64, near: &dyn Sharing) -> Result<Option<Numbered>> {
    on_device(strength.executor(), |queue| {
        independent(queue, strength, (seed, false), near)
    })
}

fn independent(
    queue: Queue<'_>,
    strength: &Pattern,
    (seed, keep_alone): (u64, bool),
    near: &dyn Sharing,
) -> Result<Numbered> {
    let rows = strength.size().rows;
    let own = near.own(rows);
    let (offsets, columns) = strength.buffers();
    let mut counts = queue.zeros::<u32>(rows)?;
    let entries = strength.nonzeros();
    kernels::pmis_influences(entries, columns, &mut counts)?.rows(&queue, (entries, 1))?;
    let (mut measures, mut state) = (queue.uninit::<u64>(rows)?, queue.uninit::<u8>(rows)?);
    kernels::pmis_start(
        rows,
        offsets,
        &counts,
        own.start,
        near.first(),
        seed,
        &mut measures,
        &mut state,
    )?
    .rows(&queue, (rows, 1))?;
    if keep_alone {
        kernels::pmis_keep_alone(rows, &mut state)?.rows(&queue, (rows, 1))?;
    }
    near.refresh_words(&mut measures)?;
    near.refresh_bytes(&mut state)?;
    decide(queue, strength, &measures, &mut state, near)?;
    let mut flags = queue.uninit(own.len())?;
    kernels::pmis_flags(decided(&own), &state, &mut flags)?.rows(&queue, (own.len(), 1))?;
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
    let mut lists = Lists::new(queue, rows)?;
    let mut round = 0_u32;
    loop {
        for _ in 0..near.rounds() {
            let listed = lists.current()?;
            if round > 0 {
                kernels::pmis_compare(strength, listed, round, measures, &*state, &mut beaten)?
                    .rows(&queue, shape)?;
                near.refresh_counts(&mut beaten)?;
            }
            let (decided, next) = (decided(&own), lists.next()?);
            kernels::pmis_decide(strength, listed, decided, round, &beaten, &mut *state, next)?
                .rows(&queue, shape)?;
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
pub(crate) fn numbered(queue: Queue<'_>, flags: &Buffer<u32>) -> Result<Numbered> {
    let rows = flags.len();
    let (sums, count) = queue.offsets(flags)?;
    let mut numbers = queue.uninit(rows)?;
    kernels::numbers(rows, &sums, &mut numbers)?.rows(&queue, (rows, 1))?;
    Ok((numbers, count))
}

/// The numbers of the second of two choices for all unknowns, `NONE` for the others.
pub(crate) fn composed(
    queue: Queue<'_>,
    first: &Buffer<u32>,
    second: &Buffer<u32>,
) -> Result<Buffer<u32>> {
    let mut numbers = first.clone();
    let rows = numbers.len();
    kernels::compose(rows, second, &mut numbers)?.rows(&queue, (rows, 1))?;
    Ok(numbers)
}
