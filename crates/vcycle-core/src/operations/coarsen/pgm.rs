//! Pairs of unknowns that are each other's strongest neighbour.

use crate::gpu::kernels::pgm as kernels;
use crate::launch::prelude::*;
use crate::launch::queue::shape;
use crate::operations::coarsen::pmis::composed;
use crate::operations::coarsen::rounds::Lists;
use crate::operations::interpolate::constants;

/// Rounds before the first look at what is left, and between two.
const FIRST_LOOK: usize = 8;
const LOOK: usize = 4;
/// Every second round has half the threads, but not more often than this.
const LEAST_LEFT: usize = 5;

/// Which unknowns may be a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// Those with a coupling of at least a quarter of the heaviest one of either.
    Strong,
    /// Any that are coupled.
    Any,
}

/// Groups that matching found.
pub struct Found {
    /// For every unknown its group or `NONE`.
    pub groups: Buffer<u32>,
    /// Number of groups.
    pub count: usize,
    /// Whether every unknown has a group.
    pub is_complete: bool,
}

/// `pairs`, and pairs of these, so many `times`; `collapsed` makes the matrix `P^T A P` between two of them. `rounds`
/// of a matching are side by side. None unless the pattern is symmetric, and on the host.
pub fn pgm(
    a: &Csr<f64>,
    (times, rounds): (usize, usize),
    (pairs, seed): (Pairs, u64),
    collapsed: impl Fn(&Csr<f64>, &Csr<f64>) -> Result<Csr<f64>>,
) -> Result<Option<Found>> {
    let queue = queue_of!(a.executor());
    let (mut matching, mut weights) = first(queue, a, times > 1, seed)?;
    matching.allow(pairs)?;
    let Some(mut all) = matching.groups(rounds, false)? else {
        return Ok(None);
    };
    let (mut step, mut is_complete) = (all.groups.clone(), all.is_complete);
    for _ in 1..times {
        let p = constants(queue, &step, (all.count, 1), is_complete)?;
        weights = collapsed(&weights, &p)?;
        let mut matching = Matching::new(queue, &weights, seed)?;
        matching.allow(pairs)?;
        let next = matching.groups(rounds, true)?.expect("symmetric as before");
        all.groups = composed(queue, &all.groups, &next.groups)?;
        all.count = next.count;
        (step, is_complete) = (next.groups, true);
    }
    Ok(Some(all))
}

/// The couplings of `(|A| + |A^T|) / 2` that count, and if it is `kept` that matrix, else `A` itself.
fn first<'a>(
    queue: Queue<'a>,
    a: &'a Csr<f64>,
    kept: bool,
    seed: u64,
) -> Result<(Matching<'a>, Csr<f64>)> {
    let (pattern, shape) = (a.pattern(), shape(a.pattern()));
    let (mut coupled, mut diagonal) = (queue.uninit::<u8>(shape.0)?, queue.uninit::<f64>(shape.0)?);
    kernels::pgm_coupled(pattern, a.values_buffer(), &mut coupled, &mut diagonal)?
        .rows(&queue, shape)?;
    let mut values = queue.uninit(if kept { a.nonzeros() } else { 0 })?;
    let mut matching = Matching::empty(queue, pattern, seed)?;
    kernels::pgm_first(
        pattern,
        a.values_buffer(),
        &diagonal,
        &coupled,
        kept.then_some(&mut values),
        &mut matching.weights,
        &mut matching.heaviest,
        &mut matching.partners,
        matching.lists.note()?,
    )?
    .rows(&queue, shape)?;
    let modulus = match kept {
        true => Csr::of_buffers(pattern, values),
        false => a.clone(),
    };
    Ok((matching, modulus))
}

/// A graph with weights, each with its heaviest of the row, and who has found a partner.
struct Matching<'a> {
    queue: Queue<'a>,
    pattern: &'a Pattern,
    weights: Buffer<f32>,
    heaviest: Buffer<f32>,
    partners: Buffer<u32>,
    lists: Lists<'a>,
    seed: u64,
}

type Couplings = (u64, Read<u64>, Read<u32>, Read<f32>, Read<f32>);

impl<'a> Matching<'a> {
    fn empty(queue: Queue<'a>, pattern: &'a Pattern, seed: u64) -> Result<Self> {
        let rows = pattern.size().rows;
        Ok(Self {
            queue,
            pattern,
            weights: queue.uninit(pattern.nonzeros())?,
            heaviest: queue.uninit(rows)?,
            partners: queue.uninit(rows)?,
            lists: Lists::new(queue, rows)?,
            seed,
        })
    }

    /// Of a symmetric matrix.
    fn new(queue: Queue<'a>, a: &'a Csr<f64>, seed: u64) -> Result<Self> {
        let mut matching = Self::empty(queue, a.pattern(), seed)?;
        let diagonal = queue.diagonal(a)?;
        kernels::pgm_weights(
            a.pattern(),
            a.values_buffer(),
            &diagonal,
            &mut matching.weights,
            &mut matching.heaviest,
            &mut matching.partners,
        )?
        .rows(&queue, shape(a.pattern()))?;
        Ok(matching)
    }

    /// Beside nothing, no coupling is weak.
    fn allow(&mut self, pairs: Pairs) -> Result<()> {
        if pairs == Pairs::Any {
            self.heaviest = self.queue.zeros(self.pattern.size().rows)?;
        }
        Ok(())
    }

    /// What `COUPLINGS` of the kernels stands for: the graph, its weights and the heaviest of each row.
    fn couplings(&self) -> Result<Couplings> {
        let (rows, offsets, columns) = self.pattern.pass()?;
        let (weights, heaviest) = (self.weights.pointer()?, self.heaviest.pointer()?);
        Ok((rows, offsets, columns, weights, heaviest))
    }

    /// The groups; `rounds` are side by side. With `keep_alone` rows without any coupling are groups.
    /// None if a coupling has no counterpart: kernels find it back by its row.
    fn groups(mut self, rounds: usize, keep_alone: bool) -> Result<Option<Found>> {
        let (queue, rows) = (self.queue, self.partners.len());
        let Some(mut choices) = self.pair_up(rounds)? else {
            return Ok(None);
        };
        let mut flags = queue.uninit(rows)?;
        // The number of groups, and of rows without one.
        let mut totals = queue.zeros::<u64>(2)?;
        let all = totals.pointer_mut()?;
        kernels::pgm_flags(
            self.couplings()?,
            self.seed,
            keep_alone,
            &self.partners,
            &mut choices,
            &mut flags,
            all.at(1).cast::<u32>(),
        )?
        .rows(&queue, shape(self.pattern))?;
        let sums = queue.scan(&flags, all)?;
        let mut groups = flags;
        kernels::pgm_groups(rows, &sums, &self.partners, &choices, &mut groups)?
            .rows(&queue, (rows, 1))?;
        let totals = totals.host()?;
        Ok(Some(Found {
            groups,
            count: totals[0] as usize,
            is_complete: totals[1] == 0,
        }))
    }

    /// Finds partners; the last choices of all.
    fn pair_up(&mut self, rounds: usize) -> Result<Option<Buffer<u32>>> {
        let (queue, rows) = (self.queue, self.pattern.size().rows);
        let mut choices = queue.uninit::<u32>(rows)?;
        for round in 1..=rounds {
            // About as many are left as a rule; where there are more, threads have several.
            let left = (rows >> (round / 2).min(LEAST_LEFT)).max(1);
            let (list, next) = (self.lists.current()?, self.lists.next()?);
            kernels::pgm_choose(
                self.couplings()?,
                self.seed,
                list,
                &self.partners,
                &mut choices,
                next,
            )?
            .rows(&queue, (left, shape(self.pattern).1))?;
            self.lists.advance();
            let (list, next) = (self.lists.current()?, self.lists.next()?);
            kernels::pgm_pair(list, &choices, &mut self.partners, next)?.rows(&queue, (left, 1))?;
            self.lists.advance();
            if round >= FIRST_LOOK && (round - FIRST_LOOK).is_multiple_of(LOOK) {
                match self.lists.look()? {
                    (_, true) => return Ok(None),
                    (0, false) => return Ok(Some(choices)),
                    _ => {}
                }
            }
        }
        let couplings = self.couplings()?;
        kernels::pgm_rest(couplings, self.seed, &choices, &mut self.partners)?
            .rows(&queue, (1, 1))?;
        Ok(Some(choices))
    }
}
