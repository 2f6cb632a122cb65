//! The solve phase of multigrid.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, LevelScaling, Setup};
use vcycle::solver::Solver;
use vcycle::stop::Outcome;
use vcycle::vector::Vector;
use vcycle_gpu::Counts;

use super::bench::{GpuBench, ROUNDS, classical, peers};
use crate::common::{Result, iterations};
use crate::table::{Cell, Report, Table, row};

/// Problems of the issue, and smaller ones that the largest have ten times the rows of.
const FULL: [&str; 8] = [
    "poisson7:128",
    "poisson7:256",
    "poisson27:128",
    "poisson27:200",
    "jump7:128,1e6",
    "aniso7:128,0.01",
    "poisson7:119",
    "poisson27:93",
];
const SMALL: [&str; 6] = [
    "poisson7:30",
    "poisson27:30",
    "jump7:20,1e6",
    "aniso7:20,0.01",
    "poisson7:14",
    "poisson27:14",
];
/// A problem, and one with ten times the rows.
const GROWTH: [(&str, &str); 4] = [
    ("poisson7:119", "poisson7:256"),
    ("poisson27:93", "poisson27:200"),
    ("poisson7:14", "poisson7:30"),
    ("poisson27:14", "poisson27:30"),
];

/// The hierarchies that are timed.
pub(super) fn hierarchies() -> Result<[(&'static str, Amg); 2]> {
    Ok([
        ("pmis, extended+i(4), l1-jacobi", classical()?),
        ("vcycle's own", Amg::default()),
    ])
}

/// How a solve went.
pub(super) struct Solved {
    milliseconds: f64,
    outcome: Outcome,
    /// Bytes of matrices that an iteration moves.
    moved: usize,
    /// Launches, allocations and synchronisations of an iteration, on average.
    each: [Option<f64>; 3],
}

/// A solve in its row of the table.
struct SolveRow {
    problem: &'static str,
    hierarchy: &'static str,
    precision: String,
    setup: f64,
    solved: Solved,
}

pub(super) fn run(bench: &GpuBench, precisions: &[String], report: &mut Report) -> Result<()> {
    report.add("## Solve phase")?;
    let (mut rows, mut failed): (Vec<SolveRow>, _) = (Vec::new(), Vec::new());
    for &problem in bench.of_size(&FULL, &SMALL) {
        let before = rows.len();
        for (hierarchy, amg) in hierarchies()? {
            eprintln!("{problem}, {hierarchy}");
            let keep = |precision: &str, setup, solved| {
                rows.push(SolveRow {
                    problem,
                    hierarchy,
                    precision: precision.to_owned(),
                    setup,
                    solved,
                });
            };
            if let Err(error) = solve_all(bench, problem, &amg, precisions, keep) {
                failed.push(format!("{problem}, {hierarchy}: {error}"));
            }
        }
        let mut table = bench.asked.table("solve");
        let rows = &rows[before..];
        rows.iter().for_each(|row| table.row(row.cells(rows)));
        report.add(table)?;
    }
    report.add(bench.asked.note("solve", &[]))?;
    if !failed.is_empty() {
        report.add(failed.join("\n"))?;
    }
    report.add("### Ten times the rows")?;
    report.add(growth(bench, &rows)?)
}

/// One coarsening for all precisions; reports of each the seconds of its set-up and the solve.
pub(super) fn solve_all(
    bench: &GpuBench,
    problem: &str,
    amg: &Amg,
    precisions: &[String],
    mut each: impl FnMut(&str, f64, Solved),
) -> Result<()> {
    let system = bench.problem(problem)?;
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
        let solver = bench.solver(&a, hierarchy)?;
        each(precision, seconds, solved(bench, &solver, &b)?);
    }
    Ok(())
}

/// The best of some solves.
fn solved(bench: &GpuBench, solver: &Solver<f64>, b: &Vector<f64>) -> Result<Solved> {
    let (milliseconds, outcome) = bench.solved(solver, b, ROUNDS)?;
    let counted = |most: usize| -> Result<Counts> {
        let stop = solver.stop().clone().max_iterations(most);
        let before = bench.device.counts();
        // How it ends is not what is asked: it may be cut short.
        let _ = solver.solve_in(b, &mut Vector::zeros_like(b)?, &stop, &Workspace::new())?;
        Ok(bench.device.counts() - before)
    };
    let (half, all) = (outcome.iterations / 2, outcome.iterations);
    let mut each = [None; 3];
    if half > 0 {
        let (few, many) = (counted(half)?, counted(all)?);
        let numbers: [fn(&Counts) -> u64; 3] = [
            |counts| counts.launches + counts.replayed,
            |counts| counts.allocations,
            |counts| counts.synchronizations,
        ];
        each = numbers.map(|number| {
            let more = number(&many) as f64 - number(&few) as f64;
            Some(more / (all - half) as f64)
        });
    }
    Ok(Solved {
        milliseconds,
        moved: solver.footprint().moved,
        outcome,
        each,
    })
}

impl SolveRow {
    fn cells(&self, rows: &[SolveRow]) -> Vec<Cell> {
        let (solved, peers) = (&self.solved, peers(self.problem));
        let (time, outcome) = (solved.milliseconds, &solved.outcome);
        let first = rows.iter().find(|row| row.hierarchy == self.hierarchy);
        let speed = (solved.moved * outcome.iterations) as f64 / (time * 1e-3);
        let [launches, allocations, synchronisations] = solved.each;
        row![
            self.problem,
            self.hierarchy,
            &self.precision,
            self.setup,
            time,
            iterations(outcome),
            outcome.relative_residual,
            speed * 1e-9,
            peers.map(|[hypre, _]| time / hypre.solve),
            peers.map(|[_, amgx]| time / amgx.solve),
            first.map(|first| first.solved.milliseconds / time),
            launches,
            allocations,
            synchronisations,
        ]
    }
}

fn growth(bench: &GpuBench, rows: &[SolveRow]) -> Result<Table> {
    let mut table = bench.asked.table("growth");
    let size = |row: &SolveRow| -> Result<f64> { Ok(bench.problem(row.problem)?.rhs.len() as f64) };
    for (from, to) in GROWTH {
        for small in rows.iter().filter(|row| row.problem == from) {
            let same = |row: &&SolveRow| {
                (row.problem, row.hierarchy, &row.precision)
                    == (to, small.hierarchy, &small.precision)
            };
            let Some(large) = rows.iter().find(same) else {
                continue;
            };
            let rows = size(large)? / size(small)?;
            let time = large.solved.milliseconds / small.solved.milliseconds;
            table.row(row![
                from,
                to,
                small.hierarchy,
                &small.precision,
                rows,
                time
            ]);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(problem: &str) -> f64 {
        let (_, side) = problem.split_once(':').unwrap();
        side.parse::<f64>().unwrap().powi(3)
    }

    #[test]
    fn growth_is_tenfold() {
        for (from, to) in GROWTH {
            let factor = rows(to) / rows(from);
            assert!((9.5..10.5).contains(&factor), "{from} {to}: {factor}");
            for list in [&FULL[..], &SMALL] {
                assert_eq!(list.contains(&from), list.contains(&to), "{from} {to}");
            }
        }
    }
}
