//! Tries one combination of solver and preconditioner after the other.

use std::time::{Duration, Instant};

use vcycle_core::matrix::{StoredMatrix, WorkingScalar};
use vcycle_core::operations::HostStages;

use super::auto::{Attempt, Findings, try_attempts};
use super::chain::{Chain, FACTORISED_FOR_ACCURACY};
use super::memory::check_attempt;
use super::projection::Projection;
use super::ready::{Ready, iterate, start};
use super::sequence::Kept;
use super::set_up::{Made, check_for_ranks};
use super::storage::{Wide, format_of};
use super::tried::{Tried, ending, is_of_matrix, origin, wants_matching, worth_reporting};
use super::{Solution, System};
use crate::communicator::Traffic;
use crate::configuration::{Config, PreconditionerConfig, RunConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::multigrid::NearNullspace;
use crate::registration::Need;
use crate::solver::Solver;
use crate::stop::{Outcome, Status, Stop};
use crate::structured::StencilMatrix;
use crate::vector::Vector;

/// Tries one attempt after the other with vectors of `W`. Ranks that share the rows take every decision alike.
pub(super) struct Tries<'d, T: Wide, W: WorkingScalar<Wide = T>> {
    config: &'d Config,
    pub system: &'d System<T>,
    pub nullspace: Option<Projection>,
    pub kept: Option<&'d mut Kept>,
    pub matrix: StoredMatrix<W>,
    /// The matrix as a stencil, where that had to be known to choose a solver.
    pub stencil: Option<StencilMatrix<f64>>,
    pub stop: Stop,
    chain: Chain,
    pub ws: &'d Workspace,
    messages: Vec<String>,
    begin: Instant,
    setup: Duration,
    /// What this rank had sent before, and what it sent in iterations.
    before: Traffic,
    iterations: Traffic,
    /// How many attempts were made.
    count: usize,
    /// The best of what was tried.
    best: Option<Tried<T>>,
    /// Why the last set-up has failed.
    failure: Option<Error>,
}

impl<'d, T: Wide, W: WorkingScalar<Wide = T>> Tries<'d, T, W> {
    pub fn new(
        config: &'d Config,
        system: &'d System<T>,
        kept: Option<&'d mut Kept>,
        ws: &'d Workspace,
    ) -> Result<Self> {
        let a = &system.matrix;
        let (begin, before) = (Instant::now(), a.traffic());
        let stage = ws.stage("analysis", 0);
        let ranks = a.shared().is_some();
        if ranks {
            check_for_ranks(config)?;
        }
        let stop = config.stop.stop()?;
        let near = system.near_nullspace.as_ref();
        let block_size = near.map_or(1, NearNullspace::block_size);
        let unit = config.precision.unwrap_or_default().matrix;
        let matrix = a.stored(unit, config.format, block_size)?;
        let mut stencil = a.stencil(config);
        let nullspace = Projection::of(config.nullspace, a, near)?;
        // What else is to be known of a matrix takes time, and matters where a factorisation is a choice.
        let is_large = ranks || a.total_rows() > FACTORISED_FOR_ACCURACY;
        let is_definite = |stencil: &StencilMatrix<f64>| {
            is_large && matches!(stencil.is_symmetric_and_positive(), Ok(true))
        };
        let attempts = try_attempts(config, near, || {
            Ok(Findings {
                facts: match stencil.as_ref().is_some_and(is_definite) {
                    true => a.definite_facts()?,
                    false => system.facts()?,
                },
                stencil: stencil.is_some(),
                singular: nullspace.is_some(),
                ranks,
            })
        })?;
        let is_used =
            |attempt: &Attempt| matches!(attempt.preconditioner, PreconditionerConfig::StructMg(_));
        stencil = stencil.filter(|_| attempts.iter().any(is_used));
        drop(stage);
        Ok(Self {
            config,
            system,
            nullspace,
            kept,
            matrix,
            stencil,
            stop,
            chain: Chain::new(attempts, a.total_rows()),
            ws,
            messages: Vec::new(),
            begin,
            setup: begin.elapsed(),
            before,
            iterations: Traffic::default(),
            count: 0,
            best: None,
            failure: None,
        })
    }

    pub fn solve(mut self, b: &Vector<T>) -> Result<Solution<T>> {
        self.system.check(b, self.system.guess.as_ref())?;
        self.check_memory(b.cols())?;
        let consistent = self.consistent(b)?;
        let b = consistent.as_ref().unwrap_or(b);
        let mut place = Some(0);
        while let Some(from) = place {
            place = match self.set_up_from(from)? {
                Some((place, made)) => self.run(place, made, b)?,
                None => None,
            };
        }
        match self.best.take() {
            Some(best) => Ok(self.finish(best)),
            None => Err(self.failed()),
        }
    }

    /// Sets up the first attempt that can be, and nothing more.
    pub fn prepare(mut self) -> Result<Ready<T>> {
        self.check_memory(1)?;
        let Some((place, made)) = self.set_up_from(0)? else {
            return Err(self.failed());
        };
        let attempt = &self.chain.attempts[place];
        Ok(Ready {
            config: self.decided_config(attempt, made.decided),
            a: self.system.matrix.clone(),
            bytes: made.solver.footprint().held,
            iteration: Box::new((made.solver, made.start)),
            chain: self.chain,
            place,
            nullspace: self.nullspace,
            messages: self.messages,
            setup: self.setup,
            multigrid: made.multigrid,
        })
    }

    fn failed(self) -> Error {
        self.failure.expect("there is at least one attempt")
    }

    /// Whether memory suffices for the first attempt; what is kept has its memory already.
    fn check_memory(&self, columns: usize) -> Result<()> {
        if self.kept.as_ref().is_some_and(|kept| !kept.is_empty()) {
            return Ok(());
        }
        check_attempt(&self.chain.attempts[0], self.system, columns)
    }

    /// Sets up the first attempt from a place on that can be; none where all fail.
    fn set_up_from(&mut self, from: usize) -> Result<Option<(usize, Made<W>)>> {
        let (mut next, mut last) = (Some(from), None);
        while let Some(place) = next {
            self.count += usize::from(last != Some(place));
            last = next;
            let attempt = self.chain.attempts[place].clone();
            if !attempt.reason.is_empty() {
                self.messages.push(attempt.reason.clone());
            }
            match self.set_up(&attempt) {
                Ok(made) => return Ok(Some((place, made))),
                Err(error) => {
                    if !self.may_go_on_after(&error)? {
                        return Err(error);
                    }
                    next = self.after_failure(place, &error);
                    let before = self.failure.take();
                    self.failure = Some(worth_reporting(before, error));
                }
            }
        }
        Ok(None)
    }

    fn set_up(&mut self, attempt: &Attempt) -> Result<Made<W>> {
        let begin = Instant::now();
        let _stage = self.ws.stage("set-up", 0);
        let host_stages = HostStages::watch();
        let made = self.build(attempt);
        let made = self.system.matrix.agree(made);
        self.report_once(host_stages.tell(self.ws.log()));
        self.setup += begin.elapsed();
        made
    }

    /// Whether another attempt may be set up after one that failed. Ranks go on where the matrix is the cause on one of them,
    /// not the lack of memory or of a rank.
    fn may_go_on_after(&self, error: &Error) -> Result<bool> {
        let a = &self.system.matrix;
        a.any(a.shared().is_none() || is_of_matrix(error))
    }

    /// The attempt to go on with after a set-up that failed: the same after matching where that may help, else the next one.
    fn after_failure(&mut self, place: usize, error: &Error) -> Option<usize> {
        self.messages.push(format!("set-up failed: {error}"));
        let may_match = self.system.matrix.shared().is_none()
            && !self.config.preconditioner.is_auto()
            && self.config.matching.is_none()
            && wants_matching(error);
        let matched = self.chain.attempts[place].matched();
        match matched.filter(|_| may_match) {
            Some(matched) => {
                self.chain.attempts[place] = matched;
                Some(place)
            }
            None => Some(place + 1).filter(|&next| next < self.chain.attempts.len()),
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
        if self.system.matrix.shared().is_none() {
            config.format = Some(format_of(&self.matrix));
        }
        config.run = RunConfig::of(self.system.matrix.executor());
        config
    }

    /// Iterates as one attempt says; names the attempt to go on with.
    fn run(&mut self, place: usize, made: Made<W>, b: &Vector<T>) -> Result<Option<usize>> {
        let attempt = self.chain.attempts[place].clone();
        let (mut x, is_full_multigrid) = self.guess(&made, b)?;
        let outcome = self.iterate(place, &made.solver, b, &mut x)?;
        if let (true, Some(first)) = (is_full_multigrid, outcome.history.first()) {
            self.messages.push(format!(
                "full multigrid start: relative residual {first:.1e}"
            ));
        }
        if let Some(nullspace) = &self.nullspace {
            nullspace.project(&mut x)?;
        }
        let is_whole = self.system.matrix.shared().is_none();
        if outcome.status == Status::NonFinite && is_whole {
            self.messages.extend(origin(&made.solver, b, &x));
        }
        let next = self.chain.next(place, &outcome);
        match next {
            Some(_) => self.messages.push(ending(&attempt, &outcome)),
            None => self.explain(&attempt, outcome.status)?,
        }
        let tried = Tried {
            place,
            is_direct: attempt.is_direct(),
            x,
            outcome,
            bytes: made.solver.footprint().held,
            multigrid: made.multigrid,
            decided: made.decided,
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

    /// What an earlier attempt has reached, or was given, or what full multigrid finds, or zero; and whether it is full
    /// multigrid's.
    fn guess(&mut self, made: &Made<W>, b: &Vector<T>) -> Result<(Vector<T>, bool)> {
        // What is relative to the residual of the guess must not get another guess.
        let may_go_on = self.stop.initial_tolerance.is_none();
        let best = self.best.as_ref().filter(|best| best.is_worth_going_on());
        if let Some(best) = best.filter(|_| may_go_on) {
            return Ok((best.x.clone(), false));
        }
        if let Some(guess) = &self.system.guess {
            return Ok((guess.clone(), false));
        }
        if let Some(operator) = &made.start {
            match start(operator.as_ref(), b, self.ws)? {
                Some(x) => return Ok((x, true)),
                None => {
                    let message = "full multigrid start: not finite, starting from zero";
                    self.messages.push(message.to_owned());
                }
            }
        }
        Ok((Vector::zeros_like(b)?, false))
    }

    /// Adds messages that are not there yet, from an earlier attempt say.
    pub fn report_once(&mut self, notes: Vec<String>) {
        for note in notes {
            if !self.messages.contains(&note) {
                self.messages.push(note);
            }
        }
    }

    pub fn report(&mut self, messages: impl IntoIterator<Item = String>) {
        self.messages.extend(messages);
    }

    fn iterate(
        &mut self,
        place: usize,
        solver: &Solver<W>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<Outcome> {
        let mut stop = self.chain.stop(place, &self.stop);
        let solving = self.begin.elapsed().saturating_sub(self.setup);
        stop.time = stop.time.map(|time| time.saturating_sub(solving));
        let (a, before) = (&self.system.matrix, self.system.matrix.traffic());
        let precision = self.config.precision.unwrap_or_default();
        let outcome = iterate(a.operator(), solver, precision, b, x, &stop, self.ws)?;
        self.iterations = self.iterations.and(&a.traffic().since(&before));
        Ok(outcome)
    }

    /// Says what is wrong with the choice of the solver where the matrix shows it.
    fn explain(&mut self, attempt: &Attempt, status: Status) -> Result<()> {
        let name = attempt.solver.name();
        let symmetric_only = attempt.solver.has_need(Need::SymmetricMatrix);
        if status == Status::Converged || !symmetric_only {
            return Ok(());
        }
        let facts = self.system.facts()?;
        if !facts.hermitian {
            let difference = match facts.asymmetry {
                0.0 => String::new(),
                size => format!(": entries differ from those opposite by up to {size:.1e}"),
            };
            self.messages.push(format!(
                "{name} needs a symmetric matrix, this one is not{difference}; try gmres or bicgstab"
            ));
        }
        Ok(())
    }

    fn finish(mut self, best: Tried<T>) -> Solution<T> {
        let attempt = &self.chain.attempts[best.place];
        if self.count > 1 {
            let outcome = &best.outcome;
            self.messages.push(format!(
                "the best answer is that of {}: {}, residual {:.1e}",
                attempt.name(),
                outcome.status,
                outcome.relative_residual
            ));
        }
        let config = self.decided_config(attempt, best.decided);
        let a = &self.system.matrix;
        let sent = a.traffic().since(&self.before);
        Solution {
            x: best.x,
            outcome: best.outcome,
            config,
            messages: self.messages,
            setup: self.setup,
            solving: self.begin.elapsed().saturating_sub(self.setup),
            bytes: best.bytes,
            multigrid: best.multigrid,
            traffic: a
                .shared()
                .map(|_| [sent.since(&self.iterations), self.iterations]),
        }
    }
}
