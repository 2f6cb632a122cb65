//! The solve phase of multigrid.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, LevelScaling, Setup};
use vcycle::solver::{Cg, Solver};
use vcycle::stop::{Outcome, Stop};
use vcycle::vector::Vector;
use vcycle_gpu::Counts;

use super::bench::{GpuBench, peers};
use super::report::MarkdownReport;
use crate::common::{Result, Table, cell, iterations};

const TOLERANCE: f64 = 1e-8;
/// Solves of which the best counts, after one that is not timed.
const ROUNDS: usize = 3;
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
    let mut classical = Amg::default();
    classical.coarsening = "pmis".parse()?;
    classical.interpolation = "extended+i".parse()?;
    classical.smoother = "l1-jacobi".parse()?;
    Ok([
        ("pmis, extended+i(4), l1-jacobi", classical),
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

pub(super) fn run(
    bench: &GpuBench,
    precisions: &[String],
    report: &mut MarkdownReport,
) -> Result<()> {
    report.add("## Solve phase")?;
    let (mut rows, mut failed): (Vec<SolveRow>, _) = (Vec::new(), Vec::new());
    for &problem in bench.of_size(&FULL, &SMALL) {
        let before = rows.len();
        for (hierarchy, amg) in hierarchies()? {
            eprintln!("{problem}, {hierarchy}");
            let made = solve_all(
                bench,
                problem,
                &amg,
                precisions,
                |precision, setup, solved| {
                    rows.push(SolveRow {
                        problem,
                        hierarchy,
                        precision: precision.to_owned(),
                        setup,
                        solved,
                    });
                },
            );
            if let Err(error) = made {
                failed.push(format!("{problem}, {hierarchy}: {error}"));
            }
        }
        let mut table = Table::new(
            "problem | hierarchy | precision | set-up s | solve ms | iterations | residual | GB/s | of hypre | of AmgX | x first | launches | allocations | synchronisations",
        );
        rows[before..]
            .iter()
            .for_each(|row| table.row(row.cells(&rows[before..])));
        report.add(table)?;
    }
    report.add(
        "Conjugate gradients to a true relative residual of 1e-8, b = ones, x0 = 0. Set-up: the \
         first one, kernels brought to the device included; of the precisions after the \
         first what is left to do when the coarsening is shared. Solve: wall clock of the whole \
         solve, best of 3, the final true residual included. GB/s: matrices alone, vectors not \
         counted. Peers: hypre 3.1 and AmgX 2.5 on an H200, see `published/gpu-peers.tsv`. Per iteration: the \
         difference between a whole solve and one of half the iterations.",
    )?;
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
        let solver = Solver::<f64>::new(Cg::default(), Arc::clone(&a))?
            .with_preconditioner(Arc::new(hierarchy))?
            .stopping(Stop::relative(TOLERANCE));
        each(precision, seconds, solved(bench, &solver, &b)?);
    }
    Ok(())
}

/// The best of some solves.
fn solved(bench: &GpuBench, solver: &Solver<f64>, b: &Vector<f64>) -> Result<Solved> {
    let (mut seconds, mut outcome) = (f64::INFINITY, None);
    for round in 0..=ROUNDS {
        let mut x = Vector::zeros_like(b)?;
        bench.device.synchronize()?;
        let begin = Instant::now();
        let solved = solver.solve(b, &mut x)?;
        if round > 0 {
            seconds = seconds.min(begin.elapsed().as_secs_f64());
        }
        outcome.get_or_insert(solved);
    }
    let outcome = outcome.ok_or("nothing was solved")?;
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
        milliseconds: seconds * 1e3,
        moved: solver.footprint().moved,
        outcome,
        each,
    })
}

impl SolveRow {
    fn cells(&self, rows: &[SolveRow]) -> String {
        let (solved, peers) = (&self.solved, peers(self.problem));
        let (time, outcome) = (solved.milliseconds, &solved.outcome);
        let first = rows.iter().find(|row| row.hierarchy == self.hierarchy);
        let speed = (solved.moved * outcome.iterations) as f64 / (time * 1e-3);
        format!(
            "{} | {} | {} | {:.2} | {time:.2} | {} | {:.1e} | {:.0} | {} | {} | {} | {}",
            self.problem,
            self.hierarchy,
            self.precision,
            self.setup,
            iterations(outcome),
            outcome.relative_residual,
            speed * 1e-9,
            cell(peers.map(|[hypre, _]| time / hypre.solve), 2),
            cell(peers.map(|[_, amgx]| time / amgx.solve), 2),
            cell(first.map(|first| first.solved.milliseconds / time), 2),
            solved.each.map(|number| cell(number, 1)).join(" | ")
        )
    }
}

fn growth(bench: &GpuBench, rows: &[SolveRow]) -> Result<Table> {
    let mut table = Table::new("from | to | hierarchy | precision | rows grow | time grows");
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
            table.row(format!(
                "{from} | {to} | {} | {} | {:.2} | {:.2}",
                small.hierarchy,
                small.precision,
                size(large)? / size(small)?,
                large.solved.milliseconds / small.solved.milliseconds
            ));
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

    #[test]
    fn the_first_hierarchy_is_that_of_the_peers() {
        let [(name, classical), _] = hierarchies().unwrap();
        assert!(name.starts_with("pmis"));
        assert_eq!(classical.truncation.max_elements, 4);
    }
}
