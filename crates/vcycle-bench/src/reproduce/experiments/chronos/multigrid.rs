//! Interpolations, smoothers and their set-ups.

use vcycle::config::{Config, Solution};

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::solving::{Ready, in_full, mean, of_the_kind};
use crate::common::Result;
use crate::peers::Library;

/// Names of the paper, and what stands for them.
const FLOW: [(&str, [&str; 3]); 4] = [
    ("finger4m", ["poisson5:20", "poisson5:200", "poisson5:800"]),
    (
        "rtanis44m",
        ["aniso7:8,0.01", "aniso7:32,0.01", "aniso7:90,0.01"],
    ),
    ("poi65m", ["poisson7:8", "poisson7:32", "poisson7:90"]),
    ("Pflow73m", ["jump7:9,1e6", "jump7:32,1e6", "jump7:80,1e6"]),
];

/// Conjugate gradients with classical multigrid, all entries of the interpolation kept.
pub(super) fn classical(interpolation: &str, smoother: &str) -> Result<Config> {
    let text = format!(
        "solver = \"cg\"\n[preconditioner]\nname = \"amg\"\ncoarsening = \"pmis\"\ninterpolation = \"{interpolation}\"\n\
         smoother = \"{smoother}\"\nprecision = \"dp\"\n[preconditioner.truncation]\nmax-elements = 0\n[stop]\nrtol = 1e-8\nmax-iterations = 2000"
    );
    Ok(Config::from_toml(&text)?)
}

/// Extended+i with a smoother; BoomerAMG beside it.
pub(super) fn smoothed(scope: &Scope, smoother: &str) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let peers = scope.peers_among(&[Library::Hypre]);
    let mut values = Vec::new();
    for (name, sizes) in FLOW {
        if name == "rtanis44m" {
            continue;
        }
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let solution = ready.solve(&classical("extended+i", smoother)?)?;
        values.extend(in_full(&format!("{name}, Chronos"), &solution));
        values.extend(ready.beside(&peers, &format!("{name}, BoomerAMG"))?);
    }
    Ok(of_the_kind(values))
}

/// Three interpolations with FSAI.
pub(super) fn interpolations(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut values = Vec::new();
    for (name, sizes) in FLOW {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        for interpolation in ["classical", "hybrid", "extended+i"] {
            let solution = ready.solve(&classical(interpolation, "fsai")?)?;
            values.extend(in_full(&format!("{name}, {interpolation}"), &solution));
        }
    }
    Ok(of_the_kind(values))
}

const BAMG: [(&str, &str); 3] = [
    ("BAMG", "bamg-fsai"),
    ("SBAMG", "sbamg-fsai"),
    ("FBAMG", "fbamg-fsai"),
];

pub(super) fn preset(name: &str) -> Result<Config> {
    let mut config = Config::preset(name)?;
    config.stop.rtol = Some(1e-8);
    config.stop.max_iterations = 2000;
    Ok(config)
}

/// One problem of elasticity in all ways.
pub(super) fn tripod(scope: &Scope) -> Result<Vec<Value>> {
    let problem = scope.size([
        "elasticity:6x3x3",
        "elasticity:24x8x8",
        "elasticity:60x20x20",
    ]);
    let ready = Ready::new(problem, &scope.executor()?)?;
    let mut values = Vec::new();
    for (row, name) in BAMG {
        values.extend(in_full(row, &ready.solve(&preset(name)?)?));
    }
    values.extend(in_full(
        "vcycle's own",
        &ready.solve(&preset("mechanics")?)?,
    ));
    let peers = |library| scope.peers_among(&[library]);
    values.extend(ready.beside(&peers(Library::Hypre), "BoomerAMG, unknown-based")?);
    values.extend(ready.beside(&peers(Library::Gamg), "GAMG")?);
    Ok(of_the_kind(values))
}

const MECHANICS: [(&str, [&str; 3]); 3] = [
    (
        "guenda11m",
        [
            "elasticity:6x3x3,0.3,1e3",
            "elasticity:20x8x8,0.3,1e3",
            "elasticity:48x16x16,0.3,1e3",
        ],
    ),
    ("agg14m", ["elasticity:4", "elasticity:10", "elasticity:24"]),
    (
        "M20",
        [
            "elasticity:6x3x3,0.45",
            "elasticity:20x8x8,0.45",
            "elasticity:48x16x16,0.45",
        ],
    ),
];

/// Three problems with three interpolations; GAMG beside them.
pub(super) fn mechanics(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let gamg = scope.peers_among(&[Library::Gamg]);
    let mut values = Vec::new();
    for (problem, sizes) in MECHANICS {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        for (row, name) in BAMG {
            let solution = ready.solve(&preset(name)?)?;
            values.extend(in_full(&format!("{problem}, {row}"), &solution));
        }
        values.extend(ready.beside(&gamg, &format!("{problem}, GAMG"))?);
    }
    Ok(of_the_kind(values))
}

/// The shares of stages that the paper tells apart.
pub(super) fn stages(scope: &Scope) -> Result<Vec<Value>> {
    let problem = scope.size([
        "elasticity:6x3x3",
        "elasticity:20x8x8",
        "elasticity:48x16x16",
    ]);
    let ready = Ready::new(problem, &scope.executor()?)?;
    let solution = ready.solve(&preset("fbamg-fsai")?)?;
    let report = solution.multigrid.as_ref().ok_or("there are no levels")?;
    let by_stage = report.setup_by_stage();
    let all: f64 = by_stage.iter().map(|stage| stage.seconds).sum();
    let share = |names: &[&str]| {
        let wanted = by_stage.iter().filter(|stage| names.contains(&stage.name));
        100.0 * wanted.fold(0.0, |sum, stage| sum + stage.seconds) / all
    };
    let rows = [
        ("smoother", &["smoother", "smoothers"][..]),
        ("test space", &["test space"]),
        ("strength", &["strength", "coarsening"]),
        ("prolongation", &["interpolation"]),
        ("product", &["galerkin"]),
    ];
    let value =
        |(row, names): (&str, &[&str])| Value::new(row, "share of the set-up", "%", share(names));
    Ok(rows.into_iter().map(value).collect())
}

const SINGLE: [(&str, [&str; 3]); 4] = [
    (
        "geo4m",
        [
            "elasticity:6x3x3,0.3,1e3",
            "elasticity:20x8x8,0.3,1e3",
            "elasticity:40x14x14,0.3,1e3",
        ],
    ),
    (
        "wing4m",
        [
            "elasticity:6x3x3",
            "elasticity:20x8x8",
            "elasticity:40x14x14",
        ],
    ),
    ("spe10", ["jump7:9,1e6", "jump7:32,1e6", "jump7:64,1e6"]),
    ("finger4m", ["poisson5:20", "poisson5:100", "poisson5:500"]),
];

/// Jacobi beside FSAI, both for conjugate gradients.
pub(super) fn single_level(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut gains) = (Vec::new(), Vec::new());
    for (name, sizes) in SINGLE {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let text =
            |name: &str| format!("solver=cg preconditioner={name} rtol=1e-8 max-iterations=20000");
        let [jacobi, fsai] = ["jacobi", "fsai"].map(text);
        let (jacobi, fsai) = (ready.solve(&jacobi.parse()?)?, ready.solve(&fsai.parse()?)?);
        let total = |one: &Solution<f64>| (one.setup + one.solving).as_secs_f64();
        let gain = total(&jacobi) / total(&fsai);
        for (row, one) in [("Jacobi", &jacobi), ("FSAI", &fsai)] {
            let row = format!("{name}, {row}");
            values.push(Value::iterations(&row, one.outcome.iterations).of_the_kind(true));
        }
        values.push(Value::factor(name, "Jacobi beside FSAI, total time", gain));
        gains.push(gain);
    }
    let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
    let most = gains.iter().copied().fold(0.0, f64::max);
    values.push(Value::factor(
        "least",
        "Jacobi beside FSAI, total time",
        least,
    ));
    values.push(Value::factor(
        "most",
        "Jacobi beside FSAI, total time",
        most,
    ));
    values.push(Value::factor(
        "mean",
        "Jacobi beside FSAI, total time",
        mean(&gains),
    ));
    Ok(values)
}

#[cfg(test)]
mod tests {
    use vcycle::config::PreconditionerConfig;

    use super::*;

    #[test]
    fn interpolation_keeps_all_entries() {
        let config = classical("extended+i", "jacobi").unwrap();
        let PreconditionerConfig::Amg(amg) = &config.preconditioner else {
            panic!("multigrid is asked for");
        };
        assert_eq!(amg.truncation.max_elements, 0);
    }
}
