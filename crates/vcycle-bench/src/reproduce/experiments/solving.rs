//! Solves, as most experiments make them.

use std::sync::Arc;

use vcycle::config::{Config, Solution, System, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery;
use vcycle::matrix::Csr;
use vcycle::vector::Vector;

use super::super::record::Value;
use crate::common::Result;
use crate::peers::{Measurement, Peers};
use crate::problem;

/// A problem of the gallery, ready to be solved.
pub(super) struct Ready {
    name: String,
    system: System<f64>,
    b: Vector<f64>,
}

/// A solve, or why there is none: numbers that a precision cannot hold are refused, say.
pub(super) type Tried = std::result::Result<Solution<f64>, String>;

impl Ready {
    pub fn new(problem: &str, executor: &Executor) -> Result<Self> {
        let made = gallery::build(problem, executor)?;
        let b = Vector::from_column(executor, made.rhs.clone());
        Ok(Self {
            name: problem.to_owned(),
            system: System::from(made),
            b,
        })
    }

    /// Solves three times at most, within some seconds; the solution of the shortest.
    pub fn solve(&self, config: &Config) -> Result<Solution<f64>> {
        let tried = self.race(std::slice::from_ref(config), 3).pop();
        Ok(tried.ok_or("nothing was solved")??)
    }

    /// Lets configurations take turns for some rounds; of each the shortest solve, with its shortest set-up. Solves of
    /// several seconds have one round.
    pub fn race(&self, configs: &[Config], rounds: usize) -> Vec<Tried> {
        let mut best: Vec<Option<Tried>> = vec![None; configs.len()];
        for _ in 0..rounds {
            for (config, best) in configs.iter().zip(&mut best) {
                let is_long = |one: &Solution<f64>| (one.setup + one.solving).as_secs_f64() > 2.0;
                if best
                    .as_ref()
                    .is_some_and(|tried| !tried.as_ref().is_ok_and(|one| !is_long(one)))
                {
                    continue;
                }
                let solved = solve_system(config, &self.system, &self.b, &Workspace::new());
                let tried = solved.map_err(|error| error.to_string());
                *best = Some(shorter(best.take(), tried));
            }
        }
        best.into_iter().flatten().collect()
    }

    /// What peers take for the same system, as values of a row.
    pub fn beside(&self, peers: &Peers, row: &str) -> Result<Vec<Value>> {
        let solves = self.solved_by(peers)?;
        let values = |(who, one): (&str, Measurement)| {
            let note = if one.converged() { "" } else { "not converged" };
            [
                Value::iterations(row, one.iterations).noting(note).by(who),
                Value::new(row, "set-up", "s", one.setup).by(who),
                Value::new(row, "solve", "s", one.solve).by(who),
            ]
        };
        Ok(solves.into_iter().flat_map(values).collect())
    }

    /// Solves of the same system by peers.
    pub fn solved_by(&self, peers: &Peers) -> Result<Vec<(&'static str, Measurement)>> {
        match peers.is_empty() {
            true => Ok(Vec::new()),
            false => peers.solve(&problem::system(&Executor::cpu(), &self.name)?),
        }
    }

    pub fn matrix(&self) -> &Arc<Csr<f64>> {
        &self.system.matrix
    }

    pub fn rhs(&self) -> &Vector<f64> {
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
pub(super) fn remark(solution: &Solution<f64>) -> String {
    match solution.outcome.converged() {
        true => String::new(),
        false => solution.outcome.status.to_string(),
    }
}

/// Iterations and milliseconds of a solve, or why there are none.
pub(super) fn of_solve(row: &str, tried: &Tried) -> [Value; 2] {
    let (iterations, seconds, note) = match tried {
        Ok(solution) => (
            solution.outcome.iterations,
            solution.solving.as_secs_f64(),
            remark(solution),
        ),
        Err(error) => (0, 0.0, format!("refused: {error}")),
    };
    [
        Value::iterations(row, iterations).noting(note),
        Value::new(row, "solve", "ms", 1e3 * seconds),
    ]
}

/// Complexities, iterations and seconds of a solve.
pub(super) fn in_full(row: &str, solution: &Solution<f64>) -> Vec<Value> {
    let mut values = Vec::new();
    if let Some(report) = &solution.multigrid {
        values.push(Value::new(
            row,
            "grid complexity",
            "",
            report.grid_complexity(),
        ));
        let operators = report.operator_complexity();
        values.push(Value::new(row, "operator complexity", "", operators));
    }
    values.push(Value::iterations(row, solution.outcome.iterations).noting(remark(solution)));
    values.push(Value::new(row, "set-up", "s", solution.setup.as_secs_f64()));
    values.push(Value::new(
        row,
        "solve",
        "s",
        solution.solving.as_secs_f64(),
    ));
    values
}

/// All of a problem that is only of the kind of the paper's.
pub(super) fn of_the_kind(values: Vec<Value>) -> Vec<Value> {
    let mark = |value: Value| value.of_the_kind(true);
    values.into_iter().map(mark).collect()
}

/// The geometric mean.
pub(super) fn mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (sum / values.len().max(1) as f64).exp()
}
