//! Tries one combination of solver and preconditioner after the other.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use vcycle_core::operations::HostStages;

use super::auto::{Attempt, try_attempts};
use super::chain::{Chain, FACTORISED_FOR_ACCURACY};
use super::kept::Kept;
use super::memory::check_attempt;
use super::projection::Projection;
use super::ready::{Made, Ready, Start};
use super::set_up::{SetUp, Setting, check_for_ranks, report_once};
use super::tried::{Tried, ending, has_ended_well, is_of_matrix, wants_matching, worth_reporting};
use super::{Findings, Solution, System, Wide};
use crate::communicator::Traffic;
use crate::configuration::{Config, PreconditionerConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::registration::Need;
use crate::stop::{Outcome, Status, Stop};
use crate::structured::StencilMatrix;
use crate::vector::Vector;

/// Tries one attempt after the other. Ranks that share the rows take every decision alike.
pub(super) struct Tries<'d, T: Wide> {
    config: &'d Config,
    system: &'d System<T>,
    guess: Option<&'d Vector<T>>,
    nullspace: Option<Cow<'d, Projection>>,
    chain: Cow<'d, Chain>,
    stop: Stop,
    ws: &'d Workspace,
    /// What sets up, if something has to be.
    setting_up: Option<Box<dyn SetUp<T> + 'd>>,
    /// Whether something is kept that has its memory already.
    has_memory: bool,
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

impl<'d, T: Wide> Tries<'d, T> {
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
        let stencil = a.stencil(config);
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
        let has_memory = kept.as_ref().is_some_and(|kept| !kept.is_empty());
        let setting_up = T::setting_up(Setting {
            config,
            system,
            is_singular: nullspace.is_some(),
            stencil: stencil.filter(|_| attempts.iter().any(is_used)),
            kept,
            stop: stop.clone(),
            ws,
        })?;
        drop(stage);
        Ok(Self {
            config,
            system,
            guess: system.guess.as_ref(),
            nullspace: nullspace.map(Cow::Owned),
            chain: Cow::Owned(Chain::new(attempts, a.total_rows())),
            stop,
            ws,
            setting_up: Some(setting_up),
            has_memory,
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

    /// Those of a system whose first attempt is ready.
    pub fn of_ready(
        config: &'d Config,
        system: &'d System<T>,
        ready: &'d Ready<T>,
        guess: Option<&'d Vector<T>>,
        stop: Stop,
        ws: &'d Workspace,
    ) -> Self {
        Self {
            config,
            system,
            guess,
            nullspace: ready.nullspace.as_ref().map(Cow::Borrowed),
            chain: Cow::Borrowed(&ready.chain),
            stop,
            ws,
            setting_up: None,
            has_memory: true,
            messages: Vec::new(),
            begin: Instant::now(),
            setup: Duration::ZERO,
            before: system.matrix.traffic(),
            iterations: Traffic::default(),
            count: 1,
            best: None,
            failure: None,
        }
    }

    pub fn solve(mut self, b: &Vector<T>) -> Result<Solution<T>> {
        self.check_memory(b.cols())?;
        let consistent = self.consistent(b)?;
        self.try_from(Some(0), consistent.as_ref().unwrap_or(b))
    }

    /// Solves with what is ready, and goes on where that does not converge: with the next attempt, or with the same set up
    /// anew where its levels are those of an earlier matrix. The number is the iterations of what is ready, if it can be
    /// used.
    pub fn solve_ready(
        mut self,
        ready: &Ready<T>,
        is_reused: bool,
        b: &Vector<T>,
    ) -> Result<(usize, Solution<T>)> {
        let consistent = self.consistent(b)?;
        let b = consistent.as_ref().unwrap_or(b);
        let next = self.run(ready.place, &ready.made, is_reused, b)?;
        let first = self.best.as_ref().expect("it was run");
        let iterations = match next == Some(ready.place) {
            true => usize::MAX,
            false => first.outcome.iterations,
        };
        Ok((iterations, self.try_from(next, b)?))
    }

    fn try_from(mut self, mut next: Option<usize>, b: &Vector<T>) -> Result<Solution<T>> {
        while let Some(from) = next {
            next = match self.set_up_from(from)? {
                Some((place, made)) => self.run(place, &made, false, b)?,
                None => None,
            };
        }
        match self.best.take() {
            Some(best) => Ok(self.finish(best)),
            None => Err(self.failed()),
        }
    }

    /// Sets up the first attempt that can be, and nothing more.
    pub fn prepare(mut self, columns: usize) -> Result<Ready<T>> {
        self.check_memory(columns)?;
        let Some((place, made)) = self.set_up_from(0)? else {
            return Err(self.failed());
        };
        Ok(Ready {
            made,
            chain: self.chain.into_owned(),
            place,
            nullspace: self.nullspace.map(Cow::into_owned),
            messages: self.messages,
            setup: self.setup,
        })
    }

    fn failed(self) -> Error {
        self.failure.expect("there is at least one attempt")
    }

    /// Whether memory suffices for the first attempt; what is kept has its memory already.
    fn check_memory(&self, columns: usize) -> Result<()> {
        match self.has_memory {
            true => Ok(()),
            false => check_attempt(&self.chain.attempts[0], self.system, columns),
        }
    }

    /// Sets up the first attempt from a place on that can be; none where all fail.
    fn set_up_from(&mut self, from: usize) -> Result<Option<(usize, Made<T>)>> {
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

    fn set_up(&mut self, attempt: &Attempt) -> Result<Made<T>> {
        let begin = Instant::now();
        let _stage = self.ws.stage("set-up", 0);
        let host_stages = HostStages::watch();
        let made = self.make(attempt);
        let made = self.system.matrix.agree(made);
        report_once(&mut self.messages, host_stages.tell(self.ws.log()));
        self.setup += begin.elapsed();
        made
    }

    fn make(&mut self, attempt: &Attempt) -> Result<Made<T>> {
        let setting_up = match &mut self.setting_up {
            Some(known) => known,
            none => none.insert(T::setting_up(Setting {
                config: self.config,
                system: self.system,
                is_singular: self.nullspace.is_some(),
                stencil: None,
                kept: None,
                stop: self.stop.clone(),
                ws: self.ws,
            })?),
        };
        setting_up.set_up(attempt, &mut self.messages)
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
                self.chain.to_mut().attempts[place] = matched;
                Some(place)
            }
            None => Some(place + 1).filter(|&next| next < self.chain.attempts.len()),
        }
    }

    /// Iterates as one attempt says; names the attempt to go on with. One whose levels may be those of another matrix is set
    /// up anew where it does not converge.
    fn run(
        &mut self,
        place: usize,
        made: &Made<T>,
        may_be_stale: bool,
        b: &Vector<T>,
    ) -> Result<Option<usize>> {
        let attempt = self.chain.attempts[place].clone();
        let (mut x, is_full_multigrid) = self.guess(made, b)?;
        let outcome = self.iterate(place, made, b, &mut x)?;
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
            self.messages.extend(made.iteration.origin(b, &x));
        }
        let next = match may_be_stale && !has_ended_well(outcome.status) {
            true => Some(place),
            false => self.chain.next(place, &outcome),
        };
        match next {
            Some(_) => self.messages.push(ending(&attempt, &outcome)),
            None => self.explain(&attempt, outcome.status)?,
        }
        let tried = Tried {
            place,
            is_direct: attempt.is_direct(),
            x,
            outcome,
            bytes: made.bytes,
            multigrid: made.multigrid.clone(),
            config: made.config.clone(),
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
    fn guess(&mut self, made: &Made<T>, b: &Vector<T>) -> Result<(Vector<T>, bool)> {
        // What is relative to the residual of the guess must not get another guess.
        let may_go_on = self.stop.initial_tolerance.is_none();
        let best = self.best.as_ref().filter(|best| best.is_worth_going_on());
        if let Some(best) = best.filter(|_| may_go_on) {
            return Ok((best.x.clone(), false));
        }
        if let Some(guess) = self.guess {
            return Ok((guess.clone(), false));
        }
        match made.iteration.start(b, self.ws)? {
            Start::Found(x) => return Ok((x, true)),
            Start::Zero => {}
            Start::NotFinite => {
                let message = "full multigrid start: not finite, starting from zero";
                self.messages.push(message.to_owned());
            }
        }
        Ok((Vector::zeros_like(b)?, false))
    }

    fn iterate(
        &mut self,
        place: usize,
        made: &Made<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<Outcome> {
        let mut stop = self.chain.stop(place, &self.stop);
        let solving = self.begin.elapsed().saturating_sub(self.setup);
        stop.time = stop.time.map(|time| time.saturating_sub(solving));
        let (a, before) = (&self.system.matrix, self.system.matrix.traffic());
        let outcome = made.iteration.iterate(a.operator(), b, x, &stop, self.ws)?;
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
        let a = &self.system.matrix;
        let sent = a.traffic().since(&self.before);
        Solution {
            x: best.x,
            outcome: best.outcome,
            config: best.config,
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
