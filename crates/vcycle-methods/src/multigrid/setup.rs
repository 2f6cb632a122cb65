//! Runs the stages level by level: from a matrix to the matrices and transfers of all levels.
//!
//! Every stage looks at own rows and, where ranks share a matrix, at some of others nearby: it is run on the matrix of
//! [these](LevelMatrix::near) as if there were no other, and own rows of what it makes are kept. Numbers that depend on all
//! rows (how many are coarse, spectral radii, bounds) are asked of all ranks. So the levels have the bits they have without
//! ranks. Small levels are gathered: the first one that has at most [`gather_rows`](Amg::gather_rows) rows, and all below
//! it, are set up and visited by rank 0 alone.

use super::amg::{Amg, Known};
use super::clock::Clock;
use super::coarsen::{Graph, Numbers, spread_over, uniform_near};
use super::coarsest::is_diagonal;
use super::finest::{finest, placed};
use super::fitted::fitted;
use super::interpolate::{Interpolation, filtered};
use super::matrices::{LevelMatrix, Matrices, Transfer};
use super::near_nullspace::NearNullspace;
use super::number::{as_real, magnitudes, of_real};
use super::transfer::{LevelStages, Prolongation};
use super::unknowns::{Unknowns, View};
use super::wide::Wide;
use crate::matrix::{Galerkin, Partition};
use crate::prelude::*;

/// Coarsening that leaves more than this part of the unknowns is not worth a level.
const STALLED: f64 = 0.9;

/// The levels of a matrix, from the finest down.
#[derive(Debug)]
pub(super) struct Levels<V: Scalar = f64> {
    /// Ranks other than the first have none from the level on that is gathered.
    pub levels: Vec<Matrices<V>>,
    /// Why there are no more, if the last one is not small; where ranks share levels, why no more are shared.
    pub stalled: Option<String>,
    /// The level that rank 0 has as a whole, where ranks share the matrix.
    pub gathered: Option<GatheredLevel>,
}

/// A level that rank 0 has as a whole, with all below it.
#[derive(Clone, Debug)]
pub(super) struct GatheredLevel {
    pub number: usize,
    /// How its rows lay before.
    pub rows: Arc<Partition>,
    /// Whether this rank has it.
    pub leads: bool,
    /// Why it is the first that is gathered, if that is not for being small.
    pub stalled: Option<String>,
}

impl<V: Scalar> Levels<V> {
    /// The finest level alone.
    pub fn new(a: LevelMatrix<V>) -> Self {
        Self {
            levels: vec![Matrices::new(a)],
            stalled: None,
            gathered: None,
        }
    }
}

/// The parameters, every `auto` decided, the finest matrix, and what is known of its unknowns.
pub(super) fn analysed<T: Scalar, V: Wide>(
    amg: &Amg,
    given: &Arc<dyn LinOp<T>>,
    near_nullspace: &NearNullspace,
    clock: &Clock<'_>,
) -> Result<(Amg, LevelMatrix<V>, Unknowns)> {
    let _stage = clock.stage(0, "analysis")?;
    if V::KIND.is_complex() {
        amg.check_complex(near_nullspace)?;
    }
    let amg = amg.searching(near_nullspace);
    let a: LevelMatrix<V> = finest(amg.host_rows_needed(), given)?;
    let jumps = || match (&a, as_real(a.local())) {
        (LevelMatrix::Here(_), Some(real)) if near_nullspace.block_size() == 1 => real.has_jumps(),
        _ => Ok(false),
    };
    let amg = amg.decided_by(|| {
        Ok(Known {
            definite: a.symmetric_and_positive()? == [true; 2],
            in_rounds: a.is_of_ranks() || a.executor().is_device(),
            jumps: jumps()?,
        })
    })?;
    amg.check_levels(near_nullspace)?;
    a.agree(near_nullspace.check(a.local().size().rows))?;
    let unknowns = match &amg.test_space {
        None => Unknowns::new(near_nullspace),
        Some(search) => Unknowns::new(&search.near_nullspace(given, near_nullspace, clock.ws)?),
    };
    Ok((amg, a, unknowns))
}

/// What a step to the next level leaves for those who ask for it.
#[derive(Debug)]
pub(super) struct Record {
    /// For every unknown (or node) its number, or that of its group, on the next level.
    pub map: Numbers,
    /// The blocks of the prolongation.
    pub block: Size,
    /// The symbolic phase of the product, unless that was formed by blocks or over ranks.
    pub product: Option<Galerkin>,
    /// What is known of the unknowns of the next level.
    pub unknowns: Unknowns,
}

/// Adds all levels below the last one. Those that ranks share are recorded alone; rank 0 gathers the first that is small.
pub(super) fn coarsen<V: Wide>(
    amg: &Amg,
    set: &mut Levels<V>,
    mut unknowns: Unknowns,
    (rank, clock): (&Executor, &Clock<'_>),
    records: Option<&mut Vec<Record>>,
) -> Result<()> {
    if amg.coarse_filter < 1.0 {
        clock.note("coarse matrices are filtered: the cycle is not symmetric".to_owned());
    }
    let gathered_rows = amg.gathered_rows(rank)?;
    let is_small = |a: &LevelMatrix<V>| match a {
        LevelMatrix::OfRanks(a) => a.rows().total() as usize <= gathered_rows,
        LevelMatrix::Here(a) => a.size().rows <= amg.coarsest_rows || is_diagonal(a),
    };
    let add = |set: &mut Levels<V>,
               unknowns: &mut Unknowns,
               mut records: Option<&mut Vec<Record>>|
     -> Result<()> {
        while set.stalled.is_none() && set.levels.len() < amg.max_levels {
            let number = set.levels.len() - 1;
            let last = &mut set.levels[number];
            if is_small(&last.a) {
                break;
            }
            last.a = amg.shared_there(number, last.a.clone(), rank, clock)?;
            let records = records.as_deref_mut();
            match step(amg, number, &last.a, unknowns, clock, records)? {
                Err(reason) => set.stalled = Some(reason),
                Ok((transfer, radius, coarse)) => {
                    (last.transfer, last.radius) = (Some(transfer), radius);
                    set.levels
                        .push(Matrices::new(placed(coarse, amg.host_rows)?));
                }
            }
        }
        Ok(())
    };
    add(set, &mut unknowns, records)?;
    let number = set.levels.len() - 1;
    let LevelMatrix::OfRanks(a) = set.levels[number].a.clone() else {
        return Ok(());
    };
    let (whole, mut of_all) = {
        let _stage = clock.stage(number, "gathering")?;
        let host = a.executor().alone();
        let whole = a.gathered()?.map(|whole| whole.into_executor(&host));
        (a.team().agree(whole.transpose())?, unknowns.gathered(&a)?)
    };
    set.levels.pop();
    set.gathered = Some(GatheredLevel {
        number,
        rows: Arc::clone(a.rows()),
        leads: a.team().rank() == 0,
        stalled: set.stalled.clone(),
    });
    let led = whole.map(|whole| {
        let whole = Arc::new(amg.gathered_there(whole, rank)?);
        set.levels.push(Matrices::new(LevelMatrix::Here(whole)));
        add(set, &mut of_all, None)
    });
    a.team().agree(led.transpose())?;
    Ok(())
}

/// The transfer operators to the next level, the spectral radius of this one if it was found, the next matrix.
type Step<V> = (Transfer<V>, Option<f64>, LevelMatrix<V>);

/// The step from a level to the next, or why there is none. Where a level is, and in what numbers, is a matter of its matrix.
fn step<V: Wide>(
    amg: &Amg,
    level: usize,
    a: &LevelMatrix<V>,
    unknowns: &mut Unknowns,
    clock: &Clock<'_>,
    records: Option<&mut Vec<Record>>,
) -> Result<Result<Step<V>, String>> {
    clock.ws.check_end(a.executor().team())?;
    let stage = |name| clock.stage(level, name);
    let rows = a.rows();
    let mut amg = amg.for_level(level, rows);
    amg.strength = amg.strength_at(level);
    let amg = &amg;
    let interpolation = amg.interpolation.after(amg.coarsening)?;
    a.agree(amg.check_stages(interpolation, a))?;
    let is_used = !amg.coarsening.weighs() || interpolation != Interpolation::Tentative;
    let strength = is_used.then_some(amg.strength);
    let block = unknowns.node_rows(amg, level);
    let near = {
        let _stage = a.is_of_ranks().then(|| stage("overlap")).transpose()?;
        a.near(amg.rings(interpolation), block)?
    };
    let mut here = unknowns.near(&near.rows)?;
    let seen = a.agree(magnitudes(&near.matrix))?;
    let view = {
        let _stage = stage("strength")?;
        let rows = (seen.as_ref(), &near.rows);
        a.agree(View::new(amg, strength, rows, &here))?
    };
    let stalls = |count: usize| count as f64 > STALLED * rows as f64;
    let mut choice = {
        let _stage = stage("coarsening")?;
        let graph = Graph {
            a: view.matrix(),
            strength: view.strength(),
            aggregate_size: amg.aggregate_size,
            weak_pairs: amg.weak_pairs,
            seed: amg.seed,
            near: &view.rows,
            rank: a.executor(),
        };
        amg.coarsening.coarsen(&graph)?
    };
    if let Some(size) = amg.coarsening.or_uniform()
        && stalls(view.coarse_rows(choice.count(), &here))
    {
        choice = uniform_near(&view.rows, view.matrix().size().rows, size)?;
        clock.note(format!(
            "matching stalled on level {level}: groups of {size} by the numbering (`uniform`)"
        ));
    }
    let stages = LevelStages {
        amg,
        strength,
        interpolation,
        a,
        near: &near,
        next: None,
    };
    let mut fit = None;
    if interpolation.fits_vectors() {
        let _stage = stage("interpolation")?;
        (choice, fit) = fitted(&stages, choice, &view, &mut here)?;
    }
    let count = view.coarse_rows(choice.count(), &here);
    if count == 0 || stalls(count) {
        return Ok(Err(format!(
            "coarsening stalled on level {level}: {count} of {rows} unknowns are coarse"
        )));
    }
    let map = records.is_some().then(|| choice.coarse.map());
    let grouped = choice.coarse.is_grouped();
    let width = match (grouped, view.is_of_nodes()) {
        (true, _) => view.coarse_rows(1, &here),
        (false, true) => block,
        (false, false) => 1,
    };
    let next = choice.ranks.map(|ranks| ranks.multiplied(width));
    let stages = LevelStages {
        next: next.as_ref(),
        ..stages
    };
    let (own, made) = {
        let _stage = stage("interpolation")?;
        (
            stages.own_restriction(&choice.coarse, &here)?,
            stages.prolongation(&choice.coarse, fit, view, &mut here)?,
        )
    };
    let Prolongation {
        matrix: prolongation,
        own: columns,
        block,
        radius,
    } = made;
    *unknowns = match a.is_of_ranks() {
        true => here.own(columns, grouped || interpolation.fits_vectors()),
        false => here,
    };
    let _stage = stage("galerkin")?;
    // Restrictions of their own are not made of the same blocks.
    let block = own.as_ref().map_or(block, |_| Size::square(1));
    let restriction = match own {
        Some(own) => own,
        None => prolongation.adjoint()?,
    };
    let transfer = Transfer {
        restriction: restriction.scale(amg.restriction_scaling)?,
        prolongation,
    };
    let (coarse, product) = transfer.coarse(a, (block, amg.format), records.is_some())?;
    let coarse = with_filter(coarse, unknowns, amg.coarse_filter)?;
    if let (Some(records), Some(map)) = (records, map) {
        records.push(Record {
            map,
            block,
            product,
            unknowns: unknowns.clone(),
        });
    }
    Ok(Ok((transfer, radius, coarse)))
}

/// A matrix of some unknowns with fewer entries that does the same to their near-nullspace.
pub(super) fn with_filter<V: Wide>(
    a: LevelMatrix<V>,
    unknowns: &Unknowns,
    kept: f64,
) -> Result<LevelMatrix<V>> {
    let Some(own) = as_real(a.local()).filter(|_| kept < 1.0) else {
        return Ok(a);
    };
    let vectors = unknowns.test_vectors(own.size().rows);
    Ok(match &a {
        LevelMatrix::Here(_) => {
            LevelMatrix::Here(Arc::new(of_real(filtered(own, &vectors, kept)?)?))
        }
        LevelMatrix::OfRanks(a) => {
            let (rows, columns) = (a.rows(), a.columns());
            let vectors = vectors.iter().map(|own| spread_over(columns, own));
            let vectors: Vec<Vec<f64>> = vectors.collect::<Result<_>>()?;
            let shorter = a.team().agree(filtered(own, &vectors, kept))?;
            let (executor, shorter) = (a.executor(), of_real(shorter)?);
            let made = Distributed::of_numbered(executor, rows, rows, columns, shorter)?;
            LevelMatrix::OfRanks(Arc::new(made))
        }
    })
}

impl Amg {
    /// Rings of rows around the own ones that stages look at; of the next ring they know the unknowns. That is for
    /// interpolation over distance two, and for the roots of groups; interpolation of vectors goes as far as it is told. It
    /// asks what the rows of these rings strongly depend on, and some measures of that look at the rows on both sides of a
    /// coupling.
    fn rings(&self, interpolation: Interpolation) -> usize {
        if self.coarsening.aggregates() {
            return 1;
        }
        let distance = match interpolation.fits_vectors() {
            true => self.bamg.max_distance.saturating_sub(1),
            false => 1,
        };
        distance.max(1) + usize::from(self.strength.is_of_both_rows())
    }
}
