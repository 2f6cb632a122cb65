//! A set-up that ranks share, kept.

use std::time::{Duration, Instant};

use super::analysis::Analysis;
use super::choice::Choice;
use super::{Ready, SharedSystem, Solve, Tried, check, solve_shared};
use crate::communicator::Traffic;
use crate::configuration::{Config, StopConfig};
use crate::driver::Solution;
use crate::driver::sequence::Kept;
use crate::driver::wear::Wear;
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::multigrid::Report;
use crate::registration::Symmetry;
use crate::vector::Vector;

/// A set-up of which every rank has its part.
#[derive(Debug)]
pub(super) struct Parts {
    asked: Config,
    /// Every `auto` decided.
    config: Config,
    given: SharedSystem,
    /// How it is solved.
    analysis: Analysis,
    ready: Ready,
    kept: Kept,
    wear: Wear,
    messages: Vec<String>,
    setup: Duration,
    bytes: usize,
}

impl Parts {
    pub fn new(config: &Config, given: SharedSystem, ws: &Workspace) -> Result<Self> {
        Self::with_kept(config.clone(), given, Kept::default(), ws)
    }

    fn with_kept(asked: Config, given: SharedSystem, kept: Kept, ws: &Workspace) -> Result<Self> {
        let begin = Instant::now();
        let team = given.matrix.team();
        team.agree(check(&asked))?;
        let analysis = Analysis::new(&asked, &given)?;
        let Choice {
            mut attempts,
            stencil,
        } = Choice::new(&asked, &analysis)?;
        let mut attempt = attempts.swap_remove(0);
        let mut messages = analysis.messages.clone();
        messages.push(attempt.reason.clone());
        messages.retain(|message| !message.is_empty());
        let mut solve = Solve {
            config: &asked,
            system: &analysis.system,
            ws,
            messages,
            begin,
            setup: Duration::ZERO,
            first: team.traffic(),
            iterations: Traffic::default(),
            kept: Some(kept),
            stencil,
        };
        let ready = solve.set_up(&mut attempt)?;
        let config = solve.decided(&attempt);
        let (messages, kept) = (solve.messages, solve.kept.unwrap_or_default());
        Ok(Self {
            bytes: ready.solver.footprint().held,
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
    pub fn update(&mut self, given: SharedSystem, ws: &Workspace) -> Result<()> {
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
        b: &Vector<f64>,
        guess: Option<&Vector<f64>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<f64>> {
        let begin = Instant::now();
        let mut x = match guess {
            Some(guess) => guess.clone(),
            None => Vector::zeros_like(b)?,
        };
        let better = self.analysis.right_hand_side(b)?;
        if let (Some(start), None) = (&self.ready.start, guess) {
            start.apply(&better, &mut x, ws)?;
        }
        let solver = &self.ready.solver;
        let outcome = solver.solve_in(&better, &mut x, &stop.stop()?, ws)?;
        self.wear.note(outcome.iterations);
        self.wear.note_first(outcome.iterations);
        if !Tried::is_end(outcome.status) {
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
    pub fn apply(&self, r: &Vector<f64>, z: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        let chosen = &self.config.preconditioner;
        if chosen.symmetry() == Symmetry::Varying {
            return Err(Error::Unsupported {
                component: format!("preconditioner `{}`", chosen.name()),
                operation: "being applied by another program: it varies".to_owned(),
            });
        }
        let r = self.analysis.right_hand_side(r)?;
        self.ready.solver.preconditioner().apply(&r, z, ws)?;
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
