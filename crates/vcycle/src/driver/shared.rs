//! Systems whose rows several ranks share.

mod analysis;
mod choice;
mod constants;
mod led;
mod parts;
mod prepared;
mod system;
mod told;

use std::sync::Arc;
use std::time::{Duration, Instant};

use self::analysis::Analysis;
use self::choice::Choice;
use super::Solution;
use super::auto::Attempt;
use super::chain::Chain;
use super::sequence::Kept;
use crate::communicator::Traffic;
use crate::configuration::{Config, ConfigError, Nullspace, PreconditionerConfig, RunConfig};
use crate::error::{Error, Result};
use crate::executor::Workspace;
use crate::linop::{LinOp, Size, check_size};
use crate::multigrid::{NearNullspace, Report};
use crate::solver::{Solver, SolverFactory};
use crate::stop::{Outcome, Status, Stop};
use crate::structured::StencilMatrix;
use crate::vector::Vector;

pub use prepared::SharedPrepared;
pub use system::SharedSystem;

/// [`solve_system`](super::solve_system) over ranks; all of them call it together, with the same configuration and own
/// rows of the right-hand side. Every rank gets its rows of the solution, and the same outcome. Where all use the same
/// device, rank 0 solves for all as it does alone, unless `gather-rows` of multigrid is 0; then it has the levels to show,
/// and its log the observers.
///
/// # Errors
/// As [`solve_system`](super::solve_system); for what is not made for ranks, with what to use instead; when another
/// rank has failed. A set-up that fails ends the solve: no other is tried.
pub fn solve_shared(
    config: &Config,
    system: &SharedSystem,
    b: &Vector<f64>,
    ws: &Workspace,
) -> Result<Solution<f64>> {
    let team = system.matrix.team();
    team.agree(check_operands(system, b))?;
    if led::is_meant(config, &system.matrix)? {
        return led::solve(config, system, b, ws);
    }
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
    let mut best: Option<Tried> = None;
    for (place, attempt) in attempts.into_iter().enumerate() {
        let stop = match attempt.preconditioner {
            PreconditionerConfig::StructMg(_) => chain.stop(place, &config.stop.stop()?),
            _ => config.stop.stop()?,
        };
        let tried = solve.attempt(attempt, b, &stop, place == last)?;
        let ends = tried.ends();
        let residual = |tried: &Tried| tried.outcome.relative_residual.abs();
        let is_better = |best: &Tried| residual(&tried).total_cmp(&residual(best)).is_lt();
        if ends || best.as_ref().is_none_or(is_better) {
            best = Some(tried);
        }
        if ends {
            break;
        }
    }
    let mut best = best.expect("there is at least one attempt");
    analysis.finish(&mut best.x)?;
    Ok(solve.finish(best))
}

fn check_operands(system: &SharedSystem, b: &Vector<f64>) -> Result<()> {
    let rows = system.matrix.size().rows;
    check_size("right-hand side", Size::new(rows, b.cols()), b.size())?;
    match &system.guess {
        Some(guess) => check_size("initial guess", b.size(), guess.size()),
        None => Ok(()),
    }
}

/// Fails for what is not made for ranks.
fn check(config: &Config) -> Result<()> {
    if !config.precision.unwrap_or_default().is_double() {
        let reason = "precision: over ranks the solver works in dp; give multigrid a precision of its own, \
                      `preconditioner = \"amg:precision=sp\"`";
        return Err(ConfigError::Conflict(reason.to_owned()).into());
    }
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
struct Solve<'d> {
    config: &'d Config,
    system: &'d SharedSystem,
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

/// What is set up.
#[derive(Debug)]
struct Ready {
    solver: Solver<f64>,
    multigrid: Option<Report>,
    /// What finds the initial guess, if that is not zero.
    start: Option<Arc<dyn LinOp<f64>>>,
}

/// What an attempt has reached.
struct Tried {
    attempt: Attempt,
    x: Vector<f64>,
    outcome: Outcome,
    bytes: usize,
    multigrid: Option<Report>,
}

impl Tried {
    /// Whether there is nothing more to try.
    fn ends(&self) -> bool {
        Self::is_end(self.outcome.status)
    }

    fn is_end(status: Status) -> bool {
        use Status::{AccuracyLimit, Converged, Interrupted, TimeLimit};
        matches!(status, Converged | AccuracyLimit | Interrupted | TimeLimit)
    }
}

impl Solve<'_> {
    fn attempt(
        &mut self,
        mut attempt: Attempt,
        b: &Vector<f64>,
        stop: &Stop,
        is_last: bool,
    ) -> Result<Tried> {
        if !attempt.reason.is_empty() {
            self.messages.push(attempt.reason.clone());
        }
        let begin = Instant::now();
        let Ready {
            solver,
            multigrid,
            start,
        } = {
            let _stage = self.ws.stage("set-up", 0);
            self.set_up(&mut attempt)?
        };
        self.setup += begin.elapsed();
        let mut x = match &self.system.guess {
            Some(guess) => guess.clone(),
            None => Vector::zeros_like(b)?,
        };
        if let (Some(start), None) = (start, &self.system.guess) {
            start.apply(b, &mut x, self.ws)?;
        }
        let before = self.system.matrix.team().traffic();
        let outcome = solver.solve_in(b, &mut x, stop, self.ws)?;
        let sent = self.system.matrix.team().traffic().since(&before);
        self.iterations = self.iterations.and(&sent);
        let tried = Tried {
            bytes: solver.footprint().held,
            attempt,
            x,
            outcome,
            multigrid,
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

    fn set_up(&mut self, attempt: &mut Attempt) -> Result<Ready> {
        attempt.check()?;
        let a: Arc<dyn LinOp<f64>> = Arc::clone(&self.system.matrix) as _;
        let factory = SolverFactory {
            method: attempt.solver.method()?,
            preconditioner: None,
            stop: self.config.stop.stop()?,
        };
        let solver = factory.solver(&a, self.ws)?;
        if let PreconditionerConfig::Amg(amg) = &attempt.preconditioner {
            let components = NearNullspace::components(amg.block_size)?;
            let near = self.system.near_nullspace.as_ref().unwrap_or(&components);
            let (hierarchy, told) = match &mut self.kept {
                None => (amg.hierarchy_with(&a, near, self.ws)?, None),
                Some(kept) => kept.hierarchy(amg, &a, near, self.ws)?,
            };
            self.messages.extend(told);
            let report = hierarchy.report().clone();
            self.messages.extend(report.stalled.clone());
            self.messages.extend(report.notes.clone());
            let start = amg.fmg_start;
            let start = start.then(|| Arc::clone(hierarchy.full_multigrid()));
            attempt.preconditioner = PreconditionerConfig::Amg(hierarchy.amg().clone());
            return Ok(Ready {
                solver: solver.with_preconditioner(hierarchy.shared())?,
                multigrid: Some(report),
                start,
            });
        }
        if let PreconditionerConfig::StructMg(parameters) = &attempt.preconditioner {
            let (near, shared) = (self.stencil.take(), &self.system.matrix);
            let mut anew = Kept::default();
            let kept = self.kept.as_mut().unwrap_or(&mut anew);
            let (made, told) = kept.structured_of_ranks(parameters, shared, near, self.ws)?;
            self.messages.extend(told);
            self.messages.extend(made.report.notes.clone());
            attempt.preconditioner = PreconditionerConfig::StructMg(made.parameters);
            // Products are those of the stencil, too.
            let solver = match &made.matrix {
                Some(stencil) => factory.solver(stencil, self.ws)?,
                None => solver,
            };
            return Ok(Ready {
                solver: solver.with_preconditioner(made.operator)?,
                multigrid: Some(made.report),
                start: None,
            });
        }
        let solver = match attempt.preconditioner_factory()? {
            None => solver,
            Some(factory) => solver.with_preconditioner(factory.generate(&a, self.ws)?)?,
        };
        Ok(Ready {
            solver,
            multigrid: None,
            start: None,
        })
    }

    /// The configuration with every `auto` decided.
    fn decided(&self, attempt: &Attempt) -> Config {
        let mut config = self.config.clone();
        config.solver = attempt.solver.clone();
        config.preconditioner = attempt.preconditioner.clone();
        config.precision = Some(config.precision.unwrap_or_default());
        config.run = RunConfig::of(self.system.matrix.executor());
        config
    }

    fn finish(self, best: Tried) -> Solution<f64> {
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
