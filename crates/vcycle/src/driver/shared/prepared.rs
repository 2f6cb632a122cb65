//! A set-up over ranks that is kept.

use std::sync::Arc;
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

impl SharedPrepared {
    /// Sets up what `config` says, or the best choice where it says `auto`.
    ///
    /// # Errors
    /// As [`solve_shared`].
    pub fn new(config: &Config, given: SharedSystem, ws: &Workspace) -> Result<Self> {
        Self::with_kept(config.clone(), given, Kept::default(), ws)
    }

    fn with_kept(asked: Config, given: SharedSystem, kept: Kept, ws: &Workspace) -> Result<Self> {
        let begin = Instant::now();
        let team = given.matrix.team();
        let none = Vector::zeros(given.matrix.executor(), given.matrix.size().rows, 1);
        team.agree(none.and_then(|b| check(&asked, &given, &b)))?;
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

    /// Takes other values for the entries of own rows, in the order of [`Distributed::local`](crate::matrix::Distributed::local):
    /// the levels of multigrid are [renewed](crate::multigrid::Setup), everything else is set up anew. Where the last solve
    /// took more than twice the iterations of the first, so are the levels.
    ///
    /// # Errors
    /// For another number of values, and as [`new`](Self::new). The old set-up then stays.
    pub fn update_values(&mut self, values: Vec<f64>, ws: &Workspace) -> Result<()> {
        let before = &self.given.matrix;
        let matrix = Arc::new(before.team().agree(before.with_values(values))?);
        let given = SharedSystem {
            matrix,
            ..self.given.clone()
        };
        let kept = self.wear.kept(&mut self.kept);
        let mut renewed = Self::with_kept(self.asked.clone(), given, kept, ws)?;
        if renewed.kept.reused() {
            renewed.wear = Wear::after(&self.wear);
        }
        *self = renewed;
        Ok(())
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
        let team = self.given.matrix.team();
        let fitting = Size::new(self.rows(), b.cols());
        team.agree(check_size("right-hand side", fitting, b.size()))?;
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
        let r = self.analysis.right_hand_side(r)?;
        self.ready.solver.preconditioner().apply(&r, z, ws)?;
        self.analysis.finish(z)
    }

    /// Own rows of the matrix.
    pub fn rows(&self) -> usize {
        self.given.matrix.size().rows
    }

    /// The rows of this rank.
    pub fn system(&self) -> &SharedSystem {
        &self.given
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicator::threads;
    use crate::executor::Executor;
    use crate::gallery;
    use crate::matrix::{Distributed, Partition};

    #[test]
    fn other_values_renew_the_levels_of_all_ranks() {
        let whole = gallery::build("poisson5:40", &Executor::cpu())
            .unwrap()
            .matrix;
        threads::run(2, |team| {
            let rank = Executor::cpu_with_threads(1)?.with_team(&team)?;
            let a = Distributed::part_of(&rank, &whole, Partition::even(1600, 1, 2))?;
            let values = a.local().values().to_vec();
            let (ws, config) = (Workspace::new(), Config::default());
            let mut prepared = SharedPrepared::new(&config, SharedSystem::new(Arc::new(a)), &ws)?;
            let b = Vector::filled(&rank, prepared.rows(), 1, 1.0)?;
            let first = prepared.solve(&b, None, &config.stop, &ws)?;
            // Negative values, too: -2 A x = b.
            prepared.update_values(values.iter().map(|value| -2.0 * value).collect(), &ws)?;
            assert!(
                prepared
                    .messages()
                    .concat()
                    .contains("levels of an earlier set-up reused")
            );
            let second = prepared.solve(&b, None, &config.stop, &ws)?;
            assert_eq!(second.outcome.iterations, first.outcome.iterations);
            for (x, y) in first.x.to_vec().into_iter().zip(second.x.to_vec()) {
                assert!((x + 2.0 * y).abs() <= 1e-6 * x.abs().max(1.0));
            }
            assert!(prepared.update_values(vec![1.0], &ws).is_err());
            Ok(())
        })
        .unwrap();
    }
}
