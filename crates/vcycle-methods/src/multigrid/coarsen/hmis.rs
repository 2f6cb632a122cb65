//! The first pass of Ruge and Stueben inside blocks of rows, an independent set between them.

use std::ops::Range;
use std::sync::Arc;

use super::nearby::Nearby;
use super::pmis::{COARSE, complete, start};
use super::registration::{CoarseUnknowns, CoarseningRegistration};
use super::rounds::neighbours;
use super::ruge_stueben::first_pass;
use super::{Splitting, check_square};
use crate::error::Result;
use crate::host_stages;
use crate::matrix::Pattern;
use crate::operations::on_host;

/// Blocks of any graph at most, whatever the number of threads. Few, for the rows at their borders
/// do not count: a block must hold several planes of a grid.
const BLOCKS: usize = 16;
/// Rows of a block at least.
const BLOCK_ROWS: usize = 16 * 1024;

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
    let (n, influences) = (strength.size().rows, strength.transpose()?);
    let block = |rows: Range<usize>| {
        let mut state = first_pass(strength, &influences, rows.clone());
        for (row, state) in rows.clone().zip(&mut state) {
            let mut both = neighbours(strength, row).chain(neighbours(&influences, row));
            if *state != COARSE || !both.all(|other| rows.contains(&other)) {
                *state = start(strength, row);
            }
        }
        state
    };
    let length = n.div_ceil(BLOCKS).max(BLOCK_ROWS);
    let blocks = (0..n).step_by(length);
    let blocks = blocks.map(|first| first..n.min(first + length)).collect();
    let parts = strength.executor().run(strength.bytes(), blocks, block);
    complete(strength, seed, parts.concat(), &Nearby::default())
}
