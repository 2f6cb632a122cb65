//! The set-up of all levels.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use super::amg::{Amg, Known};
use super::clock::Clock;
use super::coarsen::{Numbers, uniform};
use super::coarsest::is_diagonal;
use super::cycle::Cycles;
use super::near_nullspace::NearNullspace;
use super::precision::{of_levels, of_transfer};
use super::report::{LevelFacts, Report};
use super::restriction;
use super::scaling::{Normalised, scale_levels};
use super::stages::{Coarsened, Coarsening, Interpolation};
use super::stored::Overflows;
use super::systems::{Unknowns, View, in_blocks};
use super::working::{Matrices, Plan, Transfer, Working};
use crate::backend::gpu::{Gpu, setup::Queue};
use crate::config::{Precision, Unit};
use crate::error::{Error, Result};
use crate::executor::{Executor, Workspace};
use crate::linop::{Converted, Footprint, LinOp, Size, Transpose, check_square, entries};
use crate::matrix::{Csr, Galerkin, galerkin};
use crate::scalar::{Kind, Scalar, bf16, f16};
use crate::vector::Vector;

/// Coarsening that leaves more than this part of the unknowns is not worth a level.
const STALLED: f64 = 0.9;
/// Members of groups by the numbering where matching stalls: those of the largest matching.
const STALLED_GROUP: usize = 8;

/// All levels of a multigrid method; as an operator one cycle from a zero guess.
///
/// Made by [`Amg::hierarchy`], or by [`Amg`] as the factory of a preconditioner. It is immutable:
/// several threads may apply it at once, each with its own [`Workspace`].
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, multigrid::Amg};
/// let a = gallery::build("poisson5:64", &Executor::cpu())?.matrix;
/// let a: Arc<dyn LinOp<f64>> = Arc::new(a);
/// let hierarchy = Amg::default().hierarchy(&a, &Workspace::new())?;
/// println!("{hierarchy}");
/// assert!(hierarchy.report().operator_complexity() < 3.0);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Hierarchy<T: Scalar> {
    amg: Amg,
    cycle: Arc<dyn LinOp<T>>,
    full: Arc<dyn LinOp<T>>,
    report: Report,
    /// Bytes of all levels, without a finest matrix that is the caller's own.
    held: usize,
}

impl<T: Scalar> Hierarchy<T> {
    pub(super) fn new(
        amg: &Amg,
        a: &Arc<dyn LinOp<T>>,
        near_nullspace: &NearNullspace,
        ws: &Workspace,
    ) -> Result<Self> {
        let clock = Clock::new(ws, a.executor());
        let (amg, mut levels, unknowns) = analysed(amg, a, near_nullspace, &clock)?;
        let stalled = coarsen(&amg, &mut levels, unknowns, &clock, None)?;
        Self::of_levels(amg, a, levels, stalled, clock)
    }

    /// Makes smoothers and the coarsest solver for matrices that are there.
    pub(super) fn of_levels(
        amg: Amg,
        a: &Arc<dyn LinOp<T>>,
        mut levels: Vec<Matrices>,
        stalled: Option<String>,
        clock: Clock<'_>,
    ) -> Result<Self> {
        let rows = levels.iter().map(|level| level.a.size().rows);
        let precisions = of_levels(&amg, rows, unit_of(T::KIND)?)?;
        let symmetric = {
            let _stage = clock.stage(0, "analysis");
            amg.has_one_way_sweeps() && levels[0].a.symmetric_and_positive()?[0]
        };
        let smoothings = levels.iter().enumerate();
        let ready = smoothings
            .map(|(number, level)| amg.smoothing(number, level.a.size().rows))
            .all(|smoothing| smoothing.multiplies_alone());
        let mut report = report(&amg, &levels, &precisions, stalled);
        let factors = scale_levels(amg.scaling, &mut levels, &precisions)?;
        for (level, diagonal) in report.levels.iter_mut().zip(&factors.diagonals) {
            level.scaled = diagonal.is_some();
        }
        let mut plan = Plan {
            amg: &amg,
            given: a,
            executor: a.executor(),
            symmetric,
            precisions,
            levels,
            factors,
            overflows: Overflows::default(),
            ws: clock.ws,
            clock: &clock,
        };
        let shared = T::KIND == Kind::F64 && plan.precisions[0].is_double();
        let own = if shared { a.footprint().held } else { 0 };
        let made = outermost(&mut plan);
        plan.overflows.check()?;
        let [cycle, full] = made?;
        if let (Executor::Gpu(gpu), false) = (a.executor(), ready) {
            let _stage = clock.stage(0, "first cycle");
            first_cycle(cycle.as_ref(), gpu)?;
        }
        clock.tell(&mut report);
        Ok(Self {
            amg,
            cycle,
            full,
            held: report.bytes().saturating_sub(own),
            report,
        })
    }

    /// The parameters, every `auto` decided.
    pub fn amg(&self) -> &Amg {
        &self.amg
    }

    /// One pass of full multigrid (Brandt 1977), for a solver to start from: the coarsest level
    /// solves first, and every level improves by a cycle what it gets from the one below. Of a
    /// smooth solution it finds about as much as there is in the discretisation, for the work of
    /// about two cycles.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, multigrid::Amg};
    /// use vcycle::{solver::{Cg, Solver}, vector::Vector};
    /// let (cpu, ws) = (Executor::cpu(), Workspace::new());
    /// let a: Arc<dyn LinOp<f64>> = Arc::new(gallery::build("poisson5:64", &cpu)?.matrix);
    /// let hierarchy = Amg::default().hierarchy(&a, &ws)?;
    /// let b = Vector::filled(&cpu, 64 * 64, 1, 1.0)?;
    /// let mut x = Vector::zeros_like(&b)?;
    /// hierarchy.full_multigrid().apply(&b, &mut x, &ws)?;
    /// let solver = Solver::new(Cg::default(), a)?.with_preconditioner(Arc::new(hierarchy))?;
    /// assert!(solver.solve(&b, &mut x)?.converged());
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    pub fn full_multigrid(&self) -> &Arc<dyn LinOp<T>> {
        &self.full
    }

    /// The levels in numbers.
    pub fn report(&self) -> &Report {
        &self.report
    }
}

/// Applies a cycle once, so that what smoothers are made of travels to the device now.
fn first_cycle<T: Scalar>(cycle: &dyn LinOp<T>, gpu: &Gpu) -> Result<()> {
    let b = Vector::<T>::zeros(cycle.executor(), cycle.size().rows, 1)?;
    let mut x = Vector::zeros_like(&b)?;
    cycle.apply(&b, &mut x, &Workspace::new())?;
    Ok(gpu.device().synchronize()?)
}

/// The real storage types, as precisions.
fn unit_of(kind: Kind) -> Result<Unit> {
    match kind {
        Kind::F64 => Ok(Unit::Double),
        Kind::F32 => Ok(Unit::Single),
        Kind::F16 => Ok(Unit::Half),
        Kind::Bf16 => Ok(Unit::Bfloat),
        Kind::C64 | Kind::C32 => Err(Error::Unsupported {
            component: "amg".to_owned(),
            operation: "complex matrices".to_owned(),
        }),
    }
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
            on_device: matches!(a.executor(), Executor::Gpu(_)),
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

/// The matrix in double precision, checked: the given one itself if it is that already; on the host if
/// it has less than `host_rows`.
pub(super) fn finest<T: Scalar>(host_rows: usize, a: &Arc<dyn LinOp<T>>) -> Result<Arc<Csr<f64>>> {
    unit_of(T::KIND)?;
    check_square(a.as_ref(), "amg")?;
    let shared: Arc<dyn std::any::Any + Send + Sync> = Arc::clone(a) as _;
    let finest = match shared.downcast::<Csr<f64>>() {
        Ok(same) => same,
        Err(_) => Arc::new(entries(a.as_ref(), "amg")?.convert()?),
    };
    let finest = match moves(&finest, host_rows) {
        true => Arc::new(finest.copy_to(&a.executor().on_host())?),
        false => finest,
    };
    let largest = finest.largest_entry()?;
    if !largest.is_finite() {
        finest.check_finite()?;
    }
    if finest.size().rows > 0 && largest == 0.0 {
        return Err(Error::Singular {
            component: "amg",
            reason: "all entries are zero".to_owned(),
        });
    }
    Ok(finest)
}

/// Whether a matrix is on a device and too small for it.
fn moves(a: &Csr<f64>, host_rows: usize) -> bool {
    matches!(a.executor(), Executor::Gpu(_)) && a.size().rows < host_rows
}

impl Amg {
    /// The matrix where the next level is set up.
    pub(super) fn placed(&self, a: Csr<f64>) -> Result<Csr<f64>> {
        match moves(&a, self.host_rows) {
            true => a.copy_to(&a.executor().on_host()),
            false => Ok(a),
        }
    }
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

/// Adds all levels below the last one; why there are no more if that is not small then.
pub(super) fn coarsen(
    amg: &Amg,
    levels: &mut Vec<Matrices>,
    mut unknowns: Unknowns,
    clock: &Clock<'_>,
    mut records: Option<&mut Vec<Record>>,
) -> Result<Option<String>> {
    let is_small = |a: &Csr<f64>| a.size().rows <= amg.coarsest_rows || is_diagonal(a);
    if amg.coarse_filter < 1.0 {
        clock.note("coarse matrices are filtered: the cycle is not symmetric".to_owned());
    }
    while levels.len() < amg.max_levels {
        let number = levels.len() - 1;
        let last = &mut levels[number];
        if is_small(&last.a) {
            break;
        }
        let records = records.as_deref_mut();
        match step(amg, number, &last.a, &mut unknowns, clock, records)? {
            Err(reason) => return Ok(Some(reason)),
            Ok((transfer, radius, coarse)) => {
                (last.transfer, last.radius) = (Some(transfer), radius);
                levels.push(Matrices::new(Arc::new(amg.placed(coarse)?)));
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
        clock.note(format!(
            "matching stalled on level {level}: groups of {STALLED_GROUP} by the numbering (`uniform`)"
        ));
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
            restriction::own(amg, stages, a, &coarsened, unknowns)?,
            coarsened.prolongation(interpolation, view, amg, unknowns)?,
        )
    };
    let _stage = stage("galerkin");
    let keep = records.is_some();
    let ways = (own, &prolongation);
    let (restriction, coarse, product) = product(a, ways, block, amg.restriction_scaling, keep)?;
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

/// `R = scaling P^T`, unless `R` is given, and `R A P`, by blocks if they are larger than an entry and
/// `A` is made of them; else with the symbolic phase if it is to be kept.
pub(super) fn product(
    a: &Csr<f64>,
    (own, p): (Option<Csr<f64>>, &Csr<f64>),
    block: Size,
    scaling: f64,
    keep: bool,
) -> Result<(Csr<f64>, Csr<f64>, Option<Galerkin>)> {
    let scaled = |r: Csr<f64>| match scaling {
        1.0 => Ok(r),
        factor => r.scale(factor),
    };
    if own.is_none()
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
    if !keep {
        let coarse = galerkin(&r, a, p)?;
        return Ok((r, coarse, None));
    }
    let symbolic = Galerkin::symbolic(&r, a, p)?;
    let coarse = symbolic.numeric(&r, a, p)?;
    Ok((r, coarse, Some(symbolic)))
}

/// Ones on the diagonal of rows without entries: those of modes that depend on others in their
/// group, to which nothing is restricted.
pub(super) fn without_empty_rows(coarse: Csr<f64>) -> Result<Csr<f64>> {
    if let Some(queue) = Queue::of(coarse.executor())
        && !coarse.pattern().has_empty_rows(&queue)?
    {
        return Ok(coarse);
    }
    let empty = |row: usize| coarse.pattern().range(row).is_empty();
    let rows = coarse.size().rows;
    if !(0..rows).any(empty) {
        return Ok(coarse);
    }
    let ones = Csr::identity(coarse.executor(), rows).filter(|row, _, _: f64| empty(row))?;
    coarse.add(1.0, 1.0, &ones)
}

fn report(
    amg: &Amg,
    levels: &[Matrices],
    precisions: &[Precision],
    stalled: Option<String>,
) -> Report {
    let last = levels.last().expect("there is a finest level");
    let coarsest = amg.for_level(levels.len() - 1, last.a.size().rows).coarsest;
    let coarsest = coarsest.of(&last.a).name();
    let facts = |(number, level): (usize, &Matrices)| {
        let precision = precisions[number];
        let next = *precisions.get(number + 1).unwrap_or(&precision);
        let transfer_unit = of_transfer(precision, next);
        let ways = level.transfer.as_ref();
        LevelFacts {
            rows: level.a.size().rows,
            nonzeros: level.a.nonzeros(),
            transfer_nonzeros: ways.map_or(0, |ways| ways.prolongation.nonzeros()),
            precision,
            smoother: match ways {
                None => coarsest.to_owned(),
                Some(_) => amg.smoothing(number, level.a.size().rows).to_string(),
            },
            scaled: false,
            bytes: stored_bytes(&level.a, precision.matrix)
                + ways.map_or(0, |ways| {
                    stored_bytes(&ways.prolongation, transfer_unit)
                        + stored_bytes(&ways.restriction, transfer_unit)
                }),
            setup: Vec::new(),
        }
    };
    Report {
        levels: levels.iter().enumerate().map(facts).collect(),
        coarsest,
        stalled,
        notes: Vec::new(),
    }
}

fn stored_bytes(matrix: &Csr<f64>, unit: Unit) -> usize {
    let value = unit.kind(false).map_or(0, Kind::bytes);
    matrix.pattern().bytes() + matrix.nonzeros() * value
}

/// The cycle of the finest level for vectors of `T`, and full multigrid.
fn outermost<T: Scalar>(plan: &mut Plan<'_>) -> Result<[Arc<dyn LinOp<T>>; 2]> {
    match plan.precisions[0].working {
        Unit::Double => converted::<f64, T>(plan),
        Unit::Single => converted::<f32, T>(plan),
        Unit::Half => converted::<f16, T>(plan),
        Unit::Bfloat => converted::<bf16, T>(plan),
    }
}

fn converted<W: Working, T: Scalar>(plan: &mut Plan<'_>) -> Result<[Arc<dyn LinOp<T>>; 2]> {
    let Cycles { shaped, full, .. } = W::cycles(plan, 0)?;
    Ok([for_vectors(plan, shaped)?, for_vectors(plan, full)?])
}

/// A cycle of the finest level for vectors of `T`.
fn for_vectors<W: Working, T: Scalar>(
    plan: &Plan<'_>,
    cycle: Arc<dyn LinOp<W>>,
) -> Result<Arc<dyn LinOp<T>>> {
    let cycle = plan.rescaled(cycle)?;
    let any: &dyn std::any::Any = &cycle;
    let inner: Arc<dyn LinOp<T>> = match any.downcast_ref::<Arc<dyn LinOp<T>>>() {
        Some(same) => return Ok(Arc::clone(same)),
        None => Arc::new(Converted::new(cycle)?),
    };
    match plan.amg.scaling.normalises(T::KIND, W::KIND) {
        true => Ok(Arc::new(Normalised { inner })),
        false => Ok(inner),
    }
}

impl<T: Scalar> LinOp<T> for Hierarchy<T> {
    fn size(&self) -> Size {
        self.cycle.size()
    }

    fn executor(&self) -> &Executor {
        self.cycle.executor()
    }

    fn apply(&self, x: &Vector<T>, y: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let _stage = ws.stage_of("level 0", || self.cycle.footprint().moved);
        self.cycle.apply(x, y, ws)
    }

    fn apply_transposed(
        &self,
        mode: Transpose,
        x: &Vector<T>,
        y: &mut Vector<T>,
        ws: &Workspace,
    ) -> Result<()> {
        self.cycle.apply_transposed(mode, x, y, ws)
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            held: self.held,
            ..self.cycle.footprint()
        }
    }
}

impl<T: Scalar> Display for Hierarchy<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.report.fmt(f)
    }
}
