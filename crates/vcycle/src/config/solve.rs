//! From a configuration and a system to a solution.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::auto::{Attempt, attempts};
use super::precision::{Wide, Working};
use super::refine::refine;
use super::{Config, ConfigError, Facts};
use crate::error::Result;
use crate::executor::Workspace;
use crate::linop::LinOp;
use crate::matrix::Csr;
use crate::solver::{Solver, SolverFactory};
use crate::stop::{Outcome, Status, Stop};
use crate::vector::Vector;

/// A solved system and how it was solved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution<T> {
    /// The solution, or the best guess: look at the outcome.
    pub x: Vector<T>,
    /// How the last attempt ended.
    pub outcome: Outcome,
    /// The configuration with every `auto` decided.
    pub config: Config,
    /// What `auto` chose, what failed and what was done about it.
    pub messages: Vec<String>,
    /// Time of all set-ups.
    pub setup: Duration,
    /// Time of all iterations.
    pub solving: Duration,
    /// Bytes of the stored matrix and of the preconditioner.
    pub bytes: usize,
}

/// Solves `A x = b` from a zero guess as `config` says.
///
/// Where it says `auto`, the combinations of [`attempts`] are tried in order: the next one after
/// a failed set-up, another solver after an indefinite matrix, a breakdown, divergence or
/// stagnation. What happened is told in [`Solution::messages`].
///
/// ```
/// use std::sync::Arc;
/// use vcycle::{config::{self, Config}, executor::{Executor, Workspace}, matrix::Csr, vector::Vector};
/// let cpu = Executor::cpu();
/// let a = Arc::new(Csr::diagonal_matrix(&cpu, vec![1.0, 2.0, 4.0]));
/// let b = Vector::filled(&cpu, 3, 1, 1.0)?;
/// let config = Config::from_toml(r#"
///     solver = "cg"
///     preconditioner = "jacobi"
/// "#)?;
/// let solution = config::solve(&config, &a, &b, &Workspace::new())?;
/// assert!(solution.outcome.converged());
/// # Ok::<(), vcycle::Error>(())
/// ```
///
/// # Errors
/// When the configuration does not fit the matrix, operands do not fit each other, or no
/// attempt's set-up succeeds. Not converging is no error.
pub fn solve<T: Wide>(
    config: &Config,
    a: &Arc<Csr<T>>,
    b: &Vector<T>,
    ws: &Workspace,
) -> Result<Solution<T>> {
    match config.precision.working.kind(false) {
        Some(crate::scalar::Kind::F64) => Driver::<T, T>::new(config, a, ws)?.solve(b),
        _ => Driver::<T, T::Narrow>::new(config, a, ws)?.solve(b),
    }
}

/// Tries one attempt after the other with vectors of `W`.
struct Driver<'d, T: Wide, W: Working> {
    config: &'d Config,
    a: &'d Arc<Csr<T>>,
    /// The matrix as it is stored for the solver.
    operator: Arc<dyn LinOp<W>>,
    stop: Stop,
    attempts: Vec<Attempt>,
    ws: &'d Workspace,
    messages: Vec<String>,
    begin: Instant,
    setup: Duration,
}

impl<'d, T: Wide, W: Working> Driver<'d, T, W> {
    fn new(config: &'d Config, a: &'d Arc<Csr<T>>, ws: &'d Workspace) -> Result<Self> {
        let begin = Instant::now();
        let stage = ws.stage("analysis", 0);
        let stop = config.stop.stop()?;
        let operator = W::operator(a, config.precision.matrix)?;
        let attempts = attempts(config, || Facts::of(a.as_ref()));
        drop(stage);
        Ok(Self {
            config,
            a,
            operator,
            stop,
            attempts,
            ws,
            messages: Vec::new(),
            begin,
            setup: begin.elapsed(),
        })
    }

    fn solve(mut self, b: &Vector<T>) -> Result<Solution<T>> {
        let mut place = 0;
        loop {
            let attempt = self.attempts[place].clone();
            if !attempt.reason.is_empty() {
                self.messages.push(attempt.reason.clone());
            }
            let solver = match self.set_up(&attempt) {
                Ok(solver) => solver,
                Err(error) if place + 1 < self.attempts.len() => {
                    self.messages.push(format!("set-up failed: {error}"));
                    place += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut x = Vector::zeros_like(b)?;
            let outcome = self.iterate(&solver, b, &mut x)?;
            match self.next(place, outcome.status) {
                Some(next) => {
                    let name = attempt.solver.name();
                    let why = outcome.status.explanation();
                    self.messages
                        .push(format!("{name}: {}: {why}", outcome.status));
                    place = next;
                }
                None => return Ok(self.finish(&attempt, &solver, x, outcome)),
            }
        }
    }

    fn set_up(&mut self, attempt: &Attempt) -> Result<Solver<W>> {
        let begin = Instant::now();
        let _stage = self.ws.stage("set-up", 0);
        let factory = SolverFactory {
            method: attempt.solver.method()?,
            preconditioner: attempt.preconditioner.factory()?,
            stop: self.stop.clone(),
        };
        let solver = factory.solver(&self.operator, self.ws);
        self.setup += begin.elapsed();
        solver
    }

    fn iterate(&self, solver: &Solver<W>, b: &Vector<T>, x: &mut Vector<T>) -> Result<Outcome> {
        let mut stop = self.stop.clone();
        let solving = self.begin.elapsed().saturating_sub(self.setup);
        stop.time = stop.time.map(|time| time.saturating_sub(solving));
        let any: &dyn std::any::Any = solver;
        match any.downcast_ref::<Solver<T>>() {
            Some(same) if self.config.precision.is_double() => same.solve_in(b, x, &stop, self.ws),
            _ => {
                let accuracy = 64.0 * self.config.precision.roundoff();
                refine(self.a, solver, b, x, &stop, accuracy, self.ws)
            }
        }
    }

    /// The attempt to go on with after one that ended so; `None` if that was the end.
    fn next(&self, place: usize, status: Status) -> Option<usize> {
        let tried = &self.attempts[place];
        let another_solver = match status {
            Status::Converged | Status::IterationLimit | Status::TimeLimit => return None,
            Status::Indefinite(crate::stop::Part::Preconditioner) => false,
            _ => true,
        };
        (place + 1..self.attempts.len())
            .find(|&next| !another_solver || self.attempts[next].solver != tried.solver)
    }

    fn finish(
        self,
        attempt: &Attempt,
        solver: &Solver<W>,
        x: Vector<T>,
        outcome: Outcome,
    ) -> Solution<T> {
        Solution {
            x,
            outcome,
            config: Config {
                solver: attempt.solver.clone(),
                preconditioner: attempt.preconditioner.clone(),
                ..self.config.clone()
            },
            messages: self.messages,
            setup: self.setup,
            solving: self.begin.elapsed().saturating_sub(self.setup),
            bytes: solver.footprint().held,
        }
    }
}

impl From<ConfigError> for crate::Error {
    fn from(error: ConfigError) -> Self {
        crate::Error::Config(Box::new(error))
    }
}
