//! The hierarchy: an operator whose application is one cycle through the levels that
//! [`setup`](super::setup) makes.

use std::fmt::{Display, Formatter};

use vcycle_kernels::compiled;

use super::amg::Amg;
use super::clock::Clock;
use super::finest::no_complex;
use super::for_level;
use super::matrices::LevelMatrix;
use super::near_nullspace::NearNullspace;
use super::outermost::Outermost;
use super::precision::of_transfer;
use super::report::{LevelFacts, Report};
use super::scaling::{Factors, scale_levels};
use super::setup::{Levels, analysed, coarsen};
use super::stored::Overflows;
use super::wide::Wide;
use super::working::Plan;
use crate::precision::{Precision, Unit};
use crate::prelude::*;

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
    fn new(
        amg: &Amg,
        a: &Arc<dyn LinOp<T>>,
        near_nullspace: &NearNullspace,
        ws: &Workspace,
    ) -> Result<Self> {
        let _stage = ws.stage("amg set-up", 0);
        amg.check(near_nullspace)?;
        let clock = Clock::new(ws, a.executor());
        match const { T::KIND.is_complex() } {
            true => Self::set_up::<c64>(amg, a, near_nullspace, clock),
            false => Self::set_up::<f64>(amg, a, near_nullspace, clock),
        }
    }

    /// In double precision, real or complex.
    fn set_up<V: Outermost>(
        amg: &Amg,
        a: &Arc<dyn LinOp<T>>,
        near_nullspace: &NearNullspace,
        clock: Clock<'_>,
    ) -> Result<Self> {
        // A constant: nothing more is compiled for real levels of complex matrices.
        if const { T::KIND.is_complex() != V::KIND.is_complex() } {
            return Err(no_complex());
        }
        let (amg, finest, unknowns) = analysed::<T, V>(amg, a, near_nullspace, &clock)?;
        let mut set = Levels::new(finest);
        coarsen(&amg, &mut set, unknowns, (a.executor(), &clock), None)?;
        Self::of_levels(amg, a, set, clock)
    }

    /// Makes smoothers and the coarsest solver for matrices that are there.
    pub(super) fn of_levels<V: Outermost>(
        amg: Amg,
        a: &Arc<dyn LinOp<T>>,
        set: Levels<V>,
        clock: Clock<'_>,
    ) -> Result<Self> {
        if const { T::KIND.is_complex() != V::KIND.is_complex() } {
            return Err(no_complex());
        }
        let rows = all_rows(&set);
        let precisions = for_level::precisions(&amg, rows.iter().copied(), Unit::of(T::KIND))?;
        let symmetric = {
            let _stage = clock.stage(0, "analysis")?;
            let alone = set.levels.first().filter(|_| set.gathered.is_none());
            match alone {
                Some(finest) if amg.has_one_way_sweeps() => finest.a.symmetric_and_positive()?[0],
                _ => false,
            }
        };
        let smoothings = rows.iter().enumerate();
        let ready = smoothings
            .map(|(number, &rows)| amg.smoothing(number, rows))
            .all(|smoothing| smoothing.multiplies_alone());
        let mut report = report(&amg, &set, &precisions)?;
        let Levels {
            mut levels,
            gathered,
            ..
        } = set;
        let factors = match &gathered {
            None => scale_levels(amg.scaling, &mut levels, &precisions)?,
            Some(_) => Factors::none(rows.len()),
        };
        for (level, diagonal) in report.levels.iter_mut().zip(&factors.diagonals) {
            level.scaled = diagonal.is_some();
        }
        let executor = match &gathered {
            None => a.executor().clone(),
            Some(_) => a.executor().gathering(),
        };
        let mut plan = Plan {
            amg: &amg,
            given: a,
            executor: &executor,
            // Cycles run where the matrix was given, though the host may have set them up.
            rank: a.executor(),
            symmetric,
            precisions,
            gathered,
            levels,
            factors,
            overflows: Overflows::default(),
            formats: vec![String::new(); rows.len()],
            ws: clock.ws,
            clock: &clock,
        };
        let is_own = T::KIND == V::KIND && plan.precisions[0].is_double();
        let own = if is_own { a.footprint().held } else { 0 };
        let made = V::outermost(&mut plan);
        a.executor().agree(plan.overflows.check())?;
        for (level, format) in report.levels.iter_mut().zip(&mut plan.formats) {
            level.format = std::mem::take(format);
        }
        let [cycle, full] = made?;
        if a.executor().is_device() && !ready {
            let _stage = clock.stage(0, "first cycle")?;
            first_cycle(cycle.as_ref())?;
        }
        clock.report(&mut report);
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

    /// As an operator.
    pub fn shared(self) -> Arc<dyn LinOp<T>> {
        compiled!(working T: fn(Hierarchy<T>) -> Arc<dyn LinOp<T>> = |own| Arc::new(own))(self)
    }

    /// The levels in numbers.
    pub fn report(&self) -> &Report {
        &self.report
    }
}

impl Amg {
    /// Sets up all levels for `a`.
    ///
    /// # Errors
    /// For matrix-free operators, stages that are not for complex ones, matrices that are not square, not finite or zero,
    /// parameters that do not go together, entries that a level's precision cannot hold, a
    /// smoother that cannot be set up, and when memory is short.
    pub fn hierarchy<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        ws: &Workspace,
    ) -> Result<Hierarchy<T>> {
        self.hierarchy_with(a, &NearNullspace::components(self.block_size)?, ws)
    }

    /// Sets up all levels for `a`, which nearly annihilates given vectors.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use vcycle::{executor::{Executor, Workspace}, gallery, linop::LinOp, multigrid::Amg};
    /// let problem = gallery::build("elasticity:12x6x6", &Executor::cpu())?;
    /// let mut amg = Amg::default();
    /// amg.coarsening = "sa".parse()?;
    /// let a: Arc<dyn LinOp<f64>> = Arc::new(problem.matrix);
    /// let modes = problem.near_nullspace.expect("rigid bodies");
    /// let hierarchy = amg.hierarchy_with(&a, &modes, &Workspace::new())?;
    /// assert_eq!(hierarchy.report().levels[1].rows % 6, 0);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`hierarchy`](Self::hierarchy), and when the vectors are of the wrong length or their
    /// block size is not that of the parameters, where these have one.
    pub fn hierarchy_with<T: Scalar>(
        &self,
        a: &Arc<dyn LinOp<T>>,
        near_nullspace: &NearNullspace,
        ws: &Workspace,
    ) -> Result<Hierarchy<T>> {
        compiled!(working T: fn(&Amg, &Arc<dyn LinOp<T>>, &NearNullspace, &Workspace) -> Result<Hierarchy<T>>
            = Hierarchy::new)(self, a, near_nullspace, ws)
    }
}

impl<T: Scalar> Factory<T> for Amg {
    fn generate(&self, a: &Arc<dyn LinOp<T>>, ws: &Workspace) -> Result<Arc<dyn LinOp<T>>> {
        Ok(self.hierarchy(a, ws)?.shared())
    }
}

/// Applies a cycle once, so that what smoothers are made of travels to the device now.
fn first_cycle<T: Scalar>(cycle: &dyn LinOp<T>) -> Result<()> {
    let b = Vector::<T>::zeros(cycle.executor(), cycle.size().rows, 1)?;
    let mut x = Vector::zeros_like(&b)?;
    cycle.apply(&b, &mut x, &Workspace::new())?;
    cycle.executor().synchronize()
}

/// The rows of all levels. Those that another rank has gathered count as one.
fn all_rows<V: Wide>(set: &Levels<V>) -> Vec<usize> {
    let elsewhere = set.gathered.iter().filter(|gathered| !gathered.leads);
    let elsewhere = elsewhere.map(|gathered| gathered.rows.total() as usize);
    let here = set.levels.iter().map(|level| level.a.rows());
    here.chain(elsewhere).collect()
}

fn report<V: Wide>(amg: &Amg, set: &Levels<V>, precisions: &[Precision]) -> Result<Report> {
    let own = set.levels.last().filter(|last| !last.a.is_of_ranks());
    let coarsest = own.map_or("gathered", |last| {
        let number = set.levels.len() - 1;
        let coarsest = amg.for_level(number, last.a.rows()).coarsest;
        coarsest.of(last.a.local()).name()
    });
    let mut levels = Vec::new();
    for (number, level) in set.levels.iter().enumerate() {
        let precision = precisions[number];
        let next = *precisions.get(number + 1).unwrap_or(&precision);
        let unit = of_transfer(precision, next);
        let stored = |matrix: &LevelMatrix<V>, unit| stored_bytes(matrix.local(), unit);
        let transfer = level.transfer.as_ref();
        let nonzeros = transfer.map(|transfer| transfer.prolongation.nonzeros());
        levels.push(LevelFacts {
            rows: level.a.rows(),
            nonzeros: level.a.nonzeros()?,
            transfer_nonzeros: nonzeros.transpose()?.unwrap_or(0),
            precision,
            format: String::new(),
            smoother: match transfer {
                None => coarsest.to_owned(),
                Some(_) => amg.smoothing(number, level.a.rows()).to_string(),
            },
            scaled: false,
            bytes: stored(&level.a, precision.matrix)
                + transfer.map_or(0, |transfer| {
                    stored(&transfer.prolongation, unit) + stored(&transfer.restriction, unit)
                }),
            setup: Vec::new(),
            part: level.a.part(),
        });
    }
    Ok(Report {
        levels,
        coarsest,
        stalled: set.stalled.clone(),
        notes: Vec::new(),
    })
}

fn stored_bytes<V: Scalar>(matrix: &Csr<V>, unit: Unit) -> usize {
    let value = unit.kind(V::KIND.is_complex()).map_or(0, Kind::bytes);
    matrix.pattern().bytes() + matrix.nonzeros() * value
}

impl<T: Scalar> LinOp<T> for Hierarchy<T> {
    forward!(cycle: size, executor);

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
