//! Systems that are ready to be solved.

use std::sync::Arc;

use vcycle::config::{Config, Solution, System, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::Csr;
use vcycle::vector::Vector;

use crate::common::Result;
use crate::problem::{self, BenchSystem};

/// A problem of the gallery or of a file, ready to be solved.
pub(crate) struct Ready {
    system: System<f64>,
    b: Vector<f64>,
}

/// A solve, or why there is none: numbers that a precision cannot hold are refused, say.
pub(crate) type Tried = std::result::Result<Solution<f64>, String>;

impl Ready {
    pub(crate) fn new(problem: &str, executor: &Executor) -> Result<Self> {
        Self::of(&problem::system(executor, problem)?, executor)
    }

    /// A system in the memory of an executor.
    pub(crate) fn of(system: &BenchSystem, executor: &Executor) -> Result<Self> {
        Ok(Self {
            system: system.known(system.matrix.copy_to(executor)?),
            b: Vector::from_column(executor, system.rhs.clone()),
        })
    }

    /// Lets configurations take turns for some rounds; of each the shortest solve, with its shortest set-up. Solves of
    /// several seconds have one round.
    pub(crate) fn race(&self, configs: &[Config], rounds: usize) -> Vec<Tried> {
        let mut best: Vec<Option<Tried>> = vec![None; configs.len()];
        for _ in 0..rounds {
            for (config, best) in configs.iter().zip(&mut best) {
                let is_short = |one: &Solution<f64>| (one.setup + one.solving).as_secs_f64() <= 2.0;
                if matches!(best, Some(tried) if !tried.as_ref().is_ok_and(is_short)) {
                    continue;
                }
                let tried = self.once(config).map_err(|error| error.to_string());
                *best = Some(shorter(best.take(), tried));
            }
        }
        best.into_iter().flatten().collect()
    }

    /// Solves three times at most, within some seconds; the solution of the shortest.
    pub(crate) fn solve(&self, config: &Config) -> Result<Solution<f64>> {
        let tried = self.race(std::slice::from_ref(config), 3).pop();
        Ok(tried.ok_or("nothing was solved")??)
    }

    pub(crate) fn once(&self, config: &Config) -> vcycle::Result<Solution<f64>> {
        solve_system(config, &self.system, &self.b, &Workspace::new())
    }

    pub(crate) fn matrix(&self) -> &Arc<Csr<f64>> {
        let whole = self.system.matrix.whole();
        whole.expect("one process has all rows")
    }

    pub(crate) fn rhs(&self) -> &Vector<f64> {
        &self.b
    }
}

fn shorter(old: Option<Tried>, new: Tried) -> Tried {
    match (old, new) {
        (Some(Ok(mut old)), Ok(mut new)) => {
            let setup = old.setup.min(new.setup);
            (old.setup, new.setup) = (setup, setup);
            Ok(if new.solving < old.solving { new } else { old })
        }
        (Some(Ok(old)), Err(_)) => Ok(old),
        (_, new) => new,
    }
}

/// What has to be said of a solve.
pub(crate) fn remark(solution: &Solution<f64>) -> String {
    match solution.outcome.converged() {
        true => String::new(),
        false => solution.outcome.status.to_string(),
    }
}
