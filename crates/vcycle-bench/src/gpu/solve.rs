//! The solve phase of multigrid.

use std::time::Instant;

use vcycle::multigrid::{Amg, LevelScaling, Setup};
use vcycle::solver::Solver;
use vcycle_gpu::Counts;

use super::{GpuBench, ROUNDS, classical, peers};
use crate::common::iterations;
use crate::prelude::*;
use crate::problem::BenchSystem;

/// The hierarchies that are timed.
pub(super) fn hierarchies() -> Result<[(&'static str, Amg); 2]> {
    Ok([
        ("pmis, extended+i(4), l1-jacobi", classical()?),
        ("vcycle's default", Amg::default()),
    ])
}

pub(super) fn run(bench: &GpuBench, precisions: &[String], report: &mut Report) -> Result<()> {
    report.add("## Solve phase")?;
    // Family, hierarchy and precision, with problem, rows and milliseconds.
    let mut all: Vec<([String; 3], &str, f64, f64)> = Vec::new();
    let mut failed = Vec::new();
    for problem in bench.args.listed("solve") {
        let (system, theirs) = (bench.problem(problem)?, peers(problem));
        let rows = system.rhs.len() as f64;
        let mut table = bench.args.table("solve");
        for (hierarchy, amg) in hierarchies()? {
            let mut first = None;
            let each = |precision: &String, setup: f64, solver: &Solver<f64>, b: &Vector<f64>| {
                let (time, outcome) = bench.solved(solver, b, ROUNDS)?;
                let moved = (solver.footprint().moved * outcome.iterations) as f64;
                let [launches, allocations, waits] =
                    per_iteration(bench, solver, b, outcome.iterations)?;
                table.show_row(row![
                    problem,
                    hierarchy,
                    precision,
                    setup,
                    time,
                    iterations(&outcome),
                    outcome.relative_residual,
                    moved / time * 1e-6,
                    theirs.map(|[[_, hypre], _]| time / hypre),
                    theirs.map(|[_, [_, amgx]]| time / amgx),
                    *first.get_or_insert(time) / time,
                    launches,
                    allocations,
                    waits,
                ]);
                let family = problem.split(':').next().unwrap_or_default();
                let key = [family, hierarchy, precision].map(str::to_owned);
                all.push((key, problem, rows, time));
                Ok(())
            };
            if let Err(error) = solve_all(bench, &system, &amg, precisions, each) {
                failed.push(format!("{problem}, {hierarchy}: {error}"));
            }
        }
        report.add(table)?;
    }
    report.add(bench.args.note("solve", &[]))?;
    if !failed.is_empty() {
        report.add(failed.join("\n"))?;
    }
    report.add("### Ten times the rows")?;
    let mut table = bench.args.table("growth");
    for (key, from, few, short) in &all {
        let is_tenfold = |rows: f64| (9.5..10.5).contains(&(rows / few));
        for (_, to, many, long) in all.iter().filter(|one| one.0 == *key && is_tenfold(one.2)) {
            let [_, hierarchy, precision] = key;
            table.row(row![
                *from,
                *to,
                hierarchy,
                precision,
                many / few,
                long / short
            ]);
        }
    }
    report.add(table)
}

/// One coarsening for all precisions; hands over each with the seconds of its set-up, its solver and a right-hand side of ones.
pub(super) fn solve_all(
    bench: &GpuBench,
    system: &BenchSystem,
    amg: &Amg,
    precisions: &[String],
    mut each: impl FnMut(&String, f64, &Solver<f64>, &Vector<f64>) -> Result<()>,
) -> Result<()> {
    let (ws, rows) = (Workspace::new(), system.matrix.size().rows);
    let a: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(&bench.executor)?);
    let b = Vector::filled(&bench.executor, rows, 1, 1.0)?;
    let mut shared: Option<Setup> = None;
    for precision in precisions {
        let begin = Instant::now();
        let (setup, hierarchy) = match shared.take() {
            Some(setup) => {
                let setup = setup.storing(precision.parse()?, LevelScaling::Auto);
                let hierarchy = setup.update_values(&a, &ws)?;
                (setup, hierarchy)
            }
            None => {
                let mut amg = amg.clone();
                amg.precision = precision.parse()?;
                amg.setup(&a, &ws)?
            }
        };
        let seconds = begin.elapsed().as_secs_f64();
        shared = Some(setup);
        each(precision, seconds, &bench.solver(&a, hierarchy)?, &b)?;
    }
    Ok(())
}

/// Launches, allocations and synchronisations of an iteration: the difference between a whole solve and one of half the iterations.
fn per_iteration(
    bench: &GpuBench,
    solver: &Solver<f64>,
    b: &Vector<f64>,
    all: usize,
) -> Result<[Option<f64>; 3]> {
    let half = all / 2;
    if half == 0 {
        return Ok([None; 3]);
    }
    let counted = |most: usize| -> Result<Counts> {
        let stop = solver.stop().clone().max_iterations(most);
        let before = bench.device.counts();
        // Half a solve does not converge.
        let _ = solver.solve_in(b, &mut Vector::zeros_like(b)?, &stop, &Workspace::new())?;
        Ok(bench.device.counts() - before)
    };
    let (few, many) = (counted(half)?, counted(all)?);
    let numbers: [fn(&Counts) -> u64; 3] = [
        |counts| counts.launches + counts.replayed,
        |counts| counts.allocations,
        |counts| counts.synchronizations,
    ];
    Ok(numbers.map(|number| {
        let more = number(&many) as f64 - number(&few) as f64;
        Some(more / (all - half) as f64)
    }))
}
