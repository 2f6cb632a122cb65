//! A set-up that ranks share, kept.

use std::time::{Duration, Instant};

use super::analysis::Analysis;
use super::choice::Choice;
use super::{Ready, SharedSystem, Solve, check, is_end, solve_shared};
use crate::communicator::Traffic;
use crate::configuration::{Config, StopConfig};
use crate::driver::Solution;
use crate::driver::sequence::Kept;
use crate::driver::storage::Wide;
use crate::driver::wear::Wear;
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::multigrid::Report;
use crate::registration::Symmetry;
use crate::vector::Vector;

/// A set-up of which every rank has its part.
#[derive(Debug)]
pub(super) struct Parts<T: Wide> {
    asked: Config,
    /// Every `auto` decided.
    config: Config,
    given: SharedSystem<T>,
    /// How it is solved.
    analysis: Analysis<T>,
    ready: Ready<T>,
    kept: Kept,
    wear: Wear,
    messages: Vec<String>,
    setup: Duration,
    bytes: usize,
}

impl<T: Wide> Parts<T> {
    pub fn new(config: &Config, given: SharedSystem<T>, ws: &Workspace) -> Result<Self> {
        Self::with_kept(config.clone(), given, Kept::default(), ws)
    }

    fn with_kept(
        asked: Config,
        given: SharedSystem<T>,
        kept: Kept,
        ws: &Workspace,
    ) -> Result<Self> {
        let begin = Instant::now();
        let team = given.matrix.team();
        team.agree(check(&asked))?;
        let analysis = Analysis::new(&asked, &given)?;
        let Choice { attempts, stencil } = Choice::new(&asked, &analysis)?;
        let mut solve = Solve {
            config: &asked,
            system: &analysis.system,
            ws,
            messages: analysis.messages.clone(),
            begin,
            setup: Duration::ZERO,
            first: team.traffic(),
            iterations: Traffic::default(),
            kept: Some(kept),
            stencil,
        };
        let (attempt, ready) = solve.first_of(attempts)?;
        let config = solve.decided(&attempt);
        let (messages, kept) = (solve.messages, solve.kept.unwrap_or_default());
        Ok(Self {
            bytes: ready.bytes,
            setup: begin.elapsed(),
            asked,
            config,
            given,
            analysis,
            ready,
            kept,
            wear: Wear::default(),
            messages,
        })
    }

    /// Takes the same system with other values.
    pub fn update(&mut self, given: SharedSystem<T>, ws: &Workspace) -> Result<()> {
        let kept = self.wear.kept(&mut self.kept);
        let mut renewed = Self::with_kept(self.asked.clone(), given, kept, ws)?;
        if renewed.kept.reused() {
            renewed.wear = Wear::after(&self.wear);
        }
        *self = renewed;
        Ok(())
    }

    /// Solves from a guess or from zero; where the first choice does not converge, [`solve_shared`] goes on with the others.
    pub fn solve(
        &self,
        b: &Vector<T>,
        guess: Option<&Vector<T>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<T>> {
        let begin = Instant::now();
        let better = self.analysis.right_hand_side(b)?;
        let mut x = self.ready.first(guess, &better, ws)?;
        let (a, precision) = (&self.analysis.system.matrix, self.config.precision);
        let (iteration, precision) = (&self.ready.iteration, precision.unwrap_or_default());
        let stop_here = stop.stop()?;
        let outcome = iteration.iterate(a.as_ref(), precision, &better, &mut x, &stop_here, ws)?;
        self.wear.note(outcome.iterations);
        self.wear.note_first(outcome.iterations);
        if !is_end(outcome.status) {
            let mut config = self.asked.clone();
            config.stop = stop.clone();
            let mut system = self.given.clone();
            system.guess = guess.cloned();
            return solve_shared(&config, &system, b, ws);
        }
        self.analysis.finish(&mut x)?;
        Ok(Solution {
            x,
            outcome,
            config: self.config.clone(),
            messages: Vec::new(),
            setup: Duration::ZERO,
            solving: begin.elapsed(),
            bytes: self.bytes,
            multigrid: self.ready.multigrid.clone(),
            traffic: None,
        })
    }

    /// The preconditioner alone, unless it varies.
    pub fn apply(&self, r: &Vector<T>, z: &mut Vector<T>, ws: &Workspace) -> Result<()> {
        let chosen = &self.config.preconditioner;
        if chosen.symmetry() == Symmetry::Varying {
            return Err(Error::Unsupported {
                component: format!("preconditioner `{}`", chosen.name()),
                operation: "being applied by another program: it varies".to_owned(),
            });
        }
        let r = self.analysis.right_hand_side(r)?;
        self.ready.iteration.precondition(&r, z, ws)?;
        self.analysis.finish(z)
    }

    /// Every `auto` decided.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    pub fn report(&self) -> Option<&Report> {
        self.ready.multigrid.as_ref()
    }

    pub fn setup(&self) -> Duration {
        self.setup
    }
}
