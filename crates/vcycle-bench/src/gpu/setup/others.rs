//! On the device and by all threads of the host: factorised approximate inverses, and whole set-ups of the presets for mechanics,
//! stage by stage.

use std::sync::Arc;

use vcycle::config::Config;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::{Factory, LinOp};
use vcycle::multigrid::{Amg, NearNullspace};
use vcycle::precond::{Fsai, FsaiSetup};
use vcycle::vector::Vector;

use super::bench::{ROUNDS, SetupBench};
use crate::common::{Result, Table, threads};
use crate::gpu::report::MarkdownReport;
use crate::options::multigrid;
use crate::problem::BenchSystem;
use crate::timing::{median, shortest};

const FSAI_PROBLEMS: [&str; 3] = [
    "elasticity:60x20x20",
    "poisson7:100",
    "elasticity:60x20x20,0.3,1e3",
];
/// Set-ups of the host of which the better counts: it has no kernels to compile first.
const HOST_ROUNDS: usize = 2;
/// Applications that are timed together.
const APPLICATIONS: u32 = 20;

pub(super) fn fsai(bench: &SetupBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## FSAI")?;
    let adaptive = Fsai::default();
    let (mut single, mut fixed) = (adaptive, adaptive);
    single.setup = FsaiSetup::Single;
    (fixed.power, fixed.steps) = (1, 0);
    let variants = [
        ("adaptive, 10 steps", adaptive),
        ("the same in single precision", single),
        ("of A", fixed),
    ];
    for problem in bench.names(&FSAI_PROBLEMS, &["poisson7:20", "elasticity:8x4x4"]) {
        let mut table =
            Table::new("matrix | pattern | set-up | host | times | application | host | times");
        let system = bench.gpu.problem(problem)?;
        let there: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(&bench.gpu.executor)?);
        let here: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.clone());
        for (name, fsai) in &variants {
            // The first one brings the matrix and compiles kernels.
            fsai_times(fsai, &there, 1)?;
            let [setup, apply] = fsai_times(fsai, &there, ROUNDS)?;
            let [host_setup, host_apply] = fsai_times(fsai, &here, HOST_ROUNDS)?;
            let line = format!(
                "{problem} | {name} | {setup:.2} | {host_setup:.2} | {:.1} | {apply:.2} | {host_apply:.2} | {:.1}",
                host_setup / setup,
                host_apply / apply
            );
            // At once: what comes later may be cut off.
            eprintln!("{line}");
            table.row(line);
        }
        report.add(table)?;
    }
    report.add(format!(
        "Milliseconds of wall clock; the host has all of its {} threads. Set-up: the matrix is where \
         it is used, the first application is included; best of {ROUNDS} after one that is not \
         timed, of {HOST_ROUNDS} on the host. Application: `G^T G x`, of {APPLICATIONS} in a row.",
        threads(None)?
    ))
}

/// Milliseconds of a set-up and of an application.
fn fsai_times(fsai: &Fsai, a: &Arc<dyn LinOp<f64>>, rounds: usize) -> Result<[f64; 2]> {
    let ws = Workspace::new();
    let x = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let mut y = Vector::zeros_like(&x)?;
    let (setup, m) = shortest(a.executor(), rounds, &mut || {
        let m = fsai.generate(a, &ws)?;
        m.apply(&x, &mut y, &ws)?;
        Ok(m)
    })?;
    let (all, ()) = shortest(a.executor(), rounds, &mut || {
        Ok((0..APPLICATIONS).try_for_each(|_| m.apply(&x, &mut y, &ws))?)
    })?;
    Ok([setup, all / f64::from(APPLICATIONS)].map(|seconds| seconds * 1e3))
}

const STAGES: [&str; 7] = [
    "analysis",
    "strength",
    "coarsening",
    "interpolation",
    "galerkin",
    "smoothers",
    "coarsest solver",
];

pub(super) fn presets(bench: &SetupBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Presets for mechanics")?;
    for problem in bench.names(&["elasticity:55x55x55"], &["elasticity:6x4x4"]) {
        let system = bench.gpu.problem(problem)?;
        let mut table = Table::new(&format!(
            "problem | preset | on | {} | set-up | times | first | solve | iterations",
            STAGES.join(" | ")
        ));
        for preset in ["bamg-fsai", "mechanics"] {
            let amg = multigrid(Config::preset(preset)?)?;
            eprintln!("{problem}, {preset}");
            let (device, row) = set_up(bench, &amg, &system, &bench.gpu.executor)?;
            let (host, host_row) = set_up(bench, &amg, &system, &Executor::cpu())?;
            let times = format!("{:.1}", host / device);
            table.row(format!("{problem} | {preset} | device | {}", row(&times)));
            table.row(format!("{problem} | {preset} | host | {}", host_row("")));
        }
        report.add(table)?;
    }
    report.add(format!(
        "Milliseconds; the host has all of its {} threads. The matrix is where it is used, and vectors it nearly \
         annihilates are known. Set-up: wall clock, the median of at least {ROUNDS} after the first one, which brings the \
         matrix to the device and loads kernels. Stages: those of the last set-up.",
        threads(None)?
    ))
}

/// Milliseconds of a set-up, and the cells of its row, which want to know how many times as long the host takes.
fn set_up(
    bench: &SetupBench,
    amg: &Amg,
    system: &BenchSystem,
    on: &Executor,
) -> Result<(f64, impl Fn(&str) -> String + use<>)> {
    let ws = Workspace::new();
    let a: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(on)?);
    let near = match &system.near_nullspace {
        Some(near) => near.clone(),
        None => NearNullspace::components(amg.block_size)?,
    };
    let mut make = || Ok(amg.hierarchy_with(&a, &near, &ws)?);
    let (first, _) = shortest(on, 1, &mut make)?;
    let (setups, made) = bench.repeated(&mut make)?;
    let by_stage = made.report().setup_by_stage();
    let stages = STAGES.map(|name| {
        let found = by_stage.iter().find(|stage| stage.name == name);
        format!("{:.1}", found.map_or(0.0, |stage| stage.seconds * 1e3))
    });
    let b = Vector::from_column(on, system.rhs.clone());
    let (solve, iterations) = bench.solve(&a, &b, made)?;
    let setup = median(setups);
    let row = move |times: &str| {
        let stages = stages.join(" | ");
        let first = first * 1e3;
        format!("{stages} | {setup:.1} | {times} | {first:.1} | {solve:.1} | {iterations}")
    };
    Ok((setup, row))
}
