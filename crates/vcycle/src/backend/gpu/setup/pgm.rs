//! Pairs of unknowns that are each other's strongest neighbour.

use vcycle_gpu::Argument;

use super::lists::Lists;
use super::pmis::composed;
use super::smoothed::constants;
use super::tiles::{NOTHING, graph, matrix, shape, tile_file, word};
use super::{Queue, number, read, write};
use crate::backend::gpu::File;
use crate::error::Result;
use crate::executor::Buffer;
use crate::matrix::{Csr, Pattern, galerkin};

const FILE: File = tile_file!("pgm.c");
/// Rounds between two looks at what is left.
const LOOK: usize = 5;

/// For every unknown its group or `NONE`, and the number of groups: pairs, and pairs of these, so
/// many `times`. `rounds` of a matching are side by side. None unless the pattern is symmetric.
pub(crate) fn pgm(
    queue: Queue<'_>,
    a: &Csr<f64>,
    (times, rounds): (usize, usize),
    seed: u64,
) -> Result<Option<(Buffer<u32>, usize)>> {
    let Some((matching, mut weights)) = first(queue, a, times > 1, seed)? else {
        return Ok(None);
    };
    let (mut groups, mut count) = matching.groups(rounds, false)?;
    let mut step = groups.clone();
    for _ in 1..times {
        let p = constants(queue, &step, count, 1)?;
        weights = galerkin(&p.transpose()?, &weights, &p)?;
        (step, count) = Matching::new(queue, &weights, seed)?.groups(rounds, true)?;
        groups = composed(queue, &groups, &step)?;
    }
    Ok(Some((groups, count)))
}

/// The couplings of `(|A| + |A^T|) / 2` that count, and if it is `kept` that matrix, else `A` itself.
/// None unless the pattern is symmetric: kernels find the coupling back by its row.
fn first<'a>(
    queue: Queue<'a>,
    a: &'a Csr<f64>,
    kept: bool,
    seed: u64,
) -> Result<Option<(Matching<'a>, Csr<f64>)>> {
    let (pattern, shape) = (a.pattern(), shape(a.pattern()));
    let given = [&[number(shape.0)], &matrix(a)?[..]].concat();
    let mut coupled = queue.room::<u8>(shape.0)?;
    let arguments = [&given[..], &[write(&mut coupled)?]].concat();
    queue.rows(FILE, "pgm_coupled", &[], shape, &arguments)?;
    let diagonal = queue.diagonal(a)?;
    let mut values = queue.room(if kept { a.nonzeros() } else { 0 })?;
    let (mut weights, mut heaviest) = (queue.room(a.nonzeros())?, queue.room(shape.0)?);
    let mut one_sided = queue.zeros::<u32>(1)?;
    let found = [
        read(&diagonal)?,
        read(&coupled)?,
        if kept { write(&mut values)? } else { NOTHING },
        write(&mut weights)?,
        write(&mut heaviest)?,
        write(&mut one_sided)?,
    ];
    queue.rows(
        FILE,
        "pgm_first",
        &[],
        shape,
        &[&given[..], &found].concat(),
    )?;
    if one_sided.get(0)? != 0 {
        return Ok(None);
    }
    let matching = Matching {
        queue,
        pattern,
        weights,
        heaviest,
        seed,
    };
    let modulus = match kept {
        true => Csr::of_buffers(pattern, values),
        false => a.clone(),
    };
    Ok(Some((matching, modulus)))
}

/// A graph with weights, each with its heaviest of the row.
struct Matching<'a> {
    queue: Queue<'a>,
    pattern: &'a Pattern,
    weights: Buffer<f32>,
    heaviest: Buffer<f32>,
    seed: u64,
}

impl<'a> Matching<'a> {
    /// Of a symmetric matrix.
    fn new(queue: Queue<'a>, a: &'a Csr<f64>, seed: u64) -> Result<Self> {
        let diagonal = queue.diagonal(a)?;
        let pattern = a.pattern();
        let shape = shape(pattern);
        let (mut weights, mut heaviest) = (queue.room(a.nonzeros())?, queue.room(shape.0)?);
        let results = [
            read(&diagonal)?,
            write(&mut weights)?,
            write(&mut heaviest)?,
        ];
        let arguments = [&[number(shape.0)], &matrix(a)?[..], &results].concat();
        queue.rows(FILE, "pgm_weights", &[], shape, &arguments)?;
        Ok(Self {
            queue,
            pattern,
            weights,
            heaviest,
            seed,
        })
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

    fn launch(&self, name: &'static str, arguments: &[Argument]) -> Result<()> {
        let shape = shape(self.pattern);
        let arguments = [&self.couplings()?[..], arguments].concat();
        self.queue.rows(FILE, name, &[], shape, &arguments)
    }

    /// For every row its group or `NONE`, and the number of groups; `rounds` are side by side.
    /// With `keep_alone` rows without any coupling are groups.
    fn groups(&self, rounds: usize, keep_alone: bool) -> Result<(Buffer<u32>, usize)> {
        let partners = self.partners(rounds)?;
        let rows = partners.len();
        let mut flags = self.queue.room(rows)?;
        let keep = word(usize::from(keep_alone));
        self.launch("pgm_flags", &[keep, read(&partners)?, write(&mut flags)?])?;
        let (sums, count) = self.queue.offsets(&flags)?;
        let mut groups = flags;
        let arguments = [read(&sums)?, read(&partners)?, write(&mut groups)?];
        self.launch("pgm_groups", &arguments)?;
        Ok((groups, count))
    }

    fn partners(&self, rounds: usize) -> Result<Buffer<u32>> {
        let (queue, rows) = (self.queue, self.pattern.size().rows);
        let (mut partners, mut choices) = (queue.filled(rows, u32::MAX)?, queue.room::<u32>(rows)?);
        let mut lists = Lists::new(queue, rows)?;
        for round in 0..rounds {
            let changed = [read(&partners)?, write(&mut choices)?];
            let arguments = [&lists.current()?[..], &changed, &lists.next()?].concat();
            self.launch("pgm_choose", &arguments)?;
            lists.advance();
            let changed = [read(&choices)?, write(&mut partners)?];
            let arguments = [&lists.current()?[..], &changed, &lists.next()?].concat();
            queue.rows(FILE, "pgm_pair", &[], (rows, 1), &arguments)?;
            lists.advance();
            if (round + 1) % LOOK == 0 && lists.count()? == 0 {
                return Ok(partners);
            }
        }
        let arguments = [
            &self.couplings()?[..],
            &[read(&choices)?, write(&mut partners)?],
        ]
        .concat();
        queue.rows(FILE, "pgm_rest", &[], (1, 1), &arguments)?;
        Ok(partners)
    }
}
