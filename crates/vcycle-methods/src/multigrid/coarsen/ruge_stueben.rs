//! The first pass of Ruge and Stueben's classical coarsening.

use std::ops::Range;

use super::choice::Choice;
use super::pmis::{COARSE, FINE, OPEN, start};
use super::registration::CoarseningRegistration;
use super::rounds::neighbours;
use super::{CoarseUnknowns, Splitting, check_square};
use crate::host_stages;
use crate::operations::on_host;
use crate::prelude::*;

pub(super) const RUGE_STUEBEN: CoarseningRegistration = CoarseningRegistration {
    name: "rs",
    summary: "The first pass of Ruge and Stueben (1987).",
    groups: false,
    reads: &["strength"],
    complex: true,
    on_host: &[host_stages::RUGE_STUEBEN],
    over_ranks: false,
    coarsen: |graph| {
        Ok(Choice::here(CoarseUnknowns::Chosen(ruge_stueben(
            graph.strength,
        )?)))
    },
};

/// The first pass of Ruge and Stueben (1987).
///
/// One after the other the open unknown with the largest `|S^T_i, open| + 2 |S^T_i, fine|` becomes
/// coarse and those that strongly depend on it fine. Of several the one whose weight was raised
/// last is taken, so that the choice spreads like a front and leaves few gaps.
///
/// An unknown without strong couplings is fine; every other fine one strongly depends on a coarse
/// one. There is no second pass: strongly coupled fine unknowns need not share a coarse one.
///
/// **Choose it** for the best interpolation of small problems; it works on one thread.
///
/// ```
/// use vcycle::{executor::Executor, gallery, multigrid::{coarsen::ruge_stueben, strength::Strength}};
/// let a = gallery::build("poisson5:16", &Executor::cpu())?.matrix;
/// let splitting = ruge_stueben(&Strength::default().graph(&a)?)?;
/// assert!((118..138).contains(&splitting.coarse_count));
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// For a graph that is not square, and when memory is short.
pub fn ruge_stueben(strength: &Arc<Pattern>) -> Result<Splitting> {
    check_square("ruge-stueben", strength.size())?;
    on_host(strength.executor(), host_stages::RUGE_STUEBEN);
    let n = strength.size().rows;
    let open = |row: usize| start(strength, row);
    let state = first_pass(strength, &*strength.transpose()?, 0..n, &open);
    Ok(Splitting::of(n, |row| state[row] == COARSE))
}

/// The pass over a range of unknowns and the couplings between them. `influences` is `S^T`; `start` says how an unknown
/// begins.
pub(super) fn first_pass(
    strength: &Pattern,
    influences: &Pattern,
    rows: Range<usize>,
    start: &dyn Fn(usize) -> u8,
) -> Vec<u8> {
    let mut pass = FirstPass::new(strength, influences, rows, start);
    while let Some(row) = pass.heaviest() {
        pass.make_coarse(row);
    }
    pass.state
}

struct FirstPass<'a> {
    strength: &'a Pattern,
    influences: &'a Pattern,
    rows: Range<usize>,
    state: Vec<u8>,
    weights: Vec<usize>,
    /// For every weight the unknowns that have, or have had, that weight.
    buckets: Vec<Vec<u32>>,
}

impl<'a> FirstPass<'a> {
    fn new(
        strength: &'a Pattern,
        influences: &'a Pattern,
        rows: Range<usize>,
        start: &dyn Fn(usize) -> u8,
    ) -> Self {
        let mut pass = Self {
            strength,
            influences,
            state: rows.clone().map(start).collect(),
            weights: vec![0; rows.len()],
            buckets: Vec::new(),
            rows: rows.clone(),
        };
        for row in rows.rev() {
            if pass.is_open(row) {
                let weight = neighbours(influences, row)
                    .filter(|&r| pass.is_open(r))
                    .count();
                pass.weigh(row, weight);
            }
        }
        pass
    }

    fn is_open(&self, row: usize) -> bool {
        self.rows.contains(&row) && self.state[row - self.rows.start] == OPEN
    }

    fn weight(&self, row: usize) -> usize {
        self.weights[row - self.rows.start]
    }

    fn weigh(&mut self, row: usize, weight: usize) {
        self.weights[row - self.rows.start] = weight;
        if self.buckets.len() <= weight {
            self.buckets.resize_with(weight + 1, Vec::new);
        }
        self.buckets[weight].push(row as u32);
    }

    fn heaviest(&mut self) -> Option<usize> {
        while let Some(bucket) = self.buckets.last_mut() {
            let Some(row) = bucket.pop() else {
                self.buckets.pop();
                continue;
            };
            let row = row as usize;
            if self.is_open(row) && self.weight(row) + 1 == self.buckets.len() {
                return Some(row);
            }
        }
        None
    }

    fn make_coarse(&mut self, row: usize) {
        self.state[row - self.rows.start] = COARSE;
        for dependent in neighbours(self.influences, row) {
            if !self.is_open(dependent) {
                continue;
            }
            self.state[dependent - self.rows.start] = FINE;
            for other in neighbours(self.strength, dependent) {
                if self.is_open(other) {
                    self.weigh(other, self.weight(other) + 1);
                }
            }
        }
        for other in neighbours(self.strength, row) {
            if self.is_open(other) {
                self.weigh(other, self.weight(other).saturating_sub(1));
            }
        }
    }
}
