//! The first pass of Ruge and Stueben inside blocks of rows, an independent set between them.

use std::ops::Range;
use std::sync::Arc;

use super::nearby::Nearby;
use super::pmis::{COARSE, complete, start};
use super::registration::{CoarseUnknowns, CoarseningRegistration};
use super::rounds::{map_rows, neighbours};
use super::ruge_stueben::first_pass;
use super::{Splitting, check_square};
use crate::error::Result;
use crate::host_stages;
use crate::matrix::Pattern;
use crate::operations::on_host;

/// Blocks of any graph at most, whatever the number of threads. Few, for the rows at their borders
/// do not count: a block must hold several planes of a grid.
const BLOCKS: u64 = 16;
/// Rows of a block at least.
const BLOCK_ROWS: u64 = 16 * 1024;

/// What it says of itself.
pub(super) const HMIS: CoarseningRegistration = CoarseningRegistration {
    name: "hmis",
    summary: "Hybrid modified independent set (De Sterck, Yang and Heys 2006).",
    groups: false,
    weighs: false,
    coarsen: |graph| Ok(CoarseUnknowns::Chosen(hmis(graph.strength, graph.seed)?)),
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
    check_square("hmis", strength.size())?;
    on_host(strength.executor(), host_stages::HMIS);
    let n = strength.size().rows;
    let length = block_rows(n as u64);
    hmis_near(strength, seed, (&Nearby::default(), length), |influences| {
        let blocks = (0..n).step_by(length as usize);
        let blocks = blocks.map(|first| first..n.min(first + length as usize));
        let start = |row: usize| start(strength, row);
        Ok(first_passes(strength, influences, blocks.collect(), &start))
    })
}

/// The rows of a block of a graph of so many.
pub(in crate::multigrid) fn block_rows(all: u64) -> u64 {
    all.div_ceil(BLOCKS).max(BLOCK_ROWS)
}

/// The states that the first pass leaves in blocks, one after the other.
pub(in crate::multigrid) fn first_passes(
    strength: &Pattern,
    influences: &Pattern,
    blocks: Vec<Range<usize>>,
    start: &(dyn Fn(usize) -> u8 + Sync),
) -> Vec<u8> {
    let block = |rows: Range<usize>| first_pass(strength, influences, rows, &start);
    let parts = strength.executor().run(strength.bytes(), blocks, block);
    parts.concat()
}

/// [`hmis`] where some of the rows may be those of other ranks, in blocks of so many rows of the whole graph. `passes` makes
/// the states that the first pass leaves in them, of the graph and `S^T`; only those of own rows count.
pub(in crate::multigrid) fn hmis_near(
    strength: &Arc<Pattern>,
    seed: u64,
    (near, length): (&Nearby, u64),
    passes: impl FnOnce(&Pattern) -> Result<Vec<u8>>,
) -> Result<Splitting> {
    let influences = strength.transpose()?;
    let passed = passes(&influences)?;
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
