//! The first pass of Ruge and Stueben inside blocks of rows, an independent set between them.

use std::ops::Range;

use super::choice::Choice;
use super::nearby::Nearby;
use super::pmis::{COARSE, complete, start};
use super::registration::CoarseningRegistration;
use super::rounds::{map_rows, neighbours};
use super::ruge_stueben::first_pass;
use super::{Splitting, check_square};
use crate::host_stages;
use crate::matrix::Halo;
use crate::operations::on_host;
use crate::prelude::*;

/// Blocks of any graph at most, whatever the number of threads. Few, for the rows at their borders
/// do not count: a block must hold several planes of a grid.
const BLOCKS: u64 = 16;
/// Rows of a block at least.
const BLOCK_ROWS: u64 = 16 * 1024;

pub(super) const HMIS: CoarseningRegistration = CoarseningRegistration {
    name: "hmis",
    summary: "Hybrid modified independent set (De Sterck, Yang and Heys 2006).",
    groups: false,
    reads: &["strength", "seed"],
    complex: true,
    on_host: &[host_stages::HMIS],
    over_ranks: true,
    coarsen: |graph| {
        let rows = graph.near.halo().map(|halo| halo.partition().total());
        let length = block_rows(rows.unwrap_or(graph.a.size().rows as u64));
        let place = (graph.near, graph.rank);
        let found = hmis_near(graph.strength, graph.seed, length, place)?;
        Choice::chosen(graph.near, found)
    },
};

/// Hybrid modified independent set (De Sterck, Yang and Heys 2006).
///
/// [`ruge_stueben`](super::ruge_stueben) is made of every block of consecutive rows (at most 16,
/// of at least 16384 rows) with the couplings inside it. Its coarse unknowns that have no strong
/// coupling to another block stay; [`pmis`](super::pmis) decides on all that do not depend on them.
///
/// **Choose it** where the interpolation of [`pmis`](super::pmis) converges slowly: its coarse
/// unknowns are spread more evenly, and some more.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::{coarsen::hmis, strength::Strength}};
/// let a = gallery::build("poisson5:16", &Executor::cpu())?.matrix;
/// let splitting = hmis(&Strength::default().graph(&a)?, 1)?;
/// assert!((64..138).contains(&splitting.coarse_count));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a graph that is not square, and when memory is short.
pub fn hmis(strength: &Arc<Pattern>, seed: u64) -> Result<Splitting> {
    let place = (&Nearby::default(), strength.executor());
    let length = block_rows(strength.size().rows as u64);
    hmis_near(strength, seed, length, place)
}

/// The rows of a block of a graph of so many.
fn block_rows(all: u64) -> u64 {
    all.div_ceil(BLOCKS).max(BLOCK_ROWS)
}

/// [`hmis`] where some of the rows may be those of other ranks, in blocks of so many rows of the whole graph, which need not
/// end where rows of a rank do. All ranks call it together.
fn hmis_near(
    strength: &Arc<Pattern>,
    seed: u64,
    length: u64,
    (near, rank): (&Nearby, &Executor),
) -> Result<Splitting> {
    check_square("hmis", strength.size())?;
    on_host(strength.executor(), host_stages::HMIS);
    let influences = strength.transpose()?;
    let passed = match near.halo() {
        None => {
            let blocks = blocks(0, strength.size().rows, length);
            first_passes(strength, &influences, blocks, &|row| start(strength, row))
        }
        Some(rows) => passed(strength, rank, rows, length)?,
    };
    let block = |row: usize| near.global(row) / length;
    let state = map_rows(strength, |row| {
        let mut both = neighbours(strength, row).chain(neighbours(&influences, row));
        match passed[row] == COARSE && both.all(|other| block(other) == block(row)) {
            true => COARSE,
            false => start(strength, row),
        }
    });
    complete(strength, seed, state, near)
}

/// So many rows from the first one on, in blocks.
fn blocks(first: usize, count: usize, length: u64) -> Vec<Range<usize>> {
    let starts = (0..count).step_by(length as usize);
    starts
        .map(|start| first + start..first + count.min(start + length as usize))
        .collect()
}

/// The states that the first pass leaves in blocks, one after the other.
fn first_passes(
    strength: &Pattern,
    influences: &Pattern,
    blocks: Vec<Range<usize>>,
    start: &(dyn Fn(usize) -> u8 + Sync),
) -> Vec<u8> {
    let block = |rows: Range<usize>| first_pass(strength, influences, rows, &start);
    let parts = strength.executor().run(strength.bytes(), blocks, block);
    parts.concat()
}

/// What the first pass leaves of own rows; of others how they begin. The rank of the first row of a block gets all of its
/// rows, makes the pass, which goes from row to row, and sends the others theirs.
fn passed(
    strength: &Arc<Pattern>,
    executor: &Executor,
    rows: &Halo,
    length: u64,
) -> Result<Vec<u8>> {
    let mut states: Vec<u8> = (0..rows.len()).map(|row| start(strength, row)).collect();
    let led = led(&rows.own_rows(), rows.partition().total(), length);
    let wanted = led.clone().filter(|row| !rows.own_rows().contains(row));
    let here = Halo::new(rows.team(), rows.partition(), wanted.collect())?;
    let graph = shared_graph(executor, strength, rows)?.rows_near(&here, &here)?;
    let mut begin = vec![0; here.len()];
    begin[here.own()].copy_from_slice(&states[rows.own()]);
    here.refresh(&mut begin)?;
    let mut made = begin.clone();
    if let Some(first) = here.local(led.start).filter(|_| !led.is_empty()) {
        let (first, count) = (first as usize, (led.end - led.start) as usize);
        let (pattern, blocks) = (graph.pattern(), blocks(first, count, length));
        let influences = pattern.transpose()?;
        let found = first_passes(pattern, &influences, blocks, &|row| begin[row]);
        made[first..first + count].copy_from_slice(&found);
    }
    let own = rows.own();
    states[own.clone()].copy_from_slice(&made[here.own()]);
    // All rows of other ranks that are here are of blocks that begin here.
    here.collect(1, &made[here.own().end..], &mut |row, state: &[u8]| {
        states[own.start + row] = state[0];
    })?;
    Ok(states)
}

/// The rows of the blocks that begin in own rows.
fn led(own: &Range<u64>, all: u64, length: u64) -> Range<u64> {
    let next = |row: u64| (row.div_ceil(length) * length).min(all);
    match next(own.start) < own.end {
        true => next(own.start)..next(own.end),
        false => own.end..own.end,
    }
}

/// A graph of rows nearby as a matrix that ranks share: own rows, with ones for couplings.
fn shared_graph(executor: &Executor, near: &Arc<Pattern>, rows: &Halo) -> Result<Distributed<f64>> {
    let all = Csr::with_pattern(near, vec![1.0; near.nonzeros()])?;
    let (own, partition) = (all.row_range(rows.own())?, rows.partition());
    Distributed::of_numbered(executor, partition, partition, rows, own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::multigrid::strength::Strength;

    #[test]
    fn blocks_need_not_end_where_ranks_do() {
        let whole = gallery::build("jump7:5,100", &Executor::cpu()).unwrap();
        for length in [7, 40, 200] {
            let strength = Strength::default().graph(&whole.matrix).unwrap();
            let alone = (&Nearby::default(), strength.executor());
            let expected = hmis_near(&strength, 3, length, alone).unwrap();
            for ranks in [1, 2, 7, 64] {
                on_parts(None, ranks, &whole.matrix, |rank, a| {
                    let near = a.surrounded(1, 1)?;
                    let strength = Strength::default().graph(&near.matrix)?;
                    let place = (&Nearby::of(&near.halo), rank);
                    let found = hmis_near(&strength, 3, length, place)?;
                    let is_coarse = |of: &Splitting, row: usize| of.coarse_index[row] != u32::MAX;
                    for row in near.halo.own() {
                        let global = near.halo.global(row) as usize;
                        assert_eq!(is_coarse(&found, row), is_coarse(&expected, global));
                    }
                    Ok(())
                });
            }
        }
    }
}
