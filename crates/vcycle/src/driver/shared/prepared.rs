//! A set-up over ranks that is kept.

use std::time::{Duration, Instant};

use super::{Ready, SharedSystem, Solve, Tried, attempts, check, solve_shared};
use crate::communicator::Traffic;
use crate::configuration::{Config, StopConfig};
use crate::driver::Solution;
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Size, check_size};
use crate::multigrid::Report;
use crate::registration::Symmetry;
use crate::vector::Vector;

/// [`Prepared`](crate::driver::Prepared) for systems whose rows several ranks share: set up once, solved and applied often. All
/// ranks call everything together.
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{communicator::threads, config::{Config, SharedPrepared, SharedSystem}};
/// use vcycle::{executor::{Executor, Workspace}, matrix::{Distributed, Duplicates}, vector::Vector};
/// threads::run(2, |team| {
///     let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
///     let own = team.rank() as u64;
///     let a = Distributed::from_rows(&rank, vec![0, 2], vec![own, 1 - own], vec![2.0, -1.0], Duplicates::Refuse)?;
///     let ws = Workspace::new();
///     let prepared = SharedPrepared::new(&Config::default(), SharedSystem::new(Arc::new(a)), &ws)?;
///     let b = Vector::filled(&rank, 1, 1, 1.0)?;
///     let solution = prepared.solve(&b, None, &prepared.config().stop, &ws)?;
///     assert!(solution.outcome.converged());
///     Ok(())
/// })?;
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Debug)]
pub struct SharedPrepared {
    asked: Config,
    /// Every `auto` decided.
    config: Config,
    system: SharedSystem,
    ready: Ready,
    messages: Vec<String>,
    setup: Duration,
    bytes: usize,
}

impl SharedPrepared {
    /// Sets up what `config` says, or the best choice where it says `auto`.
    ///
    /// # Errors
    /// As [`solve_shared`].
    pub fn new(config: &Config, system: SharedSystem, ws: &Workspace) -> Result<Self> {
        let begin = Instant::now();
        let team = system.matrix.team();
        let none = Vector::zeros(system.matrix.executor(), system.matrix.size().rows, 1);
        team.agree(none.and_then(|b| check(config, &system, &b)))?;
        let mut attempt = attempts(config, &system)?.swap_remove(0);
        let mut solve = Solve {
            config,
            system: &system,
            ws,
            messages: vec![attempt.reason.clone()],
            begin,
            setup: Duration::ZERO,
            first: team.traffic(),
            iterations: Traffic::default(),
        };
        solve.messages.retain(|message| !message.is_empty());
        let ready = solve.set_up(&mut attempt)?;
        let messages = std::mem::take(&mut solve.messages);
        let bytes = ready.solver.footprint().held;
        let decided = solve.decided(&attempt);
        Ok(Self {
            asked: config.clone(),
            config: decided,
            system,
            ready,
            messages,
            setup: begin.elapsed(),
            bytes,
        })
    }

    /// Solves for own rows of one or many right-hand sides, from a guess or from zero. Where the first choice does not converge,
    /// [`solve_shared`] goes on with the others.
    ///
    /// # Errors
    /// When operands do not fit the matrix, or another rank has failed. Not converging is no error.
    pub fn solve(
        &self,
        b: &Vector<f64>,
        guess: Option<&Vector<f64>>,
        stop: &StopConfig,
        ws: &Workspace,
    ) -> Result<Solution<f64>> {
        let team = self.system.matrix.team();
        let fitting = Size::new(self.rows(), b.cols());
        team.agree(check_size("right-hand side", fitting, b.size()))?;
        let begin = Instant::now();
        let mut x = match guess {
            Some(guess) => guess.clone(),
            None => Vector::zeros_like(b)?,
        };
        if let (Some(start), None) = (&self.ready.start, guess) {
            start.apply(b, &mut x, ws)?;
        }
        let outcome = self.ready.solver.solve_in(b, &mut x, &stop.stop()?, ws)?;
        if !Tried::is_end(outcome.status) {
            let mut config = self.asked.clone();
            config.stop = stop.clone();
            let mut system = self.system.clone();
            system.guess = guess.cloned();
            return solve_shared(&config, &system, b, ws);
        }
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

    /// `z = M r`: the preconditioner alone, for own rows.
    ///
    /// # Errors
    /// For a preconditioner that varies, vectors of another length, and when another rank has failed.
    pub fn apply(&self, r: &Vector<f64>, z: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        let chosen = &self.config.preconditioner;
        if chosen.symmetry() == Symmetry::Varying {
            return Err(Error::Unsupported {
                component: format!("preconditioner `{}`", chosen.name()),
                operation: "being applied by another program: it varies".to_owned(),
            });
        }
        self.ready.solver.preconditioner().apply(r, z, ws)
    }

    /// Own rows of the matrix.
    pub fn rows(&self) -> usize {
        self.system.matrix.size().rows
    }

    /// The rows of this rank.
    pub fn system(&self) -> &SharedSystem {
        &self.system
    }

    /// The configuration with every `auto` decided.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What `auto` chose and why, and what else is to be said of the set-up.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// The levels, where the preconditioner is multigrid.
    pub fn report(&self) -> Option<&Report> {
        self.ready.multigrid.as_ref()
    }

    /// Time of the set-up.
    pub fn setup(&self) -> Duration {
        self.setup
    }
}
