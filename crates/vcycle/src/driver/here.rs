//! A set-up that is kept, of the rows of this rank.

use std::borrow::Cow;
use std::time::Instant;

use super::analysis::{Analysis, SystemTransform};
use super::chain::is_better;
use super::ready::Ready;
use super::sequence::Kept;
use super::staleness::Staleness;
use super::storage::Wide;
use super::tried::is_of_matrix;
use super::{Solution, System};
use crate::configuration::{Config, StopConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::registration::Symmetry;
use crate::stop::Status;
use crate::vector::Vector;

/// A set-up of the rows of this rank.
#[derive(Debug)]
pub(super) struct Here<T: Wide> {
    asked: Config,
    /// The system that is solved, where the analysis has found a better one than was given.
    system: System<T>,
    transform: SystemTransform,
    pub ready: Ready<T>,
    kept: Kept,
    staleness: Staleness,
}

impl<T: Wide> Here<T> {
    pub fn new(asked: Config, given: &System<T>, mut kept: Kept, ws: &Workspace) -> Result<Self> {
        let analysis = Analysis::new(&asked, given)?;
        let mut ready = T::prepare(&asked, analysis.system(), &mut kept, ws)?;
        let found = analysis.messages().iter().cloned();
        ready.messages.splice(..0, found);
        ready.setup += analysis.time();
        let (system, transform) = (analysis.system().clone(), analysis.transform().clone());
        Ok(Self {
            asked,
            system,
            transform,
            ready,
            kept,
            staleness: Staleness::default(),
        })
    }

    pub fn update(&mut self, given: &System<T>, ws: &Workspace) -> Result<()> {
        let kept = self.staleness.kept(&mut self.kept);
        let mut renewed = Self::new(self.asked.clone(), given, kept, ws)?;
        if renewed.kept.reused() {
            renewed.staleness = Staleness::after(&self.staleness);
        }
        *self = renewed;
        Ok(())
    }

    pub fn solve(
        &self,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let b = self.transform.right_hand_side(b)?;
        let guess = guess.map(|guess| self.transform.guess(guess)).transpose()?;
        let guess = guess.as_deref();
        let mut solution = self.iterate(&b, guess, stop, ws)?;
        self.staleness.note(solution.outcome.iterations);
        let next = match self.may_be_stale(solution.outcome.status) {
            true => Some(self.ready.place),
            false => self.ready.chain.next(self.ready.place, &solution.outcome),
        };
        if let Some(next) = next {
            solution = self.go_on(next, solution, &b, guess, stop, ws)?;
        }
        self.staleness.note_first(solution.outcome.iterations);
        solution.x = self.transform.solution(solution.x)?;
        Ok(solution)
    }

    /// Whether levels of an earlier matrix may be why a solve has not converged.
    fn may_be_stale(&self, status: Status) -> bool {
        let has_ended_well = matches!(
            status,
            Status::Converged | Status::AccuracyLimit | Status::TimeLimit | Status::Interrupted
        );
        self.kept.reused() && !has_ended_well
    }

    fn iterate(
        &self,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let (ready, begin) = (&self.ready, Instant::now());
        let mut messages = Vec::new();
        let mut b = Cow::Borrowed(b);
        if let Some(nullspace) = &ready.nullspace {
            let (consistent, message) = nullspace.consistent(&b)?;
            b = Cow::Owned(consistent);
            messages.push(message);
        }
        let mut x = match guess {
            Some(guess) => guess.clone(),
            None => match ready.iteration.start(&b, ws)? {
                Some(x) => x,
                None => Vector::zeros_like(&b)?,
            },
        };
        let stop = ready.chain.stop(ready.place, &stop.stop()?);
        let precision = ready.config.precision.unwrap_or_default();
        let iteration = &ready.iteration;
        let outcome = iteration.iterate(ready.a.operator(), precision, &b, &mut x, &stop, ws)?;
        if let Some(nullspace) = &ready.nullspace {
            nullspace.project(&mut x)?;
        }
        Ok(Solution {
            x,
            outcome,
            config: ready.config.clone(),
            messages,
            setup: Default::default(),
            solving: begin.elapsed(),
            bytes: ready.bytes,
            multigrid: ready.multigrid.clone(),
            traffic: None,
        })
    }

    /// Makes one attempt after the other, from the place `next` on; the best answer is handed over.
    fn go_on(
        &self,
        next: usize,
        mut best: Solution<T>,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let mut system = self.system.clone();
        system.guess = guess.cloned();
        let mut place = Some(next);
        while let Some(tried) = place {
            let attempt = &self.ready.chain.attempts[tried];
            let mut config = self.asked.clone();
            attempt.configure(&mut config);
            config.stop = stop.clone();
            let limit = self.ready.chain.stop(tried, &stop.stop()?).iterations;
            config.stop.max_iterations = limit;
            let (status, residual) = (best.outcome.status, best.outcome.relative_residual);
            best.messages.push(format!(
                "{status}, residual {residual:.1e}: {} set up",
                attempt.name()
            ));
            match T::solve_system(&config, &system, b, None, ws) {
                Ok(other) => {
                    place = self.ready.chain.next(tried, &other.outcome);
                    best = better(best, other, attempt.is_direct());
                }
                Err(error) => {
                    // Ranks go on together where the matrix is the cause on one of them.
                    let is_shared = system.matrix.shared().is_some();
                    if !system.matrix.any(!is_shared || is_of_matrix(&error))? {
                        return Err(error);
                    }
                    best.messages.push(format!("set-up failed: {error}"));
                    place = Some(tried + 1).filter(|&next| next < self.ready.chain.attempts.len());
                }
            }
        }
        Ok(best)
    }

    pub fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let attempt = &self.ready.chain.attempts[self.ready.place];
        if attempt.preconditioner.symmetry() == Symmetry::Varying {
            return Err(Error::Unsupported {
                component: format!("preconditioner `{}`", attempt.preconditioner.name()),
                operation: "being applied by another program: it varies".to_owned(),
            });
        }
        let r = self.transform.right_hand_side(r)?;
        let Some(nullspace) = &self.ready.nullspace else {
            return self.cycle(&r, z, ws);
        };
        let mut r = r.into_owned();
        nullspace.project(&mut r)?;
        let mut inner = Vector::zeros_like(&r)?;
        self.ready.iteration.precondition(&r, &mut inner, ws)?;
        nullspace.project(&mut inner)?;
        *z = self.transform.solution(inner)?;
        Ok(())
    }

    fn cycle(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        if !self.transform.renumbers() {
            return self.ready.iteration.precondition(r, z, ws);
        }
        let mut inner = Vector::zeros_like(r)?;
        self.ready.iteration.precondition(r, &mut inner, ws)?;
        *z = self.transform.solution(inner)?;
        Ok(())
    }
}

/// The better one of two, with the messages and the time of both.
fn better<T>(one: Solution<T>, other: Solution<T>, is_direct: bool) -> Solution<T> {
    let messages = [one.messages.as_slice(), &other.messages].concat();
    let (setup, solving) = (one.setup + other.setup, one.solving + other.solving);
    let best = match is_better(&other.outcome, is_direct, &one.outcome) {
        true => other,
        false => one,
    };
    Solution {
        messages,
        setup,
        solving,
        ..best
    }
}
