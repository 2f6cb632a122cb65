//! Solves with structured multigrid.

use vcycle::executor::Executor;
use vcycle::multigrid::LevelScaling;
use vcycle::structured::CoarseStencil;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::solving::mean;
use super::PROBLEMS;
use crate::common::Result;
use crate::structured::{History, gains, histories, with_coarse_stencil};

/// Problems whose coarse operators have 7 points in the paper, as the finest.
const OF_SEVEN_POINTS: [&str; 4] = ["rhd", "oil", "rhd-3T", "oil-4C"];

/// Complexities of what the paper has, and for operators of 7 points of Galerkin products, too; iterations of both.
pub(super) fn complexities(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut values = Vec::new();
    for (name, [tiny, quick, full]) in PROBLEMS {
        // Complexities hardly depend on the size.
        let problem = format!("{name}:{}", scope.size([tiny, quick, full / 2]));
        let mut ways = vec![(name.to_owned(), CoarseStencil::Galerkin)];
        if OF_SEVEN_POINTS.contains(&name) {
            ways[0].1 = CoarseStencil::Same;
            ways.push((format!("{name}, Galerkin"), CoarseStencil::Galerkin));
        }
        for (row, coarse_stencil) in ways {
            let (report, history) = with_coarse_stencil(&problem, &executor, coarse_stencil)?;
            let (grids, operators) = (report.grid_complexity(), report.operator_complexity());
            let (count, note) = counted(&Ok(history));
            values.push(Value::new(&row, "grid complexity", "", grids));
            values.push(Value::new(&row, "operator complexity", "", operators));
            values.push(
                Value::iterations(&row, count)
                    .noting(note)
                    .of_the_kind(true),
            );
        }
    }
    Ok(values)
}

pub(super) fn halves(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut all) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (name, sizes) in PROBLEMS {
        // Grids that keep processors busy for long are launches without work for a device.
        let larger = if executor.is_device() { 2 } else { 1 };
        let [tiny, quick, full] = sizes;
        let problem = format!("{name}:{}", scope.size([tiny, quick, larger * full]));
        let gained = gains(
            &problem,
            &executor,
            scope.size([(1, 0.0), (1, 0.1), (3, 0.1)]),
        )?;
        let iterations = ["iterations, double", "iterations, half"].into_iter();
        for (quantity, count) in iterations.zip(gained.iterations) {
            values.push(Value::new(name, quantity, "", count as f64).of_the_kind(true));
        }
        let factors = [gained.preconditioner, gained.end_to_end];
        for ((quantity, gain), all) in QUANTITIES.into_iter().zip(factors).zip(&mut all) {
            values.push(Value::factor(name, quantity, gain));
            all.push(gain);
        }
    }
    for (quantity, all) in QUANTITIES.into_iter().zip(&all) {
        values.push(Value::factor("geometric mean", quantity, mean(all)));
    }
    Ok(values)
}

const QUANTITIES: [&str; 2] = ["preconditioner", "end to end"];

/// Names of the paper, precisions and strategies.
const STRATEGIES: [(&str, &str, LevelScaling); 5] = [
    ("Full64", "K64P64D64", LevelScaling::Auto),
    ("K64P32D32", "K64P32D32", LevelScaling::Auto),
    ("K64P32D16, no scaling", "K64P32D16", LevelScaling::None),
    (
        "K64P32D16, scale then set-up",
        "K64P32D16",
        LevelScaling::ScaleThenSetup,
    ),
    (
        "K64P32D16, set-up then scale",
        "K64P32D16",
        LevelScaling::Auto,
    ),
];

/// Iterations of five strategies on five problems.
pub(super) fn ablation(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let problems = ["laplace27", "laplace27e8", "weather", "rhd", "rhd-3T"];
    let mut values = Vec::new();
    for (name, sizes) in PROBLEMS {
        if !problems.contains(&name) {
            continue;
        }
        let ways = STRATEGIES.map(|(_, precision, scaling)| (precision, scaling));
        let solved = solve(scope, &executor, name, sizes, &ways)?;
        for ((strategy, ..), history) in STRATEGIES.iter().zip(&solved) {
            let (count, note) = counted(history);
            let row = format!("{name}, {strategy}");
            values.push(Value::iterations(row, count).noting(note).of_the_kind(true));
        }
    }
    Ok(values)
}

/// Iterations in two formats of 16 bits.
pub(super) fn bfloat(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let mut values = Vec::new();
    let ways = ["K64P64D64", "K64P32D16", "K64P32DB16"].map(|way| (way, LevelScaling::Auto));
    for name in ["rhd", "laplace27", "weather", "rhd-3T", "solid-3D"] {
        let sizes = PROBLEMS.iter().find(|problem| problem.0 == name);
        let (_, sizes) = sizes.ok_or("a problem that is not listed")?;
        let solved = solve(scope, &executor, name, *sizes, &ways)?;
        let (double, _) = counted(&solved[0]);
        for (format, history) in ["fp16", "bf16"].into_iter().zip(&solved[1..]) {
            let (count, note) = counted(history);
            let more = 100.0 * (count as f64 / double as f64 - 1.0);
            let row = format!("{name}, {format}");
            values.push(
                Value::iterations(&row, count)
                    .noting(note)
                    .of_the_kind(true),
            );
            values.push(Value::new(&row, "more iterations than double", "%", more));
        }
    }
    Ok(values)
}

fn solve(
    scope: &Scope,
    executor: &Executor,
    name: &str,
    sizes: [usize; 3],
    ways: &[(&str, LevelScaling)],
) -> Result<Vec<History>> {
    // Iterations need no large grids.
    let [tiny, quick, full] = sizes;
    let cells = scope.size([tiny, quick, full * 3 / 4]);
    histories(&format!("{name}:{cells}"), executor, ways)
}

/// Iterations, and what has to be said of them.
fn counted(history: &History) -> (usize, String) {
    match history {
        Err(why) => (0, format!("refused: {why}")),
        Ok(residuals) => {
            let last = residuals.last().copied().unwrap_or(f64::NAN);
            // The tolerance of these solves, and what a recurrence may be off.
            let note = if last <= 1.05e-9 { "" } else { "not converged" };
            (residuals.len().saturating_sub(1), note.to_owned())
        }
    }
}
