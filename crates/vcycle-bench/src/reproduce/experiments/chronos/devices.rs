//! What devices gain: a hundred iterations, stages of the first level, whole solves.

use vcycle::config::{Config, PreconditionerConfig, Solution};
use vcycle::executor::Executor;
use vcycle::multigrid::Report;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::solving::{Ready, in_full, mean, of_the_kind};
use super::multigrid::{classical, preset};
use crate::common::Result;
use crate::peers::Library;

/// Names of the paper, and what stands for them.
type Named = (&'static str, [&'static str; 3]);

const WING: Named = (
    "wing4m",
    [
        "elasticity:6x3x3",
        "elasticity:20x8x8",
        "elasticity:40x14x14",
    ],
);
const AGG: Named = ("agg14m", ["elasticity:4", "elasticity:10", "elasticity:24"]);
const M20: Named = (
    "M20",
    [
        "elasticity:6x3x3,0.45",
        "elasticity:20x8x8,0.45",
        "elasticity:48x16x16,0.45",
    ],
);
const POISSON: Named = ("poi111m", ["poisson7:8", "poisson7:32", "poisson7:100"]);
const ITERATED: [Named; 3] = [
    ("spe10", ["jump7:9,1e6", "jump7:40,1e6", "jump7:100,1e6"]),
    (
        "geo4m",
        [
            "elasticity:6x3x3,0.3,1e3",
            "elasticity:20x8x8,0.3,1e3",
            "elasticity:60x20x20,0.3,1e3",
        ],
    ),
    ("agg14m", ["elasticity:4", "elasticity:12", "elasticity:34"]),
];

const PETSC: &str = "PETSc beside ours, time";

/// A hundred iterations of conjugate gradients with Jacobi; PETSc beside them.
pub(super) fn iterations(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let config: Config = "solver=cg preconditioner=jacobi rtol=0 max-iterations=100".parse()?;
    let peers = scope.peers_among(&[Library::Petsc]);
    let (mut values, mut beside) = (Vec::new(), Vec::new());
    for (name, sizes) in ITERATED {
        let problem = scope.size(sizes);
        let ready = Ready::new(problem, &executor)?;
        let seconds = |one: &Solution<f64>| one.solving.as_secs_f64();
        let ours = ready.solve(&config)?;
        values.push(Value::new(name, "100 iterations", "s", seconds(&ours)));
        for (who, theirs) in ready.solved_by(&peers)? {
            values.push(Value::new(name, "100 iterations", "s", theirs.solve).by(who));
            beside.push((who, theirs.solve / seconds(&ours)));
        }
        if let Some(slower) = on_processor(scope, problem, &config)? {
            let gain = seconds(&slower) / seconds(&ours);
            values.push(Value::factor(name, "processor beside device, time", gain));
        }
    }
    if let Some((who, _)) = beside.first() {
        let factors: Vec<f64> = beside.iter().map(|one| one.1).collect();
        values.push(Value::factor("mean", PETSC, mean(&factors)).by(who));
    }
    Ok(values)
}

/// The same solve on the processor where ours was on a device.
fn on_processor(scope: &Scope, problem: &str, config: &Config) -> Result<Option<Solution<f64>>> {
    match scope.executor()?.device() {
        Some(_) => Ok(Some(Ready::new(problem, &Executor::cpu())?.solve(config)?)),
        None => Ok(None),
    }
}

/// Interpolation and Galerkin product of the first level.
pub(super) fn first_level(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut config = preset("bamg-fsai")?;
    if let PreconditionerConfig::Amg(amg) = &mut config.preconditioner {
        amg.max_levels = 2;
    }
    let mut values = Vec::new();
    for (name, sizes) in [WING, AGG, M20] {
        let problem = scope.size(sizes);
        let ours = Ready::new(problem, &executor)?.solve(&config)?;
        let levels = ours.multigrid.as_ref().ok_or("there are no levels")?;
        let slower = on_processor(scope, problem, &config)?;
        for (stage, quantity) in [("interpolation", "BAMG"), ("galerkin", "product")] {
            let seconds = stage_of(levels, stage);
            values.push(Value::new(name, quantity, "s", seconds));
            if let Some(levels) = slower.as_ref().and_then(|one| one.multigrid.as_ref()) {
                let quantity = format!("{quantity}, processor beside device");
                let gain = stage_of(levels, stage) / seconds;
                values.push(Value::factor(name, &quantity, gain));
            }
        }
        let coarse = levels.levels.get(1).ok_or("there is no second level")?;
        let entries = coarse.nonzeros as f64 / coarse.rows as f64;
        values.push(Value::new(
            name,
            "entries a row of the coarse matrix",
            "",
            entries,
        ));
    }
    Ok(values)
}

/// Seconds of a stage on the first level.
fn stage_of(report: &Report, name: &str) -> f64 {
    let stages = report.levels.first().map_or(&[][..], |level| &level.setup);
    let wanted = stages.iter().filter(|stage| stage.name == name);
    wanted.map(|stage| stage.seconds).sum()
}

/// Set-up and solve with filtered BAMG, or with extended+i for flow.
pub(super) fn whole(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut values = Vec::new();
    for (name, sizes) in [WING, AGG, M20, POISSON] {
        let problem = scope.size(sizes);
        let config = match name {
            "poi111m" => classical("extended+i", "fsai")?,
            _ => preset("fbamg-fsai")?,
        };
        let ours = Ready::new(problem, &executor)?.solve(&config)?;
        values.extend(in_full(name, &ours));
        if let Some(slower) = on_processor(scope, problem, &config)? {
            let total = |one: &Solution<f64>| (one.setup + one.solving).as_secs_f64();
            let gain = total(&slower) / total(&ours);
            values.push(Value::factor(name, "processor beside device, total", gain));
        }
    }
    Ok(of_the_kind(values))
}
