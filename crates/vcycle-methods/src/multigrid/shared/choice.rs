//! The unknowns of the next level over ranks.

use std::sync::Arc;

use crate::error::Result;
use crate::matrix::{Halo, LocalNumbers, Partition};
use crate::multigrid::amg::Amg;
use crate::multigrid::coarsen::{
    Aggregates, Coarsening, NONE, Nearby, Splitting, mis2_roots, pmis_shared,
};
use crate::multigrid::coarsened::Coarsened;
use crate::multigrid::systems::View;

/// Which of the unknowns (or nodes) nearby are coarse, or what groups they belong to; with the numbers of these on the
/// next level.
pub(super) struct Choice {
    /// In local numbers.
    pub coarsened: Coarsened,
    /// Which local number is which of all ranks.
    pub numbers: LocalNumbers,
    /// Which rank has which of them.
    pub partition: Partition,
}

/// No group, among global numbers.
const LEFT_OUT: u64 = u64::MAX;

impl Choice {
    /// Decides on the rows of a view, which lie as a halo says.
    pub fn new(amg: &Amg, view: &View<'_>, rows: &Arc<Halo>) -> Result<Self> {
        let near = Nearby::of(rows);
        match amg.coarsening {
            Coarsening::Mis2 => grouped(mis2_roots(view.strength(), amg.seed, &near)?, rows),
            _ => chosen(pmis_shared(view.strength(), amg.seed, &near)?, rows),
        }
    }
}

/// Own ones are numbered from the first of this rank on.
fn numbered(rows: &Halo, is_coarse: impl Fn(usize) -> bool) -> Result<(Partition, Vec<u64>)> {
    let own = rows.own();
    let count = own.clone().filter(|&row| is_coarse(row)).count();
    let partition = Partition::of_counts(rows.team().as_ref(), count)?;
    let mut numbers = vec![LEFT_OUT; rows.len()];
    let own_numbers = partition.range(rows.team().rank());
    for (number, row) in own_numbers.zip(own.filter(|&row| is_coarse(row))) {
        numbers[row] = number;
    }
    rows.refresh(&mut numbers)?;
    Ok((partition, numbers))
}

fn chosen(splitting: Splitting, rows: &Halo) -> Result<Choice> {
    let (partition, numbers) = numbered(rows, |row| splitting.coarse_index[row] != NONE)?;
    let known = numbers.into_iter().filter(|&number| number != LEFT_OUT);
    let own = partition.range(rows.team().rank());
    let numbers = LocalNumbers::new(own, known.collect());
    // Both are numbered in the order of the rows.
    debug_assert_eq!(numbers.len(), splitting.coarse_count);
    Ok(Choice {
        coarsened: Coarsened::Chosen(splitting),
        numbers,
        partition,
    })
}

/// Groups, told by the root of every node.
fn grouped(roots: Vec<u32>, rows: &Halo) -> Result<Choice> {
    let (partition, of_root) = numbered(rows, |row| roots[row] as usize == row)?;
    let group = |&root: &u32| match root {
        NONE => LEFT_OUT,
        root => of_root[root as usize],
    };
    let mut groups: Vec<u64> = roots.iter().map(group).collect();
    rows.refresh(&mut groups)?;
    let known = groups.iter().copied().filter(|&group| group != LEFT_OUT);
    let own = partition.range(rows.team().rank());
    let numbers = LocalNumbers::new(own, known.collect());
    let local = |&group: &u64| numbers.local(group).unwrap_or(NONE);
    let aggregates = Aggregates {
        aggregate: groups.iter().map(local).collect(),
        count: numbers.len(),
    };
    Ok(Choice {
        coarsened: Coarsened::Grouped(aggregates),
        numbers,
        partition,
    })
}
