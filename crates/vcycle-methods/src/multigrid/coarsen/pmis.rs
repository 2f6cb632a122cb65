//! A maximal independent set of the strong couplings.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32};

use super::choice::Choice;
use super::nearby::Nearby;
use super::registration::CoarseningRegistration;
use super::rounds::{Active, map_rows, mix64, neighbours, scramble};
use super::{CoarseUnknowns, Splitting, check_square};
use crate::matrix::{DeviceHalo, ranges};
use crate::operations;
use crate::prelude::*;

/// Not decided, and not beaten by a neighbour in this round.
pub(super) const OPEN: u8 = 0;
/// Not decided; a neighbour has the larger measure.
const BEATEN: u8 = 1;
/// On the next level.
pub(super) const COARSE: u8 = 2;
/// On this level only.
pub(super) const FINE: u8 = 3;

pub(super) const PMIS: CoarseningRegistration = CoarseningRegistration {
    name: "pmis",
    summary: "Parallel modified independent set (De Sterck, Yang and Heys 2006).",
    groups: false,
    reads: &["strength", "seed"],
    complex: true,
    on_host: &[],
    over_ranks: true,
    coarsen: |graph| {
        let (strength, seed) = (graph.strength, graph.seed);
        let Some(halo) = graph.near.halo() else {
            return Ok(Choice::here(CoarseUnknowns::Chosen(pmis(strength, seed)?)));
        };
        let there = DeviceHalo::new(halo, strength.executor());
        match operations::coarsen::pmis_near(strength, mix64(seed), &there)? {
            Some((chosen, count)) => Choice::of_devices(&there, halo, (&chosen, count), None),
            None => Choice::chosen(graph.near, pmis_near(strength, seed, graph.near)?),
        }
    },
};

/// Parallel modified independent set (De Sterck, Yang and Heys 2006).
///
/// The measure of an unknown is `w_i = |S^T_i| + random`: how many strongly depend on it, and a
/// number in 0..1 made of its index and the seed. In every round the open unknowns with a larger
/// measure than all their open neighbours, along either direction of a coupling, become coarse, and
/// the open ones that strongly depend on a coarse one become fine.
///
/// - An unknown without strong couplings is fine, and is not interpolated.
/// - Every other fine unknown strongly depends on a coarse one.
/// - In a symmetric graph no two coarse unknowns are neighbours. In another one a coarse unknown
///   may depend on one that was chosen later and does not depend on it.
///
/// **Choose it** by default: it is the fastest, and its complexities are low. Interpolate over
/// distance two, for strongly coupled fine unknowns need not share a coarse one.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::{coarsen::pmis, strength::Strength}};
/// let a = gallery::build("poisson5:16", &Executor::cpu())?.matrix;
/// let splitting = pmis(&Strength::default().graph(&a)?, 1)?;
/// assert!((40..128).contains(&splitting.coarse_count));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a graph that is not square.
pub fn pmis(strength: &Arc<Pattern>, seed: u64) -> Result<Splitting> {
    check_square("pmis", strength.size())?;
    if let Some(found) = operations::coarsen::pmis(strength, mix64(seed), false)? {
        return Ok(Splitting::of_device(found));
    }
    pmis_near(strength, seed, &Nearby::default())
}

/// The same where some of the rows are those of other ranks.
pub(super) fn pmis_near(strength: &Pattern, seed: u64, near: &Nearby) -> Result<Splitting> {
    let start = map_rows(strength, |row| start(strength, row));
    complete(strength, seed, start, near)
}

/// How an unknown begins: fine where it depends on none.
pub(super) fn start(strength: &Pattern, row: usize) -> u8 {
    if strength.range(row).is_empty() {
        FINE
    } else {
        OPEN
    }
}

/// Decides all unknowns that are open at the start.
pub(super) fn complete(
    strength: &Pattern,
    seed: u64,
    start: Vec<u8>,
    near: &Nearby,
) -> Result<Splitting> {
    let begun = near.any(start.contains(&COARSE))?;
    let state: Vec<AtomicU8> = start.into_iter().map(AtomicU8::new).collect();
    let state_of = |row: usize| state[row].load(Relaxed);
    refresh(&state, near)?;
    let mut active = Active::new(strength, |row| state_of(row) == OPEN);
    if begun {
        cover(strength, &state, &mut active, near)?;
    }
    let measures = measures(strength, seed, near)?;
    while near.any(!active.is_empty())? {
        active.for_each(|row| compare(strength, &measures, &state, row));
        active.for_each(|row| {
            let next = if state_of(row) == OPEN { COARSE } else { OPEN };
            state[row].store(next, Relaxed);
        });
        refresh(&state, near)?;
        cover(strength, &state, &mut active, near)?;
    }
    Ok(Splitting::of(state.len(), |row| state_of(row) == COARSE))
}

fn refresh(state: &[AtomicU8], near: &Nearby) -> Result<()> {
    let read = |row: usize| state[row].load(Relaxed);
    near.refresh(read, |row, value| state[row].store(value, Relaxed))
}

/// `w_i` times 2^32; no two of the first 2^32 unknowns have equal ones.
fn measures(strength: &Pattern, seed: u64, near: &Nearby) -> Result<Vec<u64>> {
    let counts: Vec<AtomicU32> = (0..strength.size().cols)
        .map(|_| AtomicU32::new(0))
        .collect();
    let count = |rows: std::ops::Range<usize>| {
        let places = strength.offsets()[rows.start]..strength.offsets()[rows.end];
        for &column in &strength.columns()[places] {
            counts[column as usize].fetch_add(1, Relaxed);
        }
    };
    let pieces = ranges(strength.pieces());
    strength.executor().run(strength.bytes(), pieces, count);
    near.refresh(
        |row| counts[row].load(Relaxed),
        |row, count| counts[row].store(count, Relaxed),
    )?;
    Ok(map_rows(strength, |row| {
        let random = scramble(near.global(row), seed);
        u64::from(counts[row].load(Relaxed)) << 32 | u64::from(random)
    }))
}

/// Marks the one with the smaller measure at every coupling of an open unknown with another.
fn compare(strength: &Pattern, measures: &[u64], state: &[AtomicU8], row: usize) {
    let mut beaten = false;
    for other in neighbours(strength, row) {
        if state[other].load(Relaxed) > BEATEN {
            continue;
        }
        if measures[other] > measures[row] {
            beaten = true;
        } else if other != row {
            state[other].store(BEATEN, Relaxed);
        }
    }
    if beaten {
        state[row].store(BEATEN, Relaxed);
    }
}

/// Makes those fine that depend on a coarse one; only open ones stay active.
fn cover(strength: &Pattern, state: &[AtomicU8], active: &mut Active, near: &Nearby) -> Result<()> {
    let is_coarse = |row: usize| state[row].load(Relaxed) == COARSE;
    active.retain(|row| {
        if !near.is_own(row) {
            return true;
        }
        if is_coarse(row) {
            return false;
        }
        let covered = neighbours(strength, row).any(is_coarse);
        if covered {
            state[row].store(FINE, Relaxed);
        }
        !covered
    });
    if near.is_shared() {
        refresh(state, near)?;
        active.retain(|row| state[row].load(Relaxed) == OPEN);
    }
    Ok(())
}
