//! Factorised approximate inverses, on the device and by all threads of the host.

use std::sync::Arc;

use vcycle::executor::Workspace;
use vcycle::linop::{Factory, LinOp};
use vcycle::precond::{Fsai, FsaiSetup};
use vcycle::vector::Vector;

use super::super::report::Report;
use super::Bench;
use crate::{Result, table};

const FULL: [&str; 4] = [
    "poisson7:100",
    "poisson27:60",
    "elasticity:60x20x20",
    "elasticity:60x20x20,0.3,1e3",
];
const SMALL: [&str; 2] = ["poisson7:20", "elasticity:8x4x4"];
/// Entries a row of matrices whose squares have no long rows.
const SHORT: usize = 10;
/// Applications that are timed together.
const APPLICATIONS: u32 = 20;

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<()> {
    report.add("## FSAI")?;
    let problems: &[&str] = if bench.small { &SMALL } else { &FULL };
    for problem in problems {
        report.add(of_problem(bench, problem)?)?;
    }
    report.add(format!(
        "Milliseconds of wall clock, best of 3 after one that is not timed; the host has all of its \
         {} threads. Set-up: the matrix is where it is used, the first application is included. \
         Application: `G^T G x`, of {APPLICATIONS} in a row.",
        std::thread::available_parallelism().map_or(1, usize::from)
    ))
}

fn of_problem(bench: &Bench, problem: &str) -> Result<comfy_table::Table> {
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
    let short = system.matrix.nonzeros() <= SHORT * system.matrix.size().rows;
    let there: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(&bench.executor)?);
    let here: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.clone());
    let squares = |(_, fsai): &(_, Fsai)| short || fsai.power < 2;
    for (name, fsai) in variants().into_iter().filter(squares) {
        eprintln!("{problem}, {name}");
        let device = measure(bench, &fsai, &there)?;
        let host = measure(bench, &fsai, &here)?;
        let whose = [problem.to_owned(), name.to_owned()];
        let setup = beside(device.setup, host.setup);
        let apply = beside(device.apply, host.apply);
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

fn variants() -> [(&'static str, Fsai); 4] {
    let adaptive = Fsai::default();
    let mut single = adaptive;
    single.setup = FsaiSetup::Single;
    let of_power = |power: usize| {
        let mut fsai = adaptive;
        (fsai.power, fsai.steps) = (power, 0);
        fsai
    };
    [
        ("adaptive, 10 steps", adaptive),
        ("the same in single precision", single),
        ("of A", of_power(1)),
        ("of A²", of_power(2)),
    ]
}

/// Milliseconds.
struct Times {
    setup: f64,
    apply: f64,
}

fn measure(bench: &Bench, fsai: &Fsai, a: &Arc<dyn LinOp<f64>>) -> Result<Times> {
    let ws = Workspace::new();
    let x = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let mut y = Vector::zeros_like(&x)?;
    let mut make = || -> Result<Arc<dyn LinOp<f64>>> {
        let m = fsai.generate(a, &ws)?;
        m.apply(&x, &mut y, &ws)?;
        Ok(m)
    };
    drop(make()?);
    let (setup, m) = bench.best(&mut make)?;
    let (all, ()) = bench.best(&mut || {
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
