//! Tries one combination of solver and preconditioner after the other.

mod setting_up;

use std::borrow::Cow;
use std::time::{Duration, Instant};

use super::attempt::Attempt;
use super::auto::try_attempts;
use super::chain::{
    Chain, FACTORISED_FOR_ACCURACY, ending, has_ended_well, is_better, is_given_up,
    is_worth_going_on, set_given_up,
};
use super::costs::analysis;
use super::facts::symmetrised;
use super::kept::Kept;
use super::memory::need_of;
use super::projection::Projection;
use super::ready::{Made, Ready, is_finite};
use super::right_hand_side::RightHandSide;
use super::set_up::{Setting, check_for_ranks};
use super::{Findings, Solution, System, Wide};
use crate::communicator::Traffic;
use crate::configuration::{Config, PreconditionerConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::registration::Need;
use crate::stop::{Outcome, Status};
use crate::structured::StencilMatrix;
use crate::vector::Vector;

/// Tries one attempt after the other. Ranks that share the rows take every decision alike.
pub(super) struct Tries<'d, T: Wide> {
    pub setting: Setting<'d, T>,
    pub guess: Option<&'d Vector<T>>,
    chain: Cow<'d, Chain>,
    /// What is known of the matrix, where the attempts are chosen and order and fill of factors were not looked for.
    open: Option<Findings>,
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
    /// The best of what was tried, and which of the attempts found it.
    best: Option<(usize, Solution<T>)>,
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
        a.agree(near.map_or(Ok(()), |near| near.check(a.rows())))?;
        let stencil = a.stencil(config);
        let nullspace = Projection::of(config.nullspace, a, near)?;
        // What else is to be known of a matrix takes time, and matters where a factorisation is a choice.
        let is_large = ranks || a.total_rows() > FACTORISED_FOR_ACCURACY;
        let is_definite = |stencil: &StencilMatrix<f64>| {
            is_large && matches!(stencil.is_symmetric_and_positive(), Ok(true))
        };
        let mut known = None;
        let mut attempts = try_attempts(config, near, || {
            let facts = match stencil.as_ref().is_some_and(is_definite) {
                true => a.definite_facts()?,
                false => system.facts()?,
            };
            let found = Findings {
                facts,
                stencil: stencil.is_some(),
                singular: nullspace.is_some(),
                ranks,
                factorisation: None,
            };
            Ok(known.insert(found).clone())
        })?;
        if known.is_none() && attempts[0].is_direct() {
            known = Some(system.facts()?.into());
        }
        let (mut rounding, mut analysed) = (None, None);
        if let (Ok(a), Some(found)) = (a.whole(), &mut known) {
            rounding = symmetrised(a, &found.facts)?;
            let mean = rounding.as_ref().map(|(mean, _)| mean.as_ref());
            analysed = analysis(config, near, found, &attempts[0], mean.unwrap_or(a), ws);
            if analysed.is_some() {
                attempts = try_attempts(config, near, || Ok(found.clone()))?;
            }
        }
        let (symmetrised, message) = rounding.unzip();
        let is_used =
            |attempt: &Attempt| matches!(attempt.preconditioner, PreconditionerConfig::StructMg(_));
        let has_memory = kept.as_ref().is_some_and(|kept| !kept.is_empty());
        let mut setting = Setting {
            nullspace: nullspace.map(Cow::Owned),
            stencil: stencil.filter(|_| attempts.iter().any(is_used)),
            symmetrised,
            analysed,
            kept,
            ..Setting::new(config, system, stop, ws)
        };
        T::store_system(&mut setting)?;
        drop(stage);
        let chain = Cow::Owned(Chain::new(attempts, a.total_rows()));
        Ok(Self {
            has_memory,
            open: known.filter(|found| found.factorisation.is_none()),
            begin,
            messages: message.into_iter().collect(),
            setup: begin.elapsed(),
            before,
            ..Self::begun(setting, chain)
        })
    }

    /// Attempts of a chain, none of which has been made.
    pub fn begun(setting: Setting<'d, T>, chain: Cow<'d, Chain>) -> Self {
        Self {
            guess: setting.system.guess.as_ref(),
            chain,
            open: None,
            has_memory: false,
            messages: Vec::new(),
            begin: Instant::now(),
            setup: Duration::ZERO,
            before: setting.system.matrix.traffic(),
            iterations: Traffic::default(),
            count: 0,
            best: None,
            failure: None,
            setting,
        }
    }

    pub fn solve(mut self, b: &Vector<T>) -> Result<Solution<T>> {
        self.check_memory(b.cols())?;
        let b = self.right_hand_side(b)?;
        self.try_from(Some(0), &b)
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
        self.count = 1;
        let b = self.right_hand_side(b)?;
        let next = self.run(ready.place, &ready.made, is_reused, &b)?;
        let (_, first) = self.best.as_ref().expect("it was run");
        let iterations = match next == Some(ready.place) {
            true => usize::MAX,
            false => first.outcome.iterations,
        };
        Ok((iterations, self.try_from(next, &b)?))
    }

    fn try_from(
        mut self,
        mut next: Option<usize>,
        b: &RightHandSide<'_, T>,
    ) -> Result<Solution<T>> {
        while let Some(from) = next {
            next = match self.set_up_from(from) {
                // There is an answer, even if not a good one.
                Err(Error::OutOfTime) if self.best.is_some() => None,
                made => match made? {
                    Some((place, made)) => self.run(place, &made, false, b)?,
                    None => None,
                },
            };
        }
        match self.best.take() {
            Some((place, best)) => self.finish(place, best, b),
            None => Err(self.failed()),
        }
    }

    fn failed(self) -> Error {
        self.failure.expect("there is at least one attempt")
    }

    /// Iterates as one attempt says; names the attempt to go on with. One whose levels may be those of another matrix is set
    /// up anew where it does not converge.
    fn run(
        &mut self,
        place: usize,
        made: &Made<T>,
        may_be_stale: bool,
        given: &RightHandSide<'_, T>,
    ) -> Result<Option<usize>> {
        let attempt = self.chain.attempts[place].clone();
        let b = given.solvable();
        let (mut x, is_full_multigrid) = self.guess(made, given)?;
        let mut outcome = self.iterate(place, made, b, &mut x)?;
        if let (true, Some(first)) = (is_full_multigrid, outcome.history.first()) {
            self.messages.push(format!(
                "full multigrid start: relative residual {first:.1e}"
            ));
        }
        if let Some(nullspace) = &self.setting.nullspace {
            nullspace.project(&mut x)?;
        }
        let is_whole = self.setting.system.matrix.shared().is_none();
        if outcome.status == Status::NonFinite && is_whole {
            self.messages.extend(made.iteration.origin(b, &x));
        }
        let next = match may_be_stale && !has_ended_well(outcome.status) {
            true => Some(place),
            false => self.chain.next(place, &outcome),
        };
        match next {
            Some(_) => {
                let message = ending(&attempt, &outcome, &self.setting.stop);
                self.messages.push(message);
            }
            None => self.explain(&attempt, outcome.status)?,
        }
        if is_given_up(&outcome, &self.setting.stop) {
            set_given_up(&mut outcome);
        }
        let tried = Solution {
            x,
            outcome,
            config: made.config.clone(),
            messages: Vec::new(),
            setup: Duration::ZERO,
            solving: Duration::ZERO,
            bytes: made.bytes,
            estimated_bytes: need_of(&attempt, self.setting.system, b.cols()).total(),
            multigrid: made.multigrid.clone(),
            traffic: None,
        };
        let is_better = |(_, best): &(usize, Solution<T>)| {
            is_better(&tried.outcome, attempt.is_direct(), &best.outcome)
        };
        if self.best.as_ref().is_none_or(is_better) {
            self.best = Some((place, tried));
        }
        Ok(next)
    }

    fn right_hand_side<'b>(&mut self, b: &'b Vector<T>) -> Result<RightHandSide<'b, T>> {
        let nullspace = self.setting.nullspace.as_deref();
        let (b, message) = RightHandSide::new(b, nullspace, self.setting.config.nullspace)?;
        self.messages.extend(message);
        self.setting.stop = b.stop(self.setting.stop.clone());
        Ok(b)
    }

    /// What an earlier attempt has reached, or was given, or what full multigrid finds, or zero; and whether it is full
    /// multigrid's.
    fn guess(&mut self, made: &Made<T>, b: &RightHandSide<'_, T>) -> Result<(Vector<T>, bool)> {
        // What is relative to the residual of the guess must not get another guess.
        let may_go_on = self.setting.stop.initial_tolerance.is_none();
        let best = self.best.as_ref().filter(|_| may_go_on);
        if let Some((_, best)) = best.filter(|(_, best)| is_worth_going_on(&best.outcome)) {
            return Ok((best.x.clone(), false));
        }
        if let Some(guess) = self.guess {
            return Ok((b.guess(guess.clone())?, false));
        }
        if let Some(x) = made.iteration.start(b.solvable(), self.setting.ws)? {
            if is_finite(&x)? {
                return Ok((x, true));
            }
            let message = "full multigrid start: not finite, starting from zero";
            self.messages.push(message.to_owned());
        }
        Ok((Vector::zeros_like(b.solvable())?, false))
    }

    fn iterate(
        &mut self,
        place: usize,
        made: &Made<T>,
        b: &Vector<T>,
        x: &mut Vector<T>,
    ) -> Result<Outcome> {
        let mut stop = self.chain.stop(place, &self.setting.stop);
        stop.time = stop
            .time
            .map(|time| time.saturating_sub(self.begin.elapsed()));
        let (a, before) = (
            &self.setting.system.matrix,
            self.setting.system.matrix.traffic(),
        );
        let outcome = made
            .iteration
            .iterate(a.operator(), b, x, &stop, self.setting.ws)?;
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
        let facts = self.setting.system.facts()?;
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

    fn finish(
        mut self,
        place: usize,
        mut best: Solution<T>,
        b: &RightHandSide<'_, T>,
    ) -> Result<Solution<T>> {
        let (system, mut stop) = (self.setting.system, self.setting.stop.clone());
        let spent = self.begin.elapsed().saturating_sub(self.setup);
        stop.time = stop.time.map(|time| time.saturating_sub(spent));
        b.judge(
            system,
            &mut best.x,
            &stop,
            &mut best.outcome,
            self.setting.ws,
        )?;
        if self.count > 1 {
            let outcome = &best.outcome;
            self.messages.push(format!(
                "the best answer is that of {}: {}, residual {:.1e}",
                self.chain.attempts[place].name(),
                outcome.status,
                outcome.relative_residual
            ));
        }
        let a = &self.setting.system.matrix;
        let sent = a.traffic().since(&self.before);
        let traffic = a.shared();
        Ok(Solution {
            messages: self.messages,
            setup: self.setup,
            solving: self.begin.elapsed().saturating_sub(self.setup),
            traffic: traffic.map(|_| [sent.since(&self.iterations), self.iterations]),
            ..best
        })
    }
}
