//! Whole set-ups of the presets for mechanics, stage by stage, on the device and by all threads of the host.

use std::sync::Arc;
use std::time::Instant;

use vcycle::config::{Config, PreconditionerConfig};
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, NearNullspace, Report};
use vcycle::vector::Vector;

use super::bench::{ROUNDS, SetupBench};
use crate::common::{Result, table};
use crate::gpu::report::MarkdownReport;
use crate::gpu::timing::median;
use crate::problem::BenchSystem;

const FULL: [&str; 1] = ["elasticity:55x55x55"];
const SMALL: [&str; 1] = ["elasticity:6x4x4"];
const PRESETS: [&str; 2] = ["bamg-fsai", "mechanics"];
const STAGES: [&str; 7] = [
    "analysis",
    "strength",
    "coarsening",
    "interpolation",
    "galerkin",
    "smoothers",
    "coarsest solver",
];

pub(super) fn run(bench: &SetupBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Presets for mechanics")?;
    for problem in bench.names(&FULL, &SMALL) {
        let system = bench.problems.get(problem)?;
        let head = ["problem", "preset", "on"];
        let tail = ["set-up", "times", "first", "solve", "iterations"];
        let mut table = table(&[&head[..], &STAGES, &tail].concat());
        for preset in PRESETS {
            let amg = multigrid(preset)?;
            eprintln!("{problem}, {preset}");
            let device = measure(bench, &amg, &system, &bench.executor)?;
            let host = measure(bench, &amg, &system, &Executor::cpu())?;
            let times = format!("{:.1}", host.setup / device.setup);
            for (place, made, times) in [("device", device, times), ("host", host, String::new())] {
                let whose = [problem, preset, place].map(str::to_owned);
                table.add_row(whose.into_iter().chain(made.cells(times)));
            }
        }
        report.add(table)?;
    }
    report.add(format!(
        "Milliseconds; the host has all of its {} threads. The matrix is where it is used, and vectors it nearly \
         annihilates are known. Set-up: wall clock, the median of at least {ROUNDS} after the first one, which brings the \
         matrix to the device and loads kernels. Stages: those of the last set-up.",
        std::thread::available_parallelism().map_or(1, usize::from)
    ))
}

/// The multigrid of a preset.
fn multigrid(preset: &str) -> Result<Amg> {
    match Config::preset(preset)?.preconditioner {
        PreconditionerConfig::Amg(amg) => Ok(amg),
        other => Err(format!("{preset} is {}, not multigrid", other.name()).into()),
    }
}

/// Milliseconds, and the iterations of a solve.
struct Made {
    stages: Vec<f64>,
    setup: f64,
    first: f64,
    solve: f64,
    iterations: usize,
}

impl Made {
    fn cells(&self, times: String) -> Vec<String> {
        let stages = self.stages.iter().map(|stage| format!("{stage:.1}"));
        let setup = [format!("{:.1}", self.setup), times];
        let rest = [self.first, self.solve].map(|one| format!("{one:.1}"));
        let cells = stages.chain(setup).chain(rest);
        cells.chain([self.iterations.to_string()]).collect()
    }
}

fn measure(bench: &SetupBench, amg: &Amg, system: &BenchSystem, on: &Executor) -> Result<Made> {
    let ws = Workspace::new();
    let a: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(on)?);
    let near = match &system.near_nullspace {
        Some(near) => near.clone(),
        None => NearNullspace::components(amg.block_size)?,
    };
    let begin = Instant::now();
    drop(amg.hierarchy_with(&a, &near, &ws)?);
    bench.device.synchronize()?;
    let first = begin.elapsed().as_secs_f64() * 1e3;
    let (setups, made) = bench.repeated(&mut || Ok(amg.hierarchy_with(&a, &near, &ws)?))?;
    let stages = stages(made.report());
    let b = Vector::from_column(on, system.rhs.clone());
    let (solve, iterations) = bench.solve(&a, &b, made)?;
    Ok(Made {
        stages,
        setup: median(setups),
        first,
        solve,
        iterations,
    })
}

/// Milliseconds of all [`STAGES`].
fn stages(report: &Report) -> Vec<f64> {
    let made = report.setup_by_stage();
    let of = |name: &&str| {
        let found = made.iter().find(|stage| stage.name == *name);
        found.map_or(0.0, |stage| stage.seconds * 1e3)
    };
    STAGES.iter().map(of).collect()
}
