//! Systems whose rows several ranks share.

mod analysis;
mod choice;
mod constants;
mod led;
mod parts;
mod prepared;
mod set_up;
mod system;
mod told;

use std::time::{Duration, Instant};

use self::analysis::Analysis;
use self::choice::Choice;
use super::Solution;
use super::auto::Attempt;
use super::chain::Chain;
use super::sequence::Kept;
use super::storage::Wide;
use crate::communicator::Traffic;
use crate::configuration::{Config, Nullspace, Precision, PreconditionerConfig, RunConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{Size, check_size};
use crate::multigrid::Report;
use crate::stop::{Outcome, Status, Stop};
use crate::structured::StencilMatrix;
use crate::vector::Vector;

pub use prepared::SharedPrepared;
pub use set_up::Ready;
pub(super) use set_up::set_up;
pub use system::SharedSystem;

/// [`solve_system`](super::solve_system) over ranks; all of them call it together, with the same configuration and own
/// rows of the right-hand side. Every rank gets its rows of the solution, and the same outcome. Where all use the same
/// device, rank 0 solves for all as it does alone, unless `gather-rows` of multigrid is 0; then it has the levels to show,
/// and its log the observers.
///
/// # Errors
/// As [`solve_system`](super::solve_system); for what is not made for ranks, with what to use instead; when another
/// rank has failed.
pub fn solve_shared<T: Wide>(
    config: &Config,
    system: &SharedSystem<T>,
    b: &Vector<T>,
    ws: &Workspace,
) -> Result<Solution<T>> {
    let team = system.matrix.team();
    team.agree(check_operands(system, b))?;
    if led::is_meant(config, &system.matrix)? {
        return led::solve(config, system, b, ws);
    }
    T::solve_by_ranks(config, system, b, ws)
}

/// The same where all ranks take part.
pub(super) fn solve_by_ranks<T: Wide>(
    config: &Config,
    system: &SharedSystem<T>,
    b: &Vector<T>,
    ws: &Workspace,
) -> Result<Solution<T>> {
    let team = system.matrix.team();
    team.agree(check(config))?;
    let begin = Instant::now();
    let analysis = Analysis::new(config, system)?;
    let (system, b) = (&analysis.system, &*analysis.right_hand_side(b)?);
    let Choice { attempts, stencil } = Choice::new(config, &analysis)?;
    let chain = Chain::new(attempts.clone(), system.matrix.rows().total() as usize);
    let mut solve = Solve {
        config,
        system,
        ws,
        messages: analysis.messages.clone(),
        begin,
        setup: begin.elapsed(),
        first: team.traffic(),
        iterations: Traffic::default(),
        kept: None,
        stencil,
    };
    let last = attempts.len() - 1;
    let (mut best, mut failure): (Option<Tried<T>>, _) = (None, None);
    for (place, mut attempt) in attempts.into_iter().enumerate() {
        let stop = match attempt.preconditioner {
            PreconditionerConfig::StructMg(_) => chain.stop(place, &config.stop.stop()?),
            _ => config.stop.stop()?,
        };
        let ready = match solve.prepare(&mut attempt)? {
            Ok(ready) => ready,
            Err(error) => {
                failure = Some(error);
                continue;
            }
        };
        let tried = solve.attempt(attempt, ready, b, &stop, place == last)?;
        let ends = tried.ends();
        let residual = |tried: &Tried<T>| tried.outcome.relative_residual.abs();
        let is_better = |best: &Tried<T>| residual(&tried).total_cmp(&residual(best)).is_lt();
        if ends || best.as_ref().is_none_or(is_better) {
            best = Some(tried);
        }
        if ends {
            break;
        }
    }
    match best {
        Some(mut best) => {
            analysis.finish(&mut best.x)?;
            Ok(solve.finish(best))
        }
        None => Err(failure.expect("there is at least one attempt")),
    }
}

fn check_operands<T: Wide>(system: &SharedSystem<T>, b: &Vector<T>) -> Result<()> {
    let rows = system.matrix.size().rows;
    check_size("right-hand side", Size::new(rows, b.cols()), b.size())?;
    match &system.guess {
        Some(guess) => check_size("initial guess", b.size(), guess.size()),
        None => Ok(()),
    }
}

/// Fails for what is not made for ranks.
fn check(config: &Config) -> Result<()> {
    config.solver.registration().check_over_ranks()?;
    config.preconditioner.registration().check_over_ranks()?;
    let is_changed =
        config.equilibrate.is_some() || config.matching.is_some() || config.reorder.is_some();
    let is_projected = config.nullspace == Nullspace::NearNullspace;
    if is_changed || is_projected {
        return Err(Error::Unsupported {
            component: "equilibrate, match, reorder and nullspace = near-nullspace".to_owned(),
            operation: "matrices whose rows several ranks share".to_owned(),
        });
    }
    Ok(())
}

/// One solve.
pub struct Solve<'d, T: Wide> {
    config: &'d Config,
    system: &'d SharedSystem<T>,
    ws: &'d Workspace,
    messages: Vec<String>,
    begin: Instant,
    setup: Duration,
    /// What was sent before, and in iterations.
    first: Traffic,
    iterations: Traffic,
    /// Levels that later matrices are to share.
    kept: Option<Kept>,
    /// The near cells of this rank, until structured multigrid takes them.
    stencil: Option<StencilMatrix<f64>>,
}

/// What an attempt has reached.
struct Tried<T> {
    attempt: Attempt,
    x: Vector<T>,
    outcome: Outcome,
    bytes: usize,
    multigrid: Option<Report>,
}

impl<T> Tried<T> {
    /// Whether there is nothing more to try.
    fn ends(&self) -> bool {
        is_end(self.outcome.status)
    }
}

fn is_end(status: Status) -> bool {
    use Status::{AccuracyLimit, Converged, Interrupted, TimeLimit};
    matches!(status, Converged | AccuracyLimit | Interrupted | TimeLimit)
}

impl<T: Wide> Solve<'_, T> {
    /// The precision that was asked for.
    pub(super) fn precision(&self) -> Precision {
        self.config.precision.unwrap_or_default()
    }

    /// Sets up an attempt. Where the matrix is the cause that it fails, and so on all ranks, the inner error is for the next one to be
    /// tried.
    fn prepare(&mut self, attempt: &mut Attempt) -> Result<Result<Ready<T>>> {
        if !attempt.reason.is_empty() {
            self.messages.push(attempt.reason.clone());
        }
        let begin = Instant::now();
        let _stage = self.ws.stage("set-up", 0);
        let team = self.system.matrix.team();
        let made = team.agree(T::set_up_by_ranks(self, attempt));
        self.setup += begin.elapsed();
        match made {
            Ok(ready) => Ok(Ok(ready)),
            Err(error) if team.any(is_of_matrix(&error))? => {
                self.messages.push(format!("set-up failed: {error}"));
                Ok(Err(error))
            }
            Err(error) => Err(error),
        }
    }

    /// The first of some attempts that can be set up.
    fn first_of(&mut self, attempts: Vec<Attempt>) -> Result<(Attempt, Ready<T>)> {
        let mut failure = None;
        for mut attempt in attempts {
            match self.prepare(&mut attempt)? {
                Ok(ready) => return Ok((attempt, ready)),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.expect("there is at least one attempt"))
    }

    fn attempt(
        &mut self,
        attempt: Attempt,
        ready: Ready<T>,
        b: &Vector<T>,
        stop: &Stop,
        is_last: bool,
    ) -> Result<Tried<T>> {
        let mut x = ready.first(self.system.guess.as_ref(), b, self.ws)?;
        let (a, precision) = (&self.system.matrix, self.precision());
        let before = a.team().traffic();
        let iteration = &ready.iteration;
        let outcome = iteration.iterate(a.as_ref(), precision, b, &mut x, stop, self.ws)?;
        let sent = a.team().traffic().since(&before);
        self.iterations = self.iterations.and(&sent);
        let tried = Tried {
            bytes: ready.bytes,
            attempt,
            x,
            outcome,
            multigrid: ready.multigrid,
        };
        if !is_last && !tried.ends() {
            let (outcome, name) = (&tried.outcome, tried.attempt.name());
            let (count, residual) = (outcome.iterations, outcome.relative_residual);
            let status = outcome.status;
            let told =
                format!("{name}: {status} after {count} iterations, residual {residual:.1e}");
            self.messages.push(told);
        }
        Ok(tried)
    }

    /// The configuration with every `auto` decided.
    fn decided(&self, attempt: &Attempt) -> Config {
        let mut config = self.config.clone();
        config.solver = attempt.solver.clone();
        config.preconditioner = attempt.preconditioner.clone();
        config.precision = Some(self.precision());
        config.run = RunConfig::of(self.system.matrix.executor());
        config
    }

    fn finish(self, best: Tried<T>) -> Solution<T> {
        let config = self.decided(&best.attempt);
        let all = self.system.matrix.team().traffic().since(&self.first);
        Solution {
            traffic: Some([all.since(&self.iterations), self.iterations]),
            x: best.x,
            outcome: best.outcome,
            config,
            messages: self.messages,
            setup: self.setup,
            solving: self.begin.elapsed().saturating_sub(self.setup),
            bytes: best.bytes,
            multigrid: best.multigrid,
        }
    }
}

/// Whether a set-up has failed for what the matrix is, not for want of memory or of a rank: another one may succeed.
fn is_of_matrix(error: &Error) -> bool {
    matches!(
        error,
        Error::BadPivot { .. }
            | Error::InvalidStructure { .. }
            | Error::LevelOverflow { .. }
            | Error::NotAStencil { .. }
            | Error::NotHermitian { .. }
            | Error::Singular { .. }
            | Error::Unsupported { .. }
            | Error::ZeroDiagonal { .. }
    )
}
