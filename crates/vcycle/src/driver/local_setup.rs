//! A set-up of the rows of this rank, and what it leaves for the next matrix.

use std::borrow::Cow;
use std::sync::Arc;

use super::analysis::{Analysis, SystemTransform};
use super::kept::{Kept, Staleness};
use super::ready::Ready;
use super::reduction::{Reduction, around};
use super::set_up::Setting;
use super::tries::Tries;
use super::{Solution, System, Wide};
use crate::configuration::{Config, StopConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::registration::Symmetry;
use crate::stop::Stop;
use crate::vector::Vector;

/// A set-up of the rows of this rank.
#[derive(Debug)]
pub(super) struct LocalSetup<T: Wide> {
    asked: Config,
    /// The system that is solved, where the analysis has found a better one than was given.
    system: System<T>,
    transform: SystemTransform,
    reduction: Option<Arc<Reduction<T>>>,
    pub ready: Ready<T>,
    kept: Kept,
    staleness: Staleness,
}

impl<T: Wide> LocalSetup<T> {
    /// Sets up for so many right-hand sides at once, with what the matrix before has left.
    pub fn new(
        asked: Config,
        given: &System<T>,
        (mut kept, fresh): (Kept, usize),
        columns: usize,
        ws: &Workspace,
    ) -> Result<Self> {
        let analysis = Analysis::new(&asked, given)?;
        let tries = Tries::new(&asked, analysis.system(), Some(&mut kept), ws)?;
        let mut ready = tries.prepare(columns)?;
        ready
            .messages
            .splice(..0, analysis.messages().iter().cloned());
        ready.setup += analysis.time;
        let (system, transform) = (analysis.system().clone(), analysis.transform.clone());
        let reduction = analysis.reduction.clone();
        let fresh = if kept.reused() { fresh } else { 0 };
        Ok(Self {
            asked,
            system,
            transform,
            reduction,
            ready,
            kept,
            staleness: Staleness::new(fresh),
        })
    }

    /// What is left for the next matrix, nothing where the levels do not suit the last one; and the iterations of the first
    /// solve with levels of its own.
    pub fn hand_over(&mut self) -> (Kept, usize) {
        let kept = match self.staleness.is_stale() {
            true => Kept::default(),
            false => std::mem::take(&mut self.kept),
        };
        (kept, self.staleness.fresh())
    }

    /// Whether the levels of an earlier matrix do not suit this one.
    pub fn is_stale(&self) -> bool {
        self.kept.reused() && self.staleness.is_stale()
    }

    pub fn update(&mut self, given: &System<T>, ws: &Workspace) -> Result<()> {
        let before = self.hand_over();
        *self = Self::new(self.asked.clone(), given, before, 1, ws)?;
        Ok(())
    }

    /// Solves the system that was given for operands that fit.
    pub fn solve(
        &self,
        given: &System<T>,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let reduction = self.reduction.as_deref();
        let left = reduction.zip(guess).map(|(one, guess)| one.gather(guess));
        let left = left.transpose()?;
        let guess = left.as_ref().or(guess);
        around(reduction, given, b, stop.stop()?, ws, |b, stop| {
            self.solve_left(given, b, guess, stop, ws)
        })
    }

    /// Solves for the rows that are left where some are substituted.
    fn solve_left(
        &self,
        given: &System<T>,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: Stop,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let b = self.transform.right_hand_side(b)?;
        let guess = guess.map(|guess| self.transform.guess(guess)).transpose()?;
        let (ready, chain) = (&self.ready, Cow::Borrowed(&self.ready.chain));
        let setting = Setting {
            nullspace: ready.nullspace.as_ref().map(Cow::Borrowed),
            symmetrised: ready.symmetrised.clone(),
            ..Setting::new(&self.asked, &self.system, stop, ws)
        };
        let mut tries = Tries::begun(setting, chain);
        tries.guess = guess.as_deref();
        let (first, solution) = tries.solve_ready(ready, self.kept.reused(), &b)?;
        self.staleness.note(first, solution.outcome.iterations);
        self.transform.undo(given, solution)
    }

    pub fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let attempt = &self.ready.chain.attempts[self.ready.place];
        if attempt.preconditioner.symmetry() == Symmetry::Varying {
            return Err(Error::Unsupported {
                component: format!("preconditioner `{}`", attempt.preconditioner.name()),
                operation: "being applied by another program: it varies".to_owned(),
            });
        }
        let Some(reduction) = &self.reduction else {
            return self.apply_left(r, z, ws);
        };
        let part = reduction.right_hand_side(r, ws)?;
        let mut left = Vector::zeros_like(&part.b)?;
        self.apply_left(&part.b, &mut left, ws)?;
        *z = reduction.expand(r, &part, &left)?;
        Ok(())
    }

    /// Applies the preconditioner to the rows that are left where some are substituted.
    fn apply_left(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let r = self.transform.right_hand_side(r)?;
        let (iteration, nullspace) = (&self.ready.made.iteration, &self.ready.nullspace);
        if nullspace.is_none() && self.transform.keeps_solutions() {
            return iteration.precondition(&r, z, ws);
        }
        let mut inner = Vector::zeros_like(&r)?;
        let mut r = r.into_owned();
        let project = |x: &mut Vector<T>| nullspace.as_ref().map_or(Ok(()), |one| one.project(x));
        project(&mut r)?;
        iteration.precondition(&r, &mut inner, ws)?;
        project(&mut inner)?;
        *z = self.transform.solution(inner)?;
        Ok(())
    }
}
