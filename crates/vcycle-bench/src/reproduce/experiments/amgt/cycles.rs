//! Set-ups and fifty cycles in four precisions.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, Hierarchy, LevelFormat};
use vcycle::vector::Vector;
use vcycle_gpu::Device;

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::solving::{Ready, mean};
use super::PROBLEMS;
use super::baseline::{self, beside_cusparse};
use crate::common::Result;
use crate::gpu::timing::microseconds;
use crate::peers::Library;
use crate::timing::race;

/// Cycles of a solve.
const CYCLES: f64 = 50.0;
/// Names, and precisions of vectors / of matrices.
pub(super) const PRECISIONS: [(&str, &str); 4] = [
    ("double", "dp"),
    ("single", "dp-sp"),
    ("half matrices", "dp-sp/dp-sp-hp"),
    ("half", "dp-sp-hp"),
];

/// The precisions of the paper.
const PAPER: &str = PRECISIONS[PRECISIONS.len() - 1].1;
/// How much longer the paper's way takes than the formats that a device chooses.
const TILES: &str = "tiles beside the chosen formats, total";

/// The stages of the paper, in the formats that are chosen.
pub(super) fn stages(precision: &str) -> Result<Amg> {
    let mut amg = Amg::default();
    amg.coarsening = "pmis".parse()?;
    amg.interpolation = "extended+i".parse()?;
    amg.smoother = "l1-jacobi".parse()?;
    amg.max_levels = 7;
    amg.precision = precision.parse()?;
    Ok(amg)
}

pub(super) fn cycles(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut gains, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for (name, sizes) in PROBLEMS {
        let problem = scope.size(sizes);
        let ready = Ready::new(problem, &executor)?;
        let made = PRECISIONS.map(|(_, precision)| set_up(&ready, stages(precision)?, scope));
        let made = made.into_iter().collect::<Result<Vec<_>>>()?;
        let times = applied(scope, &ready, &made)?;
        let total = |place: usize| made[place].1 + CYCLES * times[place];
        for (place, (precision, _)) in PRECISIONS.iter().enumerate().skip(1) {
            let row = format!("{name}, {precision}");
            values.push(Value::factor(row, "cycle", times[0] / times[place]));
        }
        let last = PRECISIONS.len() - 1;
        gains.push(total(0) / total(last));
        values.push(Value::factor(
            name,
            "mixed precision, total",
            total(0) / total(last),
        ));
        if let Some(device) = executor.device() {
            let tiles = in_tiles(device, &ready, scope)?;
            values.push(Value::factor(name, TILES, tiles / total(last)));
        }
        // Conjugate gradients, which the program of hypre has, need a symmetric matrix.
        if !name.starts_with("flow") {
            beside.extend(beside_hypre(scope, name, problem)?);
        }
        beside.extend(beside_cusparse(name, &ready, scope.seconds())?);
    }
    let all = mean(&gains);
    values.push(Value::factor(
        "geometric mean",
        "mixed precision, total",
        all,
    ));
    let means = means(&beside);
    values.extend(beside);
    values.extend(means);
    Ok(values)
}

/// How much longer hypre takes.
pub(super) const HYPRE: &str = "hypre beside ours, total";
/// Its parts.
const PARTS: [&str; 2] = ["hypre beside ours, set-up", "hypre beside ours, solve"];

/// Geometric means of what others were measured beside, quantity by quantity.
fn means(beside: &[Value]) -> Vec<Value> {
    let [setup, solve] = PARTS;
    let [[matrices, matrices_in_tiles], [vectors, vectors_in_tiles]] = baseline::PRODUCTS;
    let ours = [HYPRE, setup, matrices, solve, vectors];
    let quantities = ours
        .into_iter()
        .chain([matrices_in_tiles, vectors_in_tiles]);
    let mean_of = |what| {
        let of = |value: &&Value| value.quantity == what;
        let factors: Vec<f64> = beside.iter().filter(of).map(|one| one.value).collect();
        let who = &beside.iter().find(of)?.who;
        Some(Value::factor("geometric mean", what, mean(&factors)).by(who))
    };
    quantities.filter_map(mean_of).collect()
}

/// A hierarchy, and the seconds of the shortest set-up.
type Made = (Hierarchy<f64>, f64);

fn set_up(ready: &Ready, amg: Amg, scope: &Scope) -> Result<Made> {
    let a: Arc<dyn LinOp<f64>> = ready.matrix().clone();
    let (mut hierarchy, mut best) = (None, f64::INFINITY);
    for _ in 0..scope.size([1, 2, 3]) {
        let begin = Instant::now();
        hierarchy = Some(amg.setup(&a, &Workspace::new())?.1);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok((hierarchy.ok_or("nothing was set up")?, best))
}

/// Seconds of set-up and all cycles as in the paper: Galerkin products and cycles in tiles.
fn in_tiles(device: &Arc<Device>, ready: &Ready, scope: &Scope) -> Result<f64> {
    let mut amg = stages(PAPER)?;
    amg.format = LevelFormat::Mbsr;
    let (hierarchy, set_up) = set_up(ready, amg, scope)?;
    let (b, ws) = (ready.rhs(), Workspace::new());
    let mut x = Vector::zeros_like(b)?;
    let mut one = || Ok(hierarchy.apply(b, &mut x, &ws)?);
    Ok(set_up + CYCLES * microseconds(device, 1, &mut one)? * 1e-6)
}

/// Seconds of a cycle of each, in turns.
fn applied(scope: &Scope, ready: &Ready, made: &[Made]) -> Result<[f64; 4]> {
    let (b, ws) = (ready.rhs(), Workspace::new());
    let zeros = || Vector::zeros_like(b);
    let [mut p, mut q, mut r, mut s] = [zeros()?, zeros()?, zeros()?, zeros()?];
    let one = |place: usize, x: &mut Vector<f64>| Ok(made[place].0.apply(b, x, &ws)?);
    let mut first = || one(0, &mut p);
    let mut second = || one(1, &mut q);
    let mut third = || one(2, &mut r);
    let mut fourth = || one(3, &mut s);
    match b.executor().device() {
        Some(device) => Ok([
            microseconds(device, 1, &mut first)? * 1e-6,
            microseconds(device, 1, &mut second)? * 1e-6,
            microseconds(device, 1, &mut third)? * 1e-6,
            microseconds(device, 1, &mut fourth)? * 1e-6,
        ]),
        None => race(
            [&mut first, &mut second, &mut third, &mut fourth],
            scope.size([1, 2, 8]),
            scope.size([0.0, 0.05, 0.2]),
        ),
    }
}

/// Set-up and solve to 1e-8, each as it chooses by itself; nothing where hypre is absent or does not converge.
fn beside_hypre(scope: &Scope, name: &str, problem: &str) -> Result<Vec<Value>> {
    let peers = scope.peers_among(&[Library::Hypre]);
    let ready = Ready::new(problem, &scope.executor()?)?;
    let theirs = ready.solved_by(&peers)?;
    let Some((who, theirs)) = theirs.iter().find(|(_, one)| one.converged()) else {
        return Ok(Vec::new());
    };
    let solution = ready.solve(&"rtol=1e-8".parse()?)?;
    let [setup, solve] = [solution.setup, solution.solving].map(|part| part.as_secs_f64());
    let factors = [
        (HYPRE, theirs.total() / (setup + solve)),
        (PARTS[0], theirs.setup / setup),
        (PARTS[1], theirs.solve / solve),
    ];
    let factors = factors.map(|(what, factor)| Value::factor(name, what, factor).by(who));
    Ok(factors.into())
}
