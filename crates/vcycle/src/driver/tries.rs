//! Tries one combination of solver and preconditioner after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vcycle_core::matrix::{StoredMatrix, WorkingScalar};
use vcycle_core::operations::HostStages;

use super::auto::{Attempt, attempts};
use super::projection::Projection;
use super::refine::refine;
use super::sequence::Kept;
use super::storage::{Wide, format_of, store_matrix};
use super::{Solution, System};
use crate::configuration::{Config, PreconditionerConfig, RunConfig, SolverConfig, Unit};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::{LinOp, Size, check_size};
use crate::matrix::Csr;
use crate::multigrid::{Amg, Hierarchy, LevelPrecisions, NearNullspace, Report};
use crate::registration::Need;
use crate::scalar::{Kind, Real};
use crate::solver::{Solver, SolverFactory};
use crate::stop::{Outcome, Part, Status, Stop};
use crate::structured::{StencilMatrix, StructMg};
use crate::vector::Vector;

/// Iterations after which multigrid that has not converged is given up, if there is a choice.
const MULTIGRID_TRIAL: usize = 200;
/// Iterations after which anything else is given up if a factorisation can be tried.
const TRIAL: usize = 1000;

/// Tries one attempt after the other with vectors of `W`.
pub(super) struct Tries<'d, T: Wide, W: WorkingScalar<Wide = T>> {
    config: &'d Config,
    a: &'d Arc<Csr<T>>,
    near_nullspace: Option<&'d NearNullspace>,
    given: Option<&'d Vector<T>>,
    nullspace: Option<Projection>,
    kept: Option<&'d mut Kept>,
    matrix: StoredMatrix<W>,
    /// The matrix as a stencil, where that had to be known to choose a solver.
    stencil: Option<Arc<StencilMatrix<f64>>>,
    stop: Stop,
    attempts: Vec<Attempt>,
    ws: &'d Workspace,
    messages: Vec<String>,
    begin: Instant,
    setup: Duration,
    multigrid: Option<Report>,
    /// The parameters of multigrid with every `auto` decided.
    decided: Option<PreconditionerConfig>,
    /// What finds the initial guess, if that is not zero.
    start: Option<Arc<dyn LinOp<W>>>,
}

impl<'d, T: Wide, W: WorkingScalar<Wide = T>> Tries<'d, T, W> {
    pub(super) fn new(
        config: &'d Config,
        system: &'d System<T>,
        kept: Option<&'d mut Kept>,
        ws: &'d Workspace,
    ) -> Result<Self> {
        let a = &system.matrix;
        let begin = Instant::now();
        let stage = ws.stage("analysis", 0);
        let stop = config.stop.stop()?;
        let near_nullspace = system.near_nullspace.as_ref();
        let block_size = near_nullspace.map_or(1, NearNullspace::block_size);
        let unit = config.precision.unwrap_or_default().matrix;
        let matrix = store_matrix(a, unit, config.format, block_size)?;
        let stencil = stencil_of(config, a.as_ref());
        let attempts = attempts(config, near_nullspace, || match &stencil {
            Some(stencil) if stencil.is_symmetric_and_positive() => system.definite_facts(),
            _ => system.facts(),
        });
        let nullspace = Projection::new(config.nullspace, a, near_nullspace)?;
        drop(stage);
        Ok(Self {
            config,
            a,
            near_nullspace,
            given: system.guess.as_ref(),
            nullspace,
            kept,
            matrix,
            stencil,
            stop,
            attempts,
            ws,
            messages: Vec::new(),
            begin,
            setup: begin.elapsed(),
            multigrid: None,
            decided: None,
            start: None,
        })
    }

    pub(super) fn solve(mut self, b: &Vector<T>) -> Result<Solution<T>> {
        let fitting = Size::new(self.a.size().rows, b.cols());
        check_size("right-hand side", fitting, b.size())?;
        if let Some(guess) = self.given {
            b.executor().check_same(guess.executor(), "initial guess")?;
            check_size("initial guess", fitting, guess.size())?;
        }
        let consistent = self.consistent(b)?;
        let b = consistent.as_ref().unwrap_or(b);
        let mut place = 0;
        loop {
            let attempt = self.attempts[place].clone();
            if !attempt.reason.is_empty() {
                self.messages.push(attempt.reason.clone());
            }
            let solver = match self.set_up(&attempt) {
                Ok(solver) => solver,
                Err(error) if place + 1 < self.attempts.len() => {
                    self.messages.push(format!("set-up failed: {error}"));
                    place += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut x = self.guess(b)?;
            let outcome = self.iterate(place, &solver, b, &mut x)?;
            if let (Some(_), Some(first)) = (&self.start, outcome.history.first()) {
                let told = format!("full multigrid start: relative residual {first:.1e}");
                self.messages.push(told);
            }
            if let Some(nullspace) = &self.nullspace {
                nullspace.project(&mut x)?;
            }
            if outcome.status == Status::NonFinite {
                self.messages.extend(origin(&solver, b, &x));
            }
            match self.next(place, outcome.status) {
                Some(next) => {
                    let name = attempt.solver.name();
                    let why = outcome.status.explanation();
                    let (count, residual) = (outcome.iterations, outcome.relative_residual);
                    self.messages.push(format!(
                        "{name}: {} after {count} iterations, residual {residual:.1e}: {why}",
                        outcome.status
                    ));
                    place = next;
                }
                None => {
                    self.explain(&attempt, outcome.status);
                    return Ok(self.finish(&attempt, &solver, x, outcome));
                }
            }
        }
    }

    /// Of a singular system the part of `b` that has a solution.
    fn consistent(&mut self, b: &Vector<T>) -> Result<Option<Vector<T>>> {
        let Some(nullspace) = &self.nullspace else {
            return Ok(None);
        };
        let (consistent, message) = nullspace.consistent(b)?;
        self.messages.push(message);
        Ok(Some(consistent))
    }

    /// What was given, or zero, or what full multigrid finds.
    fn guess(&mut self, b: &Vector<T>) -> Result<Vector<T>> {
        if let Some(guess) = self.given {
            self.start = None;
            return Ok(guess.clone());
        }
        let mut x = Vector::<T>::zeros_like(b)?;
        if let Some(start) = &self.start {
            let moved = || start.footprint().moved;
            let _stage = self.ws.stage_of("full multigrid start", moved);
            let mut working_b = Vector::<W>::zeros_like(b)?;
            let mut working_x = Vector::<W>::zeros_like(b)?;
            working_b.copy_from(b)?;
            start.apply(&working_b, &mut working_x, self.ws)?;
            x.copy_from(&working_x)?;
        }
        if !x.norms()?.iter().all(|norm| norm.to_f64().is_finite()) {
            let told = "full multigrid start: not finite, starting from zero";
            (self.start, x) = (None, Vector::zeros_like(b)?);
            self.messages.push(told.to_owned());
        }
        Ok(x)
    }

    fn set_up(&mut self, attempt: &Attempt) -> Result<Solver<W>> {
        let begin = Instant::now();
        let _stage = self.ws.stage("set-up", 0);
        let host_stages = HostStages::watch();
        let solver = self.build(attempt);
        self.say(host_stages.tell(self.ws.log()));
        self.setup += begin.elapsed();
        solver
    }

    /// Adds messages that were not told before, by an earlier attempt say.
    fn say(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.messages.contains(&note) {
                self.messages.push(note);
            }
        }
    }

    fn build(&mut self, attempt: &Attempt) -> Result<Solver<W>> {
        attempt.check()?;
        let factory = SolverFactory {
            method: attempt.solver.method()?,
            preconditioner: None,
            stop: self.stop.clone(),
        };
        (self.multigrid, self.decided, self.start) = (None, None, None);
        let preconditioner = attempt.preconditioner_factory()?;
        if let PreconditionerConfig::StructMg(parameters) = &attempt.preconditioner {
            return self.structured(&factory, parameters);
        }
        let solver = factory.solver(&self.matrix.operator, self.ws)?;
        match (preconditioner, &attempt.preconditioner) {
            (None, _) => Ok(solver),
            (Some(_), PreconditionerConfig::Amg(amg)) => {
                let hierarchy = self.multigrid(amg.clone())?;
                solver.with_preconditioner(hierarchy.shared())
            }
            (Some(factory), _) => {
                solver.with_preconditioner(factory.generate(&self.matrix.entries, self.ws)?)
            }
        }
    }

    fn multigrid(&mut self, mut amg: Amg) -> Result<Hierarchy<W>> {
        let double = LevelPrecisions::uniform(Unit::Double);
        if self.nullspace.is_some() && amg.precision != double {
            let why = "singular: cycles in double precision, lest rounding adds what is taken out";
            self.messages.push(why.to_owned());
            amg.precision = double;
        }
        let components = NearNullspace::components(amg.block_size)?;
        let near = self.near_nullspace.unwrap_or(&components);
        let a = &self.matrix.entries;
        let (hierarchy, reused) = match &mut self.kept {
            None => (amg.hierarchy_with(a, near, self.ws)?, None),
            Some(kept) => kept.hierarchy(&amg, a, near, self.ws)?,
        };
        self.messages.extend(reused);
        if amg.fmg_start {
            self.start = Some(Arc::clone(hierarchy.full_multigrid()));
        }
        self.decided = Some(PreconditionerConfig::Amg(hierarchy.amg().clone()));
        self.multigrid = Some(hierarchy.report().clone());
        self.messages.extend(hierarchy.report().stalled.clone());
        self.say(hierarchy.report().notes.clone());
        self.messages.extend(hierarchy.report().scaling_note());
        Ok(hierarchy)
    }

    /// The products are those of the stencil, too.
    fn structured(
        &mut self,
        factory: &SolverFactory<W>,
        parameters: &StructMg,
    ) -> Result<Solver<W>> {
        let known: Option<Arc<dyn LinOp<f64>>> = self.stencil.take().map(|stencil| stencil as _);
        let known = known.and_then(|stencil| {
            let any: &dyn std::any::Any = &stencil;
            any.downcast_ref::<Arc<dyn LinOp<W>>>().cloned()
        });
        let a = known.as_ref().unwrap_or(&self.matrix.entries);
        let (made, reused) = match &mut self.kept {
            None => (parameters.generate_with_report(a, self.ws)?, None),
            Some(kept) => kept.structured(parameters, a, self.ws)?,
        };
        self.messages.extend(reused);
        self.messages.extend(made.report.notes.clone());
        self.messages.extend(made.report.scaling_note());
        self.multigrid = Some(made.report);
        self.decided = Some(PreconditionerConfig::StructMg(made.parameters));
        let matrix = made.matrix.as_ref().or(known.as_ref());
        let matrix = matrix.unwrap_or(&self.matrix.operator);
        factory
            .solver(matrix, self.ws)?
            .with_preconditioner(made.operator)
    }

    /// How many iterations an attempt has before the next one is tried instead.
    fn trial(&self, place: usize) -> Option<usize> {
        let next = self.attempts.get(place + 1)?;
        match (&self.attempts[place].preconditioner, &next.solver) {
            (PreconditionerConfig::Amg(_), _) => Some(MULTIGRID_TRIAL),
            (_, SolverConfig::Direct(_)) => Some(TRIAL),
            _ => None,
        }
    }

    fn iterate(
        &self,
        place: usize,
        solver: &Solver<W>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<Outcome> {
        let mut stop = self.stop.clone();
        if let Some(trial) = self.trial(place) {
            stop.iterations = stop.iterations.min(trial);
        }
        let solving = self.begin.elapsed().saturating_sub(self.setup);
        stop.time = stop.time.map(|time| time.saturating_sub(solving));
        let any: &dyn std::any::Any = solver;
        let precision = self.config.precision.unwrap_or_default();
        match any.downcast_ref::<Solver<T>>() {
            Some(same) if precision.is_double() => same.solve_in(b, x, &stop, self.ws),
            _ => {
                let accuracy = 64.0 * precision.roundoff();
                refine(self.a, solver, b, x, &stop, accuracy, self.ws)
            }
        }
    }

    /// The attempt to go on with after one that ended so; `None` if that was the end.
    fn next(&self, place: usize, status: Status) -> Option<usize> {
        let tried = &self.attempts[place];
        let another_solver = match status {
            Status::Converged | Status::TimeLimit | Status::Interrupted => return None,
            Status::IterationLimit if self.trial(place).is_none() => return None,
            Status::Indefinite(Part::Operator) => true,
            Status::Indefinite(Part::Preconditioner) => false,
            _ => self.trial(place).is_none(),
        };
        (place + 1..self.attempts.len())
            .find(|&next| !another_solver || self.attempts[next].solver != tried.solver)
    }

    /// Says what is wrong with the choice of the solver where the matrix shows it.
    fn explain(&mut self, attempt: &Attempt, status: Status) {
        let name = attempt.solver.name();
        let symmetric_only = attempt.solver.has_need(Need::SymmetricMatrix);
        if status == Status::Converged || !symmetric_only {
            return;
        }
        let facts = self.a.facts();
        if !facts.hermitian {
            let asymmetry = facts.asymmetry;
            self.messages.push(format!(
                "{name} needs a symmetric matrix, this one is not: entries differ from those \
                 opposite by up to {asymmetry:.1e}; try gmres or bicgstab"
            ));
        }
    }

    fn finish(
        self,
        attempt: &Attempt,
        solver: &Solver<W>,
        x: Vector<T>,
        outcome: Outcome,
    ) -> Solution<T> {
        let mut config = self.config.clone();
        config.solver = attempt.solver.clone();
        let given = || attempt.preconditioner.clone();
        config.preconditioner = self.decided.unwrap_or_else(given);
        config.precision = Some(config.precision.unwrap_or_default());
        config.format = format_of(self.matrix.arrangement);
        config.run = RunConfig::of(self.a.executor());
        Solution {
            x,
            outcome,
            config,
            messages: self.messages,
            setup: self.setup,
            solving: self.begin.elapsed().saturating_sub(self.setup),
            bytes: solver.footprint().held,
            multigrid: self.multigrid,
        }
    }
}

/// The matrix as a stencil, if the solver is to be chosen for structured multigrid on the host: whether it is
/// symmetric is seen sooner so. What is wrong with other matrices is told where they are set up.
fn stencil_of<T: Wide>(config: &Config, a: &Csr<T>) -> Option<Arc<StencilMatrix<f64>>> {
    let PreconditionerConfig::StructMg(parameters) = &config.preconditioner else {
        return None;
    };
    let is_asked_for = config.solver.is_auto() && T::KIND == Kind::F64;
    if !is_asked_for || a.executor().is_device() {
        return None;
    }
    let stencil = parameters.stencil::<T>(a).ok()?;
    Some(Arc::new(stencil.into_owned()))
}

/// Where an infinity or NaN comes from, if the preconditioner can tell.
fn origin<T: Wide, W: WorkingScalar>(
    solver: &Solver<W>,
    b: &Vector<T>,
    x: &Vector<T>,
) -> Option<String> {
    let any: &dyn std::any::Any = solver;
    let solver = any.downcast_ref::<Solver<T>>()?;
    let ws = Workspace::watchful();
    let (mut r, mut z) = (b.clone(), b.clone());
    solver.matrix().residual(b, x, &mut r, &ws).ok()?;
    let sound = r.norms().ok()?.iter().all(|norm| norm.to_f64().is_finite());
    let failed = solver.preconditioner().apply(&r, &mut z, &ws).err();
    failed.filter(|_| sound).map(|error| error.to_string())
}
