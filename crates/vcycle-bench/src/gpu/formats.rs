//! Solves in the formats that the device chooses beside solves row by row.

use std::time::Instant;

use vcycle::config::{Config, Prepared, Solution, System};
use vcycle::executor::Workspace;
use vcycle::gallery;
use vcycle::vector::Vector;

use super::bench::GpuBench;
use super::measure::iterations;
use super::report::MarkdownReport;
use crate::common::Result;

const FULL: [&str; 9] = [
    "elasticity:60x60x60",
    "elasticity:120x40x40",
    "poisson7:128",
    "poisson27:128",
    "jump7:128,1e6",
    "aniso7:128,0.01",
    "rhd-3T:64",
    "oil-4C:48",
    "tet:50",
];
const SMALL: [&str; 2] = ["elasticity:4x4x4", "poisson7:10"];
/// Row by row comes first.
const FORMATS: [&str; 2] = ["csr", "auto"];
/// Solves that take turns, after one that is not timed; the best counts.
const ROUNDS: usize = 7;

/// Measures all problems in both formats.
pub(super) fn run(bench: &GpuBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Formats that are chosen, beside rows")?;
    report.begin_table(&[
        "problem",
        "levels in",
        "set-up ms in rows",
        "set-up ms",
        "iterations in rows",
        "iterations",
        "solve ms in rows",
        "solve ms",
        "solve over that in rows",
    ])?;
    let names = match bench.small {
        true => &SMALL[..],
        false => &FULL[..],
    };
    for &name in names {
        report.row(&measure(bench, name)?)?;
    }
    report.add(
        "\nThe solver and multigrid that are chosen for `--precond amg`; b = ones, to a true relative residual of 1e-8. Set-up: the better of two. Solve: the best of 7, in turns.",
    )
}

/// A system that is set up, and the milliseconds that took.
struct Formatted {
    prepared: Prepared<f64>,
    set_up: f64,
    best: f64,
    solution: Solution<f64>,
}

fn measure(bench: &GpuBench, name: &str) -> Result<[String; 9]> {
    eprintln!("formats of {name}");
    let problem = gallery::build(name, &bench.executor)?;
    let ones = Vector::filled(&bench.executor, problem.rhs.len(), 1, 1.0)?;
    let ws = Workspace::new();
    let mut both = Vec::new();
    for format in FORMATS {
        both.push(set_up(bench, name, format, &ones, &ws)?);
    }
    for _ in 0..ROUNDS {
        for one in &mut both {
            one.best = one.best.min(one.solve(bench, &ones, &ws)?);
        }
    }
    let [rows, chosen] = both.as_slice() else {
        return Err("two formats were to be measured".into());
    };
    let ms = |time: f64| format!("{time:.2}");
    Ok([
        name.to_owned(),
        levels(&chosen.prepared),
        ms(rows.set_up),
        ms(chosen.set_up),
        iterations(&rows.solution.outcome),
        iterations(&chosen.solution.outcome),
        ms(rows.best),
        ms(chosen.best),
        format!("{:.3}", chosen.best / rows.best),
    ])
}

/// Sets a system up twice and solves it once.
fn set_up(
    bench: &GpuBench,
    name: &str,
    format: &str,
    b: &Vector<f64>,
    ws: &Workspace,
) -> Result<Formatted> {
    let config: Config = format!("preconditioner=amg format={format}").parse()?;
    let once = || -> Result<(Prepared<f64>, f64)> {
        let system = System::from(gallery::build(name, &bench.executor)?);
        bench.device.synchronize()?;
        let begin = Instant::now();
        let prepared = Prepared::new(config.clone(), system, ws)?;
        bench.device.synchronize()?;
        Ok((prepared, begin.elapsed().as_secs_f64() * 1e3))
    };
    let ((_, first), (prepared, second)) = (once()?, once()?);
    let solution = prepared.solve(b, None, &prepared.config().stop, ws)?;
    Ok(Formatted {
        prepared,
        set_up: first.min(second),
        best: f64::INFINITY,
        solution,
    })
}

impl Formatted {
    /// Solves once more; returns the milliseconds.
    fn solve(&mut self, bench: &GpuBench, b: &Vector<f64>, ws: &Workspace) -> Result<f64> {
        bench.device.synchronize()?;
        let begin = Instant::now();
        let stop = &self.prepared.config().stop;
        self.solution = self.prepared.solve(b, None, stop, ws)?;
        bench.device.synchronize()?;
        Ok(begin.elapsed().as_secs_f64() * 1e3)
    }
}

/// The formats of the levels, from the finest on.
fn levels(prepared: &Prepared<f64>) -> String {
    let levels = prepared
        .report()
        .into_iter()
        .flat_map(|report| &report.levels);
    let formats: Vec<_> = levels.map(|level| level.format.as_str()).collect();
    formats.join(", ")
}
