//! Tries one combination of solver and preconditioner after the other.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vcycle_core::matrix::{StoredMatrix, WorkingScalar};
use vcycle_core::operations::HostStages;

use super::auto::{Attempt, Findings, attempts};
use super::chain::{Chain, FACTORISED_FOR_ACCURACY, is_better, rank};
use super::memory::check_attempt;
use super::projection::Projection;
use super::ready::{Ready, iterate, start};
use super::sequence::Kept;
use super::storage::{Wide, format_of, store_matrix};
use super::{Solution, System};
use crate::configuration::{Config, PreconditionerConfig, RunConfig, Unit};
use crate::error::{ConfigError, Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Size, check_size};
use crate::matrix::Csr;
use crate::multigrid::{Amg, Hierarchy, LevelPrecisions, NearNullspace, Report};
use crate::precond::Preprocessed;
use crate::registration::Need;
use crate::scalar::{Kind, Real};
use crate::solver::{Solver, SolverFactory};
use crate::stop::{Outcome, Status, Stop};
use crate::structured::{StencilMatrix, StructMg};
use crate::vector::Vector;

/// A relative residual from which the next attempt starts, in place of the first guess.
const WORTH_GOING_ON: f64 = 0.1;
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
    chain: Chain,
    ws: &'d Workspace,
    messages: Vec<String>,
    begin: Instant,
    setup: Duration,
    multigrid: Option<Report>,
    /// The parameters of multigrid with every `auto` decided.
    decided: Option<PreconditionerConfig>,
    /// What finds the initial guess, if that is not zero.
    start: Option<Arc<dyn LinOp<W>>>,
    /// The best of what was tried.
    best: Option<Tried<T>>,
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
        let nullspace = Projection::new(config.nullspace, a, near_nullspace)?;
        // What else is to be known of a matrix takes time, and matters where a factorisation is a choice.
        let is_large = a.size().rows > FACTORISED_FOR_ACCURACY;
        let attempts = attempts(config, near_nullspace, || {
            let stencil = stencil.as_deref();
            let is_definite = |a: &StencilMatrix<f64>| {
                is_large && matches!(a.is_symmetric_and_positive(), Ok(true))
            };
            Findings {
                facts: match stencil.is_some_and(is_definite) {
                    true => system.definite_facts(),
                    false => system.facts(),
                },
                stencil: stencil.is_some(),
                singular: nullspace.is_some(),
            }
        });
        let is_used =
            |attempt: &Attempt| matches!(attempt.preconditioner, PreconditionerConfig::StructMg(_));
        let stencil = stencil.filter(|_| attempts.iter().any(is_used));
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
            chain: Chain::new(attempts, a.size().rows),
            ws,
            messages: Vec::new(),
            begin,
            setup: begin.elapsed(),
            multigrid: None,
            decided: None,
            start: None,
            best: None,
        })
    }

    pub(super) fn solve(mut self, b: &Vector<T>) -> Result<Solution<T>> {
        let fitting = Size::new(self.a.size().rows, b.cols());
        check_size("right-hand side", fitting, b.size())?;
        if let Some(guess) = self.given {
            b.executor().check_same(guess.executor(), "initial guess")?;
            check_size("initial guess", fitting, guess.size())?;
        }
        if self.kept.as_ref().is_none_or(|kept| kept.is_empty()) {
            check_attempt(
                &self.chain.attempts[0],
                self.a,
                self.near_nullspace,
                b.cols(),
            )?;
        }
        let consistent = self.consistent(b)?;
        let b = consistent.as_ref().unwrap_or(b);
        let mut place = Some(0);
        let mut failure = None;
        while let Some(tried) = place {
            let attempt = self.chain.attempts[tried].clone();
            if !attempt.reason.is_empty() {
                self.messages.push(attempt.reason.clone());
            }
            place = match self.set_up(&attempt) {
                Ok(solver) => self.run(tried, &attempt, &solver, b)?,
                Err(error) => {
                    let next = self.after_failure(tried, &error);
                    failure = Some(worth_telling(failure, error));
                    next
                }
            };
        }
        match self.best.take() {
            Some(best) => Ok(self.finish(best)),
            None => Err(failure.expect("there is at least one attempt")),
        }
    }

    /// Sets up the first attempt that can be, and nothing more.
    pub(super) fn prepare(mut self) -> Result<Ready<T>> {
        if self.kept.as_ref().is_none_or(|kept| kept.is_empty()) {
            let first = &self.chain.attempts[0];
            check_attempt(first, self.a, self.near_nullspace, 1)?;
        }
        let (mut failure, mut next) = (None, Some(0));
        while let Some(place) = next {
            let attempt = self.chain.attempts[place].clone();
            if !attempt.reason.is_empty() {
                self.messages.push(attempt.reason.clone());
            }
            match self.set_up(&attempt) {
                Ok(solver) => return Ok(self.ready(place, solver)),
                Err(error) => {
                    next = self.after_failure(place, &error);
                    failure = Some(worth_telling(failure, error));
                }
            }
        }
        Err(failure.expect("there is at least one attempt"))
    }

    /// The attempt to go on with after a set-up that failed: the same after matching where that may help, else the next one.
    fn after_failure(&mut self, place: usize, error: &Error) -> Option<usize> {
        self.messages.push(format!("set-up failed: {error}"));
        let is_asked_for = !self.config.preconditioner.is_auto() && self.config.matching.is_none();
        let matched = self.chain.attempts[place].matched();
        match matched.filter(|_| is_asked_for && wants_matching(error)) {
            Some(matched) => {
                self.chain.attempts[place] = matched;
                Some(place)
            }
            None => Some(place + 1).filter(|&next| next < self.chain.attempts.len()),
        }
    }

    fn ready(mut self, place: usize, solver: Solver<W>) -> Ready<T> {
        let attempt = &self.chain.attempts[place];
        let decided = self.decided.take();
        Ready {
            config: self.decided_config(attempt, decided),
            a: Arc::clone(self.a),
            bytes: solver.footprint().held,
            iteration: Box::new((solver, self.start)),
            chain: self.chain,
            place,
            nullspace: self.nullspace,
            messages: self.messages,
            setup: self.setup,
            multigrid: self.multigrid,
        }
    }

    /// The configuration with every `auto` decided.
    fn decided_config(&self, attempt: &Attempt, decided: Option<PreconditionerConfig>) -> Config {
        let mut config = self.config.clone();
        attempt.configure(&mut config);
        if let Some(decided) = decided {
            config.preconditioner = decided;
        }
        config.precision = Some(config.precision.unwrap_or_default());
        config.format = Some(format_of(&self.matrix));
        config.run = RunConfig::of(self.a.executor());
        config
    }

    /// Iterates as one attempt says; names the attempt to go on with.
    fn run(
        &mut self,
        place: usize,
        attempt: &Attempt,
        solver: &Solver<W>,
        b: &Vector<T>,
    ) -> Result<Option<usize>> {
        let mut x = self.guess(b)?;
        let outcome = self.iterate(place, solver, b, &mut x)?;
        if let (Some(_), Some(first)) = (&self.start, outcome.history.first()) {
            let told = format!("full multigrid start: relative residual {first:.1e}");
            self.messages.push(told);
        }
        if let Some(nullspace) = &self.nullspace {
            nullspace.project(&mut x)?;
        }
        if outcome.status == Status::NonFinite {
            self.messages.extend(origin(solver, b, &x));
        }
        let next = self.chain.next(place, &outcome);
        match next {
            Some(_) => self.messages.push(ending(attempt, &outcome)),
            None => self.explain(attempt, outcome.status),
        }
        let tried = Tried {
            place,
            is_direct: attempt.is_direct(),
            x,
            outcome,
            bytes: solver.footprint().held,
            multigrid: self.multigrid.take(),
            decided: self.decided.take(),
        };
        if self.best.as_ref().is_none_or(|best| tried.is_better(best)) {
            self.best = Some(tried);
        }
        Ok(next)
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

    /// What an earlier attempt has reached, or was given, or zero, or what full multigrid finds.
    fn guess(&mut self, b: &Vector<T>) -> Result<Vector<T>> {
        // What is relative to the residual of the guess must not get another guess.
        let may_go_on = self.stop.initial_tolerance.is_none();
        if let Some(best) = self
            .best
            .as_ref()
            .filter(|best| may_go_on && best.is_worth_going_on())
        {
            self.start = None;
            return Ok(best.x.clone());
        }
        if let Some(guess) = self.given {
            self.start = None;
            return Ok(guess.clone());
        }
        if let Some(operator) = &self.start {
            match start(operator.as_ref(), b, self.ws)? {
                Some(x) => return Ok(x),
                None => {
                    let told = "full multigrid start: not finite, starting from zero";
                    self.messages.push(told.to_owned());
                }
            }
        }
        self.start = None;
        Vector::zeros_like(b)
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
        let method = match &mut self.kept {
            Some(kept) => kept.method(&attempt.solver)?,
            None => attempt.solver.method()?,
        };
        let factory = SolverFactory {
            method,
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
                let prepared = self.prepared(attempt)?;
                let hierarchy = self.multigrid(amg.clone(), prepared.as_ref())?.shared();
                solver.with_preconditioner(undone(prepared.as_ref(), hierarchy)?)
            }
            (Some(factory), _) => {
                if let Some(inverse) = self.factors(attempt)? {
                    return solver.with_preconditioner(inverse);
                }
                let prepared = self.prepared(attempt)?;
                let a = prepared
                    .as_ref()
                    .map_or(&self.matrix.entries, Preprocessed::matrix);
                let made = factory.generate(a, self.ws)?;
                solver.with_preconditioner(undone(prepared.as_ref(), made)?)
            }
        }
    }

    /// The inverse of the direct solver, where earlier matrices may have left an order for it.
    #[cfg(feature = "direct")]
    fn factors(&mut self, attempt: &Attempt) -> Result<Option<Arc<dyn LinOp<W>>>> {
        let (Some(kept), crate::configuration::SolverConfig::Direct(direct)) =
            (&mut self.kept, &attempt.solver)
        else {
            return Ok(None);
        };
        let (inverse, reused) = kept.factors(direct, &self.matrix.entries, self.ws)?;
        self.messages.extend(reused);
        Ok(Some(inverse))
    }

    #[cfg(not(feature = "direct"))]
    fn factors(&mut self, _: &Attempt) -> Result<Option<Arc<dyn LinOp<W>>>> {
        Ok(None)
    }

    /// What the preconditioner is made of, where that is not the matrix itself.
    fn prepared(&mut self, attempt: &Attempt) -> Result<Option<Preprocessed<W>>> {
        if attempt.preprocessing.is_none() {
            return Ok(None);
        }
        let prepared = attempt
            .preprocessing
            .prepare(&self.matrix.entries, self.ws)?;
        self.say(prepared.notes().to_vec());
        Ok(Some(prepared))
    }

    fn multigrid(
        &mut self,
        mut amg: Amg,
        prepared: Option<&Preprocessed<W>>,
    ) -> Result<Hierarchy<W>> {
        let double = LevelPrecisions::uniform(Unit::Double);
        if self.nullspace.is_some() && amg.precision != double {
            let why = "singular: cycles in double precision, lest rounding adds what is taken out";
            self.messages.push(why.to_owned());
            amg.precision = double;
        }
        let components = NearNullspace::components(amg.block_size)?;
        let near = self.near_nullspace.unwrap_or(&components);
        let a = &self.matrix.entries;
        let (hierarchy, reused) = match (&mut self.kept, prepared) {
            (_, Some(prepared)) => {
                let near = near_nullspace_of(prepared, near)?;
                let made = amg.hierarchy_with(prepared.matrix(), &near, self.ws)?;
                (made, None)
            }
            (None, None) => (amg.hierarchy_with(a, near, self.ws)?, None),
            (Some(kept), None) => kept.hierarchy(&amg, a, near, self.ws)?,
        };
        self.messages.extend(reused);
        if amg.fmg_start {
            let start = Arc::clone(hierarchy.full_multigrid());
            self.start = Some(undone(prepared, start)?);
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
            let any: &dyn Any = &stencil;
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

    fn iterate(
        &self,
        place: usize,
        solver: &Solver<W>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<Outcome> {
        let mut stop = self.chain.stop(place, &self.stop);
        let solving = self.begin.elapsed().saturating_sub(self.setup);
        stop.time = stop.time.map(|time| time.saturating_sub(solving));
        let precision = self.config.precision.unwrap_or_default();
        iterate(self.a.as_ref(), solver, precision, b, x, &stop, self.ws)
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

    fn finish(mut self, best: Tried<T>) -> Solution<T> {
        let attempt = &self.chain.attempts[best.place];
        if self
            .messages
            .iter()
            .filter(|m| m.starts_with("auto:"))
            .count()
            > 1
        {
            let outcome = &best.outcome;
            self.messages.push(format!(
                "the best answer is that of {}: {}, residual {:.1e}",
                attempt.name(),
                outcome.status,
                outcome.relative_residual
            ));
        }
        let config = self.decided_config(attempt, best.decided);
        Solution {
            x: best.x,
            outcome: best.outcome,
            config,
            messages: self.messages,
            setup: self.setup,
            solving: self.begin.elapsed().saturating_sub(self.setup),
            bytes: best.bytes,
            multigrid: best.multigrid,
            traffic: None,
        }
    }
}

/// Whether a set-up failed for want of an entry on the diagonal, or of a pivot.
fn wants_matching(error: &Error) -> bool {
    matches!(error, Error::ZeroDiagonal { .. } | Error::BadPivot { .. })
}

/// The failure to tell of: where matching does not help the first one, whose rows are those of the matrix.
fn worth_telling(before: Option<Error>, error: Error) -> Error {
    match before {
        Some(first) if wants_matching(&first) && wants_matching(&error) => first,
        _ => error,
    }
}

/// An approximate inverse of the matrix, from one of what was made of it.
fn undone<W: WorkingScalar>(
    prepared: Option<&Preprocessed<W>>,
    inverse: Arc<dyn LinOp<W>>,
) -> Result<Arc<dyn LinOp<W>>> {
    match prepared {
        None => Ok(inverse),
        Some(prepared) => prepared.undo(inverse),
    }
}

/// What the matrix that was made of the given one nearly annihilates.
fn near_nullspace_of<W: WorkingScalar>(
    prepared: &Preprocessed<W>,
    near: &NearNullspace,
) -> Result<NearNullspace> {
    if near.block_size() > 1 {
        let why = "equilibrate, match and reorder are for one unknown a node: those of a node would be torn apart";
        return Err(ConfigError::Conflict(why.to_owned()).into());
    }
    let rows = prepared.matrix().size().rows;
    let constant = [vec![1.0; rows]];
    let vectors = match near.vectors() {
        [] => &constant[..],
        vectors => vectors,
    };
    let moved: Result<Vec<_>> = vectors.iter().map(|v| prepared.unknowns(v)).collect();
    NearNullspace::new(1, moved?)
}

/// How an attempt ended that is not the last, in a sentence.
fn ending(attempt: &Attempt, outcome: &Outcome) -> String {
    let (count, residual) = (outcome.iterations, outcome.relative_residual);
    let doubt = match outcome.status {
        Status::Converged | Status::AccuracyLimit => format!(
            ", but the condition number is at least {:.0e}: rows may be wrong that the residual does not show",
            outcome.condition
        ),
        _ => String::new(),
    };
    format!(
        "{}: {} after {count} iterations, residual {residual:.1e}{doubt}",
        attempt.name(),
        outcome.status
    )
}

/// What an attempt has reached.
struct Tried<T> {
    place: usize,
    is_direct: bool,
    x: Vector<T>,
    outcome: Outcome,
    bytes: usize,
    multigrid: Option<Report>,
    decided: Option<PreconditionerConfig>,
}

impl<T> Tried<T> {
    fn is_better(&self, other: &Self) -> bool {
        is_better(&self.outcome, self.is_direct, &other.outcome)
    }

    /// Whether the next attempt starts from it. A factorisation that is to be more accurate starts anew: it would
    /// find nothing to do.
    fn is_worth_going_on(&self) -> bool {
        rank(&self.outcome) == 2 && self.outcome.relative_residual < WORTH_GOING_ON
    }
}

/// The matrix as a stencil where it is, if the solver is to be chosen for structured multigrid: whether it is symmetric
/// is seen sooner so. What is wrong with other matrices is told where they are set up.
///
/// On devices one unknown a cell: with several the kernels take 20 s to compile, and algebraic multigrid is as fast
/// (elasticity:60x60x60 on an H200 220 ms, structured 180).
fn stencil_of<T: Wide>(config: &Config, a: &Csr<T>) -> Option<Arc<StencilMatrix<f64>>> {
    let parameters = match &config.preconditioner {
        PreconditionerConfig::StructMg(parameters) => parameters,
        PreconditionerConfig::Auto(_) => &StructMg::default(),
        _ => return None,
    };
    let is_asked_for = config.solver.is_auto() && T::KIND == Kind::F64;
    if !is_asked_for {
        return None;
    }
    let stencil = match a.executor().is_device() {
        false => parameters.stencil::<T>(a).ok()?.into_owned(),
        true => {
            let found = parameters.stencil_there((a as &dyn Any).downcast_ref()?);
            found.ok()?.filter(|stencil| stencil.unknowns() == 1)?
        }
    };
    Some(Arc::new(stencil))
}

/// Where an infinity or NaN comes from, if the preconditioner can tell.
fn origin<T: Wide, W: WorkingScalar>(
    solver: &Solver<W>,
    b: &Vector<T>,
    x: &Vector<T>,
) -> Option<String> {
    let any: &dyn Any = solver;
    let solver = any.downcast_ref::<Solver<T>>()?;
    let ws = Workspace::watchful();
    let (mut r, mut z) = (b.clone(), b.clone());
    solver.matrix().residual(b, x, &mut r, &ws).ok()?;
    let sound = r.norms().ok()?.iter().all(|norm| norm.to_f64().is_finite());
    let failed = solver.preconditioner().apply(&r, &mut z, &ws).err();
    failed.filter(|_| sound).map(|error| error.to_string())
}
