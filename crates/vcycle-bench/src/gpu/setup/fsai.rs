//! Factorised approximate inverses, on the device and by all threads of the host.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::{Factory, LinOp};
use vcycle::precond::{Fsai, FsaiSetup};
use vcycle::vector::Vector;

use super::bench::{ROUNDS, SetupBench};
use crate::common::{Result, table};
use crate::gpu::report::MarkdownReport;

const FULL: [&str; 3] = [
    "elasticity:60x20x20",
    "poisson7:100",
    "elasticity:60x20x20,0.3,1e3",
];
const SMALL: [&str; 2] = ["poisson7:20", "elasticity:8x4x4"];
/// Set-ups of the host of which the better counts: it has no kernels to compile first.
const HOST_ROUNDS: usize = 2;
/// Applications that are timed together.
const APPLICATIONS: u32 = 20;

pub(super) fn run(bench: &SetupBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## FSAI")?;
    for problem in bench.names(&FULL, &SMALL) {
        report.add(of_problem(bench, problem)?)?;
    }
    report.add(format!(
        "Milliseconds of wall clock; the host has all of its {} threads. Set-up: the matrix is where \
         it is used, the first application is included; best of {ROUNDS} after one that is not \
         timed, of {HOST_ROUNDS} on the host. Application: `G^T G x`, of {APPLICATIONS} in a row.",
        std::thread::available_parallelism().map_or(1, usize::from)
    ))
}

fn of_problem(bench: &SetupBench, problem: &str) -> Result<comfy_table::Table> {
    let mut table = table(&[
        "matrix",
        "pattern",
        "set-up",
        "host",
        "times",
        "application",
        "host",
        "times",
    ]);
    let system = bench.problems.get(problem)?;
    let there: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(&bench.executor)?);
    let here: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.clone());
    for (name, fsai) in variants() {
        let begin = Instant::now();
        drop(fsai.generate(&there, &Workspace::new())?);
        let first = begin.elapsed().as_secs_f64();
        let device = measure(bench, &fsai, &there, ROUNDS)?;
        let host = measure(bench, &fsai, &here, HOST_ROUNDS)?;
        let whose = [problem.to_owned(), name.to_owned()];
        let setup = beside(device.setup, host.setup);
        let apply = beside(device.apply, host.apply);
        // At once: what comes later may be cut off.
        let so_far = [&whose[..], &setup, &apply].concat().join(" | ");
        eprintln!("{so_far} (first set-up {first:.1} s)");
        table.add_row(whose.into_iter().chain(setup).chain(apply));
    }
    Ok(table)
}

/// Our time, that of the host, and how many times that is.
fn beside(own: f64, host: f64) -> [String; 3] {
    [
        format!("{own:.2}"),
        format!("{host:.2}"),
        format!("{:.1}", host / own),
    ]
}

fn variants() -> [(&'static str, Fsai); 3] {
    let adaptive = Fsai::default();
    let mut single = adaptive;
    single.setup = FsaiSetup::Single;
    let mut fixed = adaptive;
    (fixed.power, fixed.steps) = (1, 0);
    [
        ("adaptive, 10 steps", adaptive),
        ("the same in single precision", single),
        ("of A", fixed),
    ]
}

/// Milliseconds.
struct Times {
    setup: f64,
    apply: f64,
}

fn measure(
    bench: &SetupBench,
    fsai: &Fsai,
    a: &Arc<dyn LinOp<f64>>,
    rounds: usize,
) -> Result<Times> {
    let ws = Workspace::new();
    let x = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let mut y = Vector::zeros_like(&x)?;
    let (setup, m) = bench.best(rounds, &mut || {
        let m = fsai.generate(a, &ws)?;
        m.apply(&x, &mut y, &ws)?;
        Ok(m)
    })?;
    let (all, ()) = bench.best(rounds, &mut || {
        for _ in 0..APPLICATIONS {
            m.apply(&x, &mut y, &ws)?;
        }
        Ok(())
    })?;
    Ok(Times {
        setup,
        apply: all / f64::from(APPLICATIONS),
    })
}
