//! Iterations and times of pairwise aggregation.

use vcycle::config::{Config, PreconditionerConfig};
use vcycle::multigrid::LevelScaling;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::solving::{Ready, of_solve};
use crate::common::Result;

/// A problem of the papers: its name there, what is solved here in three sizes, and whether it is the same.
type Named = (&'static str, [&'static str; 3], bool);

const PROBLEMS: [Named; 6] = [
    ("beam", ["beam:o2,l1", "beam:o3,l2", "beam:o3,l3"], true),
    (
        "l-shape",
        ["lshape:o2,l3", "lshape:o3,l4", "lshape:o3,l7"],
        true,
    ),
    ("2cubes_sphere", ["tet:8", "tet:24", "tet:47"], false),
    ("offshore", ["tet:8,1e6", "tet:24,1e6", "tet:48,1e6"], false),
    (
        "thermal2",
        ["poisson5:20", "poisson5:200", "poisson5:554"],
        false,
    ),
    (
        "tmt_sym",
        ["aniso5:20,0.1,45", "aniso5:200,0.1,45", "aniso5:426,0.1,45"],
        false,
    ),
];

/// The method of the papers in a precision, without scaling.
pub(super) fn method(precision: &str) -> Result<Config> {
    let mut config = Config::preset("paper-pgm")?;
    if let PreconditionerConfig::Amg(amg) = &mut config.preconditioner {
        amg.precision = precision.parse()?;
        amg.scaling = LevelScaling::None;
    }
    Ok(config)
}

/// Every problem in some precisions.
pub(super) fn precisions(scope: &Scope, precisions: &[&str]) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut values = Vec::new();
    for (name, sizes, is_same) in PROBLEMS {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let configs = precisions.iter().map(|precision| method(precision));
        let configs = configs.collect::<Result<Vec<Config>>>()?;
        for (precision, tried) in precisions.iter().zip(ready.race(&configs, 2)) {
            let row = format!("{name}, {precision}");
            let solve = of_solve(&row, &tried);
            values.extend(solve.map(|value| value.of_the_kind(!is_same)));
        }
    }
    Ok(values)
}

const SIZES: [Named; 6] = [
    (
        "beam, o2 l3",
        ["beam:o2,l1", "beam:o2,l2", "beam:o2,l3"],
        true,
    ),
    (
        "beam, o3 l3",
        ["beam:o2,l1", "beam:o3,l2", "beam:o3,l3"],
        true,
    ),
    (
        "beam, o4 l3",
        ["beam:o2,l1", "beam:o4,l1", "beam:o4,l3"],
        true,
    ),
    (
        "l-shape, o3 l7",
        ["lshape:o2,l2", "lshape:o3,l4", "lshape:o3,l7"],
        true,
    ),
    (
        "l-shape, o3 l8",
        ["lshape:o2,l2", "lshape:o3,l5", "lshape:o3,l8"],
        true,
    ),
    (
        "l-shape, o4 l7",
        ["lshape:o2,l2", "lshape:o4,l4", "lshape:o4,l7"],
        true,
    ),
];

/// The same method on meshes and orders of table 5.2.
pub(super) fn sizes(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut config = method("dp")?;
    config.stop.reduction = Some(1e-6);
    let mut values = Vec::new();
    for (name, sizes, _) in SIZES {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let tried = ready.race(std::slice::from_ref(&config), 2);
        values.extend(of_solve(name, &tried[0]));
    }
    Ok(values)
}

/// Cycles without a Krylov method.
pub(super) fn alone(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let config = alone_in("dp")?;
    let mut values = Vec::new();
    for (name, sizes, is_same) in PROBLEMS {
        let row = match name {
            "beam" => "beam, o3 l3",
            "l-shape" => "l-shape, o3 l7",
            name => name,
        };
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let tried = ready.race(std::slice::from_ref(&config), 1);
        let solve = of_solve(row, &tried[0]);
        values.extend(solve.map(|value| value.of_the_kind(!is_same)));
    }
    Ok(values)
}

/// A hundred cycles at most, to a residual norm of 1e-9.
pub(super) fn alone_in(precision: &str) -> Result<Config> {
    let mut config = method(precision)?;
    config.solver = "ir".parse()?;
    config.stop.reduction = None;
    config.stop.rtol = Some(0.0);
    config.stop.atol = Some(1e-9);
    config.stop.max_iterations = 100;
    Ok(config)
}
