//! Levels in four precisions on ranks that share a problem.

use vcycle::config::{Config, PreconditionerConfig};
use vcycle::executor::Executor;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::ranks::{Solved, counts, solve};
use super::super::solving::{Ready, mean};
use super::PROBLEMS;
use super::cycles::{HYPRE, PRECISIONS, stages};
use crate::common::Result;
use crate::peers::Library;

pub(super) fn precisions(scope: &Scope) -> Result<Vec<Value>> {
    let ranks = match scope.device.as_str() {
        "cpu" => counts(scope)?.last().copied().unwrap_or(2),
        // They share it: more of them would only wait for each other.
        _ => 2,
    };
    let mut values = vec![Value::new("all", "ranks", "", ranks as f64)];
    let (mut gains, mut beside) = ([const { Vec::new() }; 4], Vec::new());
    for (name, sizes) in PROBLEMS {
        let problem = scope.size(sizes);
        let configs = PRECISIONS.map(|(_, precision)| config(name, precision));
        let configs = configs.into_iter().collect::<Result<Vec<_>>>()?;
        let solved = solve(scope, problem, &configs, (ranks, scope.size([1, 2, 3])))?;
        for ((precision, _), one) in PRECISIONS.iter().zip(&solved) {
            let row = format!("{name}, {precision}");
            let iterations = Value::iterations(&row, one.iterations);
            values.push(iterations.noting(one.remark()).of_the_kind(true));
            values.push(Value::new(&row, "set-up and solve", "s", one.seconds));
            values.push(Value::factor(&row, MIXED, solved[0].seconds / one.seconds));
        }
        for (gains, one) in gains.iter_mut().zip(&solved) {
            gains.push(solved[0].seconds / one.seconds);
        }
        beside.extend(beside_hypre(scope, name, problem, &solved[0])?);
    }
    for ((precision, _), gains) in PRECISIONS.iter().zip(&gains).skip(1) {
        let row = format!("geometric mean, {precision}");
        values.push(Value::factor(row, MIXED, mean(gains)));
    }
    // The last is what the paper has: vectors, too, fall to half precision.
    let [.., half] = &gains;
    values.push(Value::factor("geometric mean", MIXED, mean(half)));
    let best = half.iter().copied().fold(0.0, f64::max);
    values.push(Value::factor("largest", MIXED, best));
    if let Some(who) = beside.first().map(|value| value.who.clone()) {
        let factors: Vec<f64> = beside.iter().map(|value| value.value).collect();
        let best = factors.iter().copied().fold(0.0, f64::max);
        values.extend(beside);
        values.push(Value::factor("geometric mean", HYPRE, mean(&factors)).by(&who));
        values.push(Value::factor("largest", HYPRE, best).by(&who));
    }
    Ok(values)
}

/// Double precision beside another, set-up and solve.
const MIXED: &str = "mixed precision, total";

/// The stages of the paper; flow is not symmetric.
fn config(name: &str, precision: &str) -> Result<Config> {
    let solver = if name.starts_with("flow") {
        "fgmres"
    } else {
        "cg"
    };
    let mut config: Config = format!("solver={solver} preconditioner=amg rtol=1e-8").parse()?;
    if let PreconditionerConfig::Amg(amg) = &mut config.preconditioner {
        *amg = stages(precision)?;
    }
    Ok(config)
}

/// hypre over as many processes as there are cores; nothing where it is absent or does not converge, nor for flow, since its program has conjugate
/// gradients.
fn beside_hypre(scope: &Scope, name: &str, problem: &str, ours: &Solved) -> Result<Option<Value>> {
    let peers = scope.peers_among(&[Library::Hypre]);
    if name.starts_with("flow") || peers.is_empty() {
        return Ok(None);
    }
    let solved = Ready::new(problem, &Executor::cpu())?.solved_by(&peers)?;
    let converged = solved.iter().find(|(_, one)| one.converged());
    let value = |(who, theirs): &(&'static str, crate::peers::Measurement)| {
        Value::factor(name, HYPRE, theirs.total() / ours.seconds).by(who)
    };
    Ok(converged.map(value))
}
