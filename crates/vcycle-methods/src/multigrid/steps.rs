//! Runs the stages level by level: from a matrix to the matrices and transfers of all levels.

use std::sync::Arc;

use super::amg::{Amg, Known};
use super::clock::Clock;
use super::coarsen::{Coarsening, Numbers, uniform};
use super::coarsened::Coarsened;
use super::coarsest::is_diagonal;
use super::finest::{finest, placed};
use super::interpolate::Interpolation;
use super::near_nullspace::NearNullspace;
use super::stages::own_restriction;
use super::systems::{Unknowns, View, in_blocks};
use super::working::{Matrices, Transfer};
use crate::error::Result;
use crate::linop::{LinOp, Size};
use crate::matrix::{Csr, Galerkin, galerkin};
use crate::operations::entries::has_empty_rows;
use crate::scalar::{Field, Scalar};

/// Coarsening that leaves more than this part of the unknowns is not worth a level.
pub(super) const STALLED: f64 = 0.9;
/// Members of groups by the numbering where matching stalls: those of the largest matching.
pub(super) const STALLED_GROUP: usize = 8;

/// Says that groups are those of the numbering.
pub(super) fn matching_stalled(level: usize) -> String {
    format!(
        "matching stalled on level {level}: groups of {STALLED_GROUP} by the numbering (`uniform`)"
    )
}

/// The parameters, every `auto` decided, the finest level, and what is known of its unknowns.
pub(super) fn analysed<T: Scalar>(
    amg: &Amg,
    given: &Arc<dyn LinOp<T>>,
    near_nullspace: &NearNullspace,
    clock: &Clock<'_>,
) -> Result<(Amg, Vec<Matrices>, Unknowns)> {
    let _stage = clock.stage(0, "analysis");
    let amg = amg.searching(near_nullspace);
    let a = finest(amg.host_rows_needed(), given)?;
    check_room(&a)?;
    let amg = amg.decided_by(|| {
        Ok(Known {
            definite: a.symmetric_and_positive()? == [true; 2],
            in_rounds: a.executor().is_device(),
            jumps: near_nullspace.block_size() == 1 && a.has_jumps()?,
        })
    })?;
    amg.check_levels(near_nullspace)?;
    near_nullspace.check(a.size().rows)?;
    let unknowns = match &amg.test_space {
        None => Unknowns::new(near_nullspace),
        Some(search) => Unknowns::new(&search.near_nullspace(given, near_nullspace, clock.ws)?),
    };
    Ok((amg, vec![Matrices::new(a)], unknowns))
}

/// Fails before anything is made where a device has no room even for the first steps: a weight for every
/// entry and a few numbers for every row.
fn check_room(a: &Csr<f64>) -> Result<()> {
    let (weights, rows) = (a.nonzeros() * size_of::<f32>(), a.size().rows);
    a.executor()
        .check_room(weights + rows * 4 * size_of::<f64>())
}

/// What a step to the next level leaves for those who ask for it.
#[derive(Debug)]
pub(super) struct Record {
    /// For every unknown (or node) its number, or that of its group, on the next level.
    pub map: Numbers,
    /// The blocks of the prolongation.
    pub block: Size,
    /// The symbolic phase of the product, unless that was formed by blocks.
    pub product: Option<Galerkin>,
    /// What is known of the unknowns of the next level.
    pub unknowns: Unknowns,
}

/// Adds all levels below the last one; why there are no more if that is not small then. So many levels are `above` the
/// first one.
pub(super) fn coarsen(
    amg: &Amg,
    above: usize,
    levels: &mut Vec<Matrices>,
    mut unknowns: Unknowns,
    clock: &Clock<'_>,
    mut records: Option<&mut Vec<Record>>,
) -> Result<Option<String>> {
    let is_small = |a: &Csr<f64>| a.size().rows <= amg.coarsest_rows || is_diagonal(a);
    if amg.coarse_filter < 1.0 {
        clock.note("coarse matrices are filtered: the cycle is not symmetric".to_owned());
    }
    while above + levels.len() < amg.max_levels {
        let place = levels.len() - 1;
        let (number, last) = (above + place, &mut levels[place]);
        if is_small(&last.a) {
            break;
        }
        let records = records.as_deref_mut();
        match step(amg, number, &last.a, &mut unknowns, clock, records)? {
            Err(reason) => return Ok(Some(reason)),
            Ok((transfer, radius, coarse)) => {
                (last.transfer, last.radius) = (Some(transfer), radius);
                levels.push(Matrices::new(Arc::new(placed(coarse, amg.host_rows)?)));
            }
        }
    }
    Ok(None)
}

/// The way to the next level, the spectral radius of this one if it was found, the next matrix.
type Step = (Transfer, Option<f64>, Csr<f64>);

/// The step from a level to the next, or why there is none.
fn step(
    amg: &Amg,
    level: usize,
    a: &Csr<f64>,
    unknowns: &mut Unknowns,
    clock: &Clock<'_>,
    records: Option<&mut Vec<Record>>,
) -> Result<Result<Step, String>> {
    let stage = |name| clock.stage(level, name);
    let rows = a.size().rows;
    let mut amg = amg.for_level(level, rows);
    amg.strength = amg.strength_at(level);
    let amg = &amg;
    let interpolation = amg.interpolation.after(amg.coarsening)?;
    let is_used = !amg.coarsening.weighs() || interpolation != Interpolation::Tentative;
    let strength = is_used.then_some(amg.strength);
    let view = {
        let _stage = stage("strength");
        View::new(amg.systems, amg.coarsening, strength, a, unknowns)?
    };
    let stalls = |count: usize| count as f64 > STALLED * rows as f64;
    let mut coarsened = {
        let _stage = stage("coarsening");
        Coarsened::new(amg, view.matrix(), view.strength())?
    };
    if amg.coarsening == Coarsening::Pgm && stalls(view.coarse_rows(coarsened.count(), unknowns)) {
        let nodes = view.matrix().size().rows;
        coarsened = Coarsened::Grouped(uniform(nodes, STALLED_GROUP)?);
        clock.note(matching_stalled(level));
    }
    if interpolation.fits_vectors() {
        let _stage = stage("interpolation");
        coarsened = coarsened.fitted(interpolation, &view, amg, unknowns)?;
    }
    let count = view.coarse_rows(coarsened.count(), unknowns);
    if count == 0 || stalls(count) {
        return Ok(Err(format!(
            "coarsening stalled on level {level}: {count} of {rows} unknowns are coarse"
        )));
    }
    let map = coarsened.map();
    let (own, (prolongation, block, radius)) = {
        let _stage = stage("interpolation");
        let stages = (strength, interpolation);
        (
            own_restriction(amg, stages, a, &coarsened, unknowns)?,
            coarsened.prolongation(interpolation, view, amg, unknowns)?,
        )
    };
    let _stage = stage("galerkin");
    let keep = records.is_some();
    let ways = (own, &prolongation);
    let (restriction, coarse, product) = product(amg, a, ways, block, keep)?;
    if let Some(records) = records {
        records.push(Record {
            map,
            block,
            product,
            unknowns: unknowns.clone(),
        });
    }
    let transfer = Transfer {
        restriction: Arc::new(restriction),
        prolongation: Arc::new(prolongation),
    };
    let coarse = without_empty_rows(coarse)?;
    Ok(Ok((
        transfer,
        radius,
        unknowns.filtered(coarse, amg.coarse_filter)?,
    )))
}

/// `R = scaling P^T`, unless `R` is given, and `R A P`, by blocks if they are larger than an entry and the matrices are made of
/// them; else with the symbolic phase if it is to be kept. Devices find their blocks themselves, or multiply in tiles.
pub(super) fn product(
    amg: &Amg,
    a: &Csr<f64>,
    (own, p): (Option<Csr<f64>>, &Csr<f64>),
    block: Size,
    keep: bool,
) -> Result<(Csr<f64>, Csr<f64>, Option<Galerkin>)> {
    let scaled = |r: Csr<f64>| match amg.restriction_scaling {
        1.0 => Ok(r),
        factor => r.scale(factor),
    };
    if own.is_none()
        && !a.executor().is_device()
        && let Some((a, p)) = in_blocks(a, p, block)
    {
        let r = p.transpose()?;
        let coarse = r.multiply(&a.multiply(&p)?)?.rows()?;
        return Ok((scaled(r.rows()?)?, scaled(coarse)?, None));
    }
    let r = match own {
        Some(own) => scaled(own)?,
        None => scaled(p.transpose()?)?,
    };
    if let Some(coarse) = amg.format.galerkin(&r, a, p)? {
        return Ok((r, coarse, None));
    }
    // Of products in blocks no symbolic phase is kept.
    let is_in_blocks = block != Size::square(1) && meet_in_blocks(&r, a, p)?;
    if is_in_blocks || !keep {
        let coarse = galerkin(&r, a, p)?;
        return Ok((r, coarse, None));
    }
    let symbolic = Galerkin::symbolic(&r, a, p)?;
    let coarse = symbolic.numeric(&r, a, p)?;
    Ok((r, coarse, Some(symbolic)))
}

/// Whether a device multiplies with all three in blocks that meet each other: then it forms their product in these. The cycles
/// need to know the blocks, too.
fn meet_in_blocks(r: &Csr<f64>, a: &Csr<f64>, p: &Csr<f64>) -> Result<bool> {
    let blocks = (r.device_block()?, a.device_block()?, p.device_block()?);
    let meet = |one: usize, other: usize| one.is_multiple_of(other) || other.is_multiple_of(one);
    Ok(match blocks {
        (Some(r), Some(a), Some(p)) => meet(r.cols, a.rows) && meet(a.cols, p.rows),
        _ => false,
    })
}

/// Ones on the diagonal of rows without entries: those of modes that depend on others in their
/// group, to which nothing is restricted.
pub(super) fn without_empty_rows<V: Field>(coarse: Csr<V>) -> Result<Csr<V>> {
    if has_empty_rows(coarse.pattern())? == Some(false) {
        return Ok(coarse);
    }
    let empty = |row: usize| coarse.pattern().range(row).is_empty();
    let rows = coarse.size().rows;
    if !(0..rows).any(empty) {
        return Ok(coarse);
    }
    let ones = Csr::identity(coarse.executor(), rows).filter(|row, _, _: V| empty(row))?;
    coarse.add(V::one(), V::one(), &ones)
}
