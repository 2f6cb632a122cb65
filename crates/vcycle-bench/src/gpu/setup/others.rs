//! On the device and by all threads of the host: factorised approximate inverses, and whole set-ups of the presets for mechanics,
//! stage by stage.

use vcycle::linop::Factory;
use vcycle::multigrid::{Amg, NearNullspace};
use vcycle::precond::{Fsai, FsaiSetup};

use super::names;
use crate::common::cores;
use crate::gpu::{GpuBench, ROUNDS};
use crate::options::multigrid;
use crate::prelude::*;
use crate::problem::BenchSystem;
use crate::timing::{median, shortest};

/// Set-ups of the host of which the better counts: it has no kernels to compile first.
const HOST_ROUNDS: usize = 2;
/// Applications that are timed together.
const APPLICATIONS: u32 = 20;

pub(super) fn fsai(bench: &GpuBench, report: &mut Report) -> Result<()> {
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
    for problem in names(bench, "fsai") {
        let mut table = bench.args.table("fsai");
        let system = bench.problem(problem)?;
        let there: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(&bench.executor)?);
        let here: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.clone());
        for (name, fsai) in &variants {
            // The first one brings the matrix and compiles kernels.
            fsai_times(fsai, &there, 1)?;
            let [setup, apply] = fsai_times(fsai, &there, ROUNDS)?;
            let [host_setup, host_apply] = fsai_times(fsai, &here, HOST_ROUNDS)?;
            let times = [host_setup / setup, host_apply / apply];
            table.show_row(row![
                problem, *name, setup, host_setup, times[0], apply, host_apply, times[1]
            ]);
        }
        report.add(table)?;
    }
    let cores = cores()?.to_string();
    report.add(bench.args.note("fsai", &[("cores", cores)]))
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
    Ok([setup, all / f64::from(APPLICATIONS)])
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

pub(super) fn presets(bench: &GpuBench, report: &mut Report) -> Result<()> {
    report.add("## Presets for mechanics")?;
    for problem in names(bench, "presets") {
        let system = bench.problem(problem)?;
        let mut table = bench.args.table("presets").with(3, &STAGES);
        for preset in ["bamg-fsai", "mechanics"] {
            let amg = multigrid(Config::preset(preset)?)?;
            eprintln!("{problem}, {preset}");
            let device = set_up(bench, &amg, &system, &bench.executor)?;
            let host = set_up(bench, &amg, &system, &Executor::cpu())?;
            let times = host.setup / device.setup;
            for (place, one, times) in [("device", device, Some(times)), ("host", host, None)] {
                let stages = one.stages.into_iter().map(Cell::from);
                let cells = row![problem, preset, place].into_iter().chain(stages);
                let rest = row![one.setup, times, one.first, one.solve, one.iterations];
                table.row(cells.chain(rest).collect());
            }
        }
        report.add(table)?;
    }
    let cores = cores()?.to_string();
    report.add(bench.args.note("presets", &[("cores", cores)]))
}

/// Milliseconds of a set-up, of its stages, of the first one and of a solve.
struct PresetRow {
    stages: [f64; STAGES.len()],
    setup: f64,
    first: f64,
    solve: f64,
    iterations: usize,
}

fn set_up(bench: &GpuBench, amg: &Amg, system: &BenchSystem, on: &Executor) -> Result<PresetRow> {
    let ws = Workspace::new();
    let a: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(on)?);
    let near = match &system.near_nullspace {
        Some(near) => near.clone(),
        None => NearNullspace::components(amg.block_size)?,
    };
    let mut make = || Ok(amg.hierarchy_with(&a, &near, &ws)?);
    let (first, _) = shortest(on, 1, &mut make)?;
    let (setups, made, _) = bench.repeated(on, &mut make)?;
    let by_stage = made.report().setup_by_stage();
    let b = Vector::from_column(on, system.rhs.clone());
    let (solve, outcome) = bench.solved(&bench.solver(&a, made)?, &b, 1)?;
    Ok(PresetRow {
        stages: STAGES.map(|name| {
            let found = by_stage.iter().find(|stage| stage.name == name);
            found.map_or(0.0, |stage| stage.seconds * 1e3)
        }),
        setup: median(&setups),
        first,
        solve,
        iterations: outcome.iterations,
    })
}
