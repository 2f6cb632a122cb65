//! Pairs of unknowns that are each other's strongest neighbour.

use vcycle_gpu::Argument;

use super::lists::Lists;
use super::pmis::composed;
use super::smoothed::constants;
use super::tiles::{NOTHING, graph, matrix, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::File;

pub(super) const FILE: File = tile_file!("pgm.c");
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
/// of a matching are side by side. None unless the pattern is symmetric.
pub fn pgm(
    queue: Queue<'_>,
    a: &Csr<f64>,
    (times, rounds): (usize, usize),
    (pairs, seed): (Pairs, u64),
    collapsed: impl Fn(&Csr<f64>, &Csr<f64>) -> Result<Csr<f64>>,
) -> Result<Option<Found>> {
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
    let given = [&[number(shape.0)], &matrix(a)?[..]].concat();
    let (mut coupled, mut diagonal) = (queue.room::<u8>(shape.0)?, queue.room::<f64>(shape.0)?);
    let found = [write(&mut coupled)?, write(&mut diagonal)?];
    let arguments = [&given[..], &found].concat();
    queue.rows(FILE, "pgm_coupled", &[], shape, &arguments)?;
    let mut values = queue.room(if kept { a.nonzeros() } else { 0 })?;
    let mut matching = Matching::empty(queue, pattern, seed)?;
    let found = [
        read(&diagonal)?,
        read(&coupled)?,
        if kept { write(&mut values)? } else { NOTHING },
        write(&mut matching.weights)?,
        write(&mut matching.heaviest)?,
        write(&mut matching.partners)?,
        matching.lists.note()?,
    ];
    let arguments = [&given[..], &found].concat();
    queue.rows(FILE, "pgm_first", &[], shape, &arguments)?;
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

impl<'a> Matching<'a> {
    fn empty(queue: Queue<'a>, pattern: &'a Pattern, seed: u64) -> Result<Self> {
        let rows = pattern.size().rows;
        Ok(Self {
            queue,
            pattern,
            weights: queue.room(pattern.nonzeros())?,
            heaviest: queue.room(rows)?,
            partners: queue.room(rows)?,
            lists: Lists::new(queue, rows)?,
            seed,
        })
    }

    /// Of a symmetric matrix.
    fn new(queue: Queue<'a>, a: &'a Csr<f64>, seed: u64) -> Result<Self> {
        let mut matching = Self::empty(queue, a.pattern(), seed)?;
        let diagonal = queue.diagonal(a)?;
        let shape = shape(a.pattern());
        let results = [
            read(&diagonal)?,
            write(&mut matching.weights)?,
            write(&mut matching.heaviest)?,
            write(&mut matching.partners)?,
        ];
        let arguments = [&[number(shape.0)], &matrix(a)?[..], &results].concat();
        queue.rows(FILE, "pgm_weights", &[], shape, &arguments)?;
        Ok(matching)
    }

    /// Beside nothing, no coupling is weak.
    fn allow(&mut self, pairs: Pairs) -> Result<()> {
        if pairs == Pairs::Any {
            self.heaviest = self.queue.zeros(self.pattern.size().rows)?;
        }
        Ok(())
    }

    /// What `COUPLINGS` and the seed stand for.
    fn couplings(&self) -> Result<Vec<Argument>> {
        let [offsets, columns] = graph(self.pattern)?;
        let weights = [read(&self.weights)?, read(&self.heaviest)?];
        let rows = number(self.pattern.size().rows);
        Ok([
            &[rows, offsets, columns],
            &weights[..],
            &[Argument::U64(self.seed)],
        ]
        .concat())
    }

    /// Queues a kernel for so many rows.
    fn launch(&self, name: &'static str, rows: usize, arguments: &[Argument]) -> Result<()> {
        let shape = (rows, shape(self.pattern).1);
        let arguments = [&self.couplings()?[..], arguments].concat();
        self.queue.rows(FILE, name, &[], shape, &arguments)
    }

    /// The groups; `rounds` are side by side. With `keep_alone` rows without any coupling are groups.
    /// None if a coupling has no counterpart: kernels find it back by its row.
    fn groups(mut self, rounds: usize, keep_alone: bool) -> Result<Option<Found>> {
        let (queue, rows) = (self.queue, self.partners.len());
        let Some(mut choices) = self.pair_up(rounds)? else {
            return Ok(None);
        };
        let mut flags = queue.room(rows)?;
        // The number of groups, and of rows without one.
        let mut totals = queue.zeros::<u64>(2)?;
        let all = totals.device_mut()?;
        let found = [
            word(usize::from(keep_alone)),
            read(&self.partners)?,
            write(&mut choices)?,
            write(&mut flags)?,
            Argument::Address(all + 8),
        ];
        self.launch("pgm_flags", rows, &found)?;
        let sums = queue.scan(&flags, Argument::Address(all))?;
        let mut groups = flags;
        let arguments = [
            number(rows),
            read(&sums)?,
            read(&self.partners)?,
            read(&choices)?,
            write(&mut groups)?,
        ];
        queue.rows(FILE, "pgm_groups", &[], (rows, 1), &arguments)?;
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
        let mut choices = queue.room::<u32>(rows)?;
        for round in 1..=rounds {
            // About as many are left as a rule; where there are more, threads have several.
            let left = (rows >> (round / 2).min(LEAST_LEFT)).max(1);
            let changed = [read(&self.partners)?, write(&mut choices)?];
            let arguments = [&self.lists.current()?[..], &changed, &self.lists.next()?].concat();
            self.launch("pgm_choose", left, &arguments)?;
            self.lists.advance();
            let changed = [read(&choices)?, write(&mut self.partners)?];
            let arguments = [&self.lists.current()?[..], &changed, &self.lists.next()?].concat();
            queue.rows(FILE, "pgm_pair", &[], (left, 1), &arguments)?;
            self.lists.advance();
            if round >= FIRST_LOOK && (round - FIRST_LOOK).is_multiple_of(LOOK) {
                match self.lists.look()? {
                    (_, true) => return Ok(None),
                    (0, false) => return Ok(Some(choices)),
                    _ => {}
                }
            }
        }
        let arguments = [read(&choices)?, write(&mut self.partners)?];
        let arguments = [&self.couplings()?[..], &arguments].concat();
        queue.rows(FILE, "pgm_rest", &[], (1, 1), &arguments)?;
        Ok(Some(choices))
    }
}
