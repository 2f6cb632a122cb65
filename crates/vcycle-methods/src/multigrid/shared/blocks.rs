//! HMIS over ranks: its blocks of rows are those of the whole graph, and need not end where rows of a rank do.

use std::ops::Range;
use std::sync::Arc;

use super::graph;
use crate::error::Result;
use crate::executor::Executor;
use crate::matrix::{Halo, Pattern};
use crate::multigrid::coarsen::{Nearby, Splitting, first_passes, hmis_near, start};

/// [`hmis`](crate::multigrid::coarsen::hmis) in blocks of `length` rows of the whole graph. The rank of the first row of a
/// block gets all of its rows, makes the first pass, which goes from row to row, and tells the others. All ranks call it
/// together.
pub(super) fn hmis_shared(
    executor: &Executor,
    strength: &Arc<Pattern>,
    seed: u64,
    rows: &Arc<Halo>,
    length: u64,
) -> Result<Splitting> {
    let near = Nearby::of(rows);
    hmis_near(strength, seed, (&near, length), |_| {
        passed(executor, strength, rows, length)
    })
}

/// What the first pass leaves of own rows; of others how they begin.
fn passed(
    executor: &Executor,
    strength: &Arc<Pattern>,
    rows: &Arc<Halo>,
    length: u64,
) -> Result<Vec<u8>> {
    let mut states: Vec<u8> = (0..rows.len()).map(|row| start(strength, row)).collect();
    let led = led(&rows.own_rows(), rows.partition().total(), length);
    let wanted = led.clone().filter(|row| !rows.own_rows().contains(row));
    let here = Halo::new(rows.team(), rows.partition(), wanted.collect())?;
    let graph = graph(executor, strength, rows)?.rows_near(&here, &here)?;
    let mut begin = vec![0; here.len()];
    begin[here.own()].copy_from_slice(&states[rows.own()]);
    here.refresh(&mut begin)?;
    let mut made = begin.clone();
    if let Some(first) = here.local(led.start).filter(|_| !led.is_empty()) {
        let (first, count) = (first as usize, (led.end - led.start) as usize);
        let blocks = (0..count).step_by(length as usize);
        let blocks = blocks.map(|block| first + block..first + count.min(block + length as usize));
        let pattern = graph.pattern();
        let influences = pattern.transpose()?;
        let start = |row: usize| begin[row];
        let found = first_passes(pattern, &influences, blocks.collect(), &start);
        made[first..first + count].copy_from_slice(&found);
    }
    let own = rows.own();
    states[own.clone()].copy_from_slice(&made[here.own()]);
    // All rows of other ranks that are here are of blocks that begin here.
    here.collect(1, &made[here.own().end..], &mut |row, told: &[u8]| {
        states[own.start + row] = told[0];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery;
    use crate::matrix::{Distributed, Partition};
    use crate::multigrid::strength::Strength;
    use vcycle_core::communicator::threads;

    #[test]
    fn blocks_need_not_end_where_ranks_do() {
        let whole = gallery::build("jump7:5,100", &Executor::cpu()).unwrap();
        let n = whole.rhs.len();
        for length in [7, 40, 200] {
            let strength = Strength::default().graph(&whole.matrix).unwrap();
            let alone = Nearby::default();
            let expected = hmis_near(&strength, 3, (&alone, length), |influences| {
                let blocks = (0..n).step_by(length as usize);
                let blocks = blocks.map(|first| first..n.min(first + length as usize));
                let start = |row: usize| start(&strength, row);
                Ok(first_passes(
                    &strength,
                    influences,
                    blocks.collect(),
                    &start,
                ))
            });
            let expected = expected.unwrap();
            for ranks in [1, 2, 7, 64] {
                threads::run(ranks, |team| {
                    let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
                    let rows = Partition::even(n as u64, 1, ranks);
                    let a = Distributed::part_of(&rank, &whole.matrix, rows)?;
                    let near = a.surrounded(1, 1)?;
                    let strength = Strength::default().graph(&near.matrix)?;
                    let found = hmis_shared(&rank, &strength, 3, &near.halo, length)?;
                    let is_coarse = |of: &Splitting, row: usize| of.coarse_index[row] != u32::MAX;
                    for row in near.halo.own() {
                        let global = near.halo.global(row) as usize;
                        assert_eq!(is_coarse(&found, row), is_coarse(&expected, global));
                    }
                    Ok(())
                })
                .unwrap();
            }
        }
    }
}
