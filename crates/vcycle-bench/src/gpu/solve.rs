//! The solve phase of multigrid.

use std::sync::Arc;
use std::time::Instant;

use comfy_table::Table;
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, Hierarchy, LevelScaling, Setup};
use vcycle::solver::{Cg, Solver};
use vcycle::stop::Stop;
use vcycle::vector::Vector;
use vcycle_gpu::Device;

use super::bench::GpuBench;
use super::measure::{Each, Solved, iterations, solved};
use super::published::peers;
use super::report::{MarkdownReport, cell};
use crate::common::{Result, table};

const TOLERANCE: f64 = 1e-8;
/// Timed unless others are asked for.
const PRECISIONS: [&str; 3] = ["dp", "sp", "dp-sp"];
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

/// A solve in its row of the table.
struct SolveRow {
    problem: &'static str,
    hierarchy: &'static str,
    precision: String,
    setup: f64,
    solved: Solved,
    rows: usize,
}

pub(super) fn run(bench: &GpuBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Solve phase")?;
    let problems: &[&'static str] = if bench.small { &SMALL } else { &FULL };
    let (mut rows, mut failed) = (Vec::new(), Vec::new());
    for &problem in problems {
        let before = rows.len();
        for (hierarchy, amg) in hierarchies()? {
            eprintln!("{problem}, {hierarchy}");
            if let Err(error) = measure(bench, problem, hierarchy, &amg, &mut rows) {
                failed.push(format!("{problem}, {hierarchy}: {error}"));
            }
        }
        report.add(solves(&rows[before..]))?;
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
    report.add(growth(&rows))
}

fn measure(
    bench: &GpuBench,
    problem: &'static str,
    hierarchy: &'static str,
    amg: &Amg,
    rows: &mut Vec<SolveRow>,
) -> Result<()> {
    let ws = Workspace::new();
    let prepared = Prepared::new(bench, problem, amg, &ws)?;
    let count = prepared.b.rows();
    prepared.solve_all(
        &bench.precisions_or(&PRECISIONS),
        |precision, setup, solved| {
            rows.push(SolveRow {
                problem,
                hierarchy,
                precision: precision.to_owned(),
                setup,
                solved,
                rows: count,
            });
        },
    )
}

/// A system on the device, and the stages it is to be set up with.
pub(super) struct Prepared<'p> {
    device: &'p Device,
    a: Arc<dyn LinOp<f64>>,
    b: Vector<f64>,
    amg: &'p Amg,
    ws: &'p Workspace,
}

impl<'p> Prepared<'p> {
    pub fn new(
        bench: &'p GpuBench,
        problem: &str,
        amg: &'p Amg,
        ws: &'p Workspace,
    ) -> Result<Self> {
        let system = bench.problems.get(problem)?;
        let rows = system.matrix.size().rows;
        Ok(Self {
            device: &bench.device,
            a: Arc::new(system.matrix.copy_to(&bench.executor)?),
            b: Vector::filled(&bench.executor, rows, 1, 1.0)?,
            amg,
            ws,
        })
    }

    /// One coarsening for all precisions; tells of each the seconds of its set-up and the solve.
    pub fn solve_all(
        &self,
        precisions: &[String],
        mut tell: impl FnMut(&str, f64, Solved),
    ) -> Result<()> {
        let mut shared: Option<Setup> = None;
        for precision in precisions {
            let begin = Instant::now();
            let (setup, hierarchy) = self.set_up(shared.take(), precision)?;
            let seconds = begin.elapsed().as_secs_f64();
            shared = Some(setup);
            let solver = Solver::<f64>::new(Cg::default(), Arc::clone(&self.a))?
                .with_preconditioner(Arc::new(hierarchy))?
                .stopping(Stop::relative(TOLERANCE));
            tell(precision, seconds, solved(self.device, &solver, &self.b)?);
        }
        Ok(())
    }

    fn set_up(&self, shared: Option<Setup>, precision: &str) -> Result<(Setup, Hierarchy<f64>)> {
        let precision = precision.parse()?;
        Ok(match shared {
            Some(setup) => {
                let setup = setup.storing(precision, LevelScaling::Auto);
                let hierarchy = setup.update_values(&self.a, self.ws)?;
                (setup, hierarchy)
            }
            None => {
                let mut amg = self.amg.clone();
                amg.precision = precision;
                amg.setup(&self.a, self.ws)?
            }
        })
    }
}

fn solves(rows: &[SolveRow]) -> Table {
    let mut table = table(&[
        "problem",
        "hierarchy",
        "precision",
        "set-up s",
        "solve ms",
        "iterations",
        "residual",
        "GB/s",
        "of hypre",
        "of AmgX",
        "x first",
        "launches",
        "allocations",
        "synchronisations",
    ]);
    for row in rows {
        table.add_row(row.cells(rows));
    }
    table
}

impl SolveRow {
    fn cells(&self, rows: &[SolveRow]) -> [String; 14] {
        let (solved, peers) = (&self.solved, peers(self.problem));
        let (time, outcome) = (solved.milliseconds, &solved.outcome);
        let first = rows.iter().find(|row| row.hierarchy == self.hierarchy);
        let speed = (solved.moved * outcome.iterations) as f64 / (time * 1e-3);
        let each = |number: fn(&Each) -> f64| cell(solved.each.as_ref().map(number), 1);
        [
            self.problem.to_owned(),
            self.hierarchy.to_owned(),
            self.precision.clone(),
            format!("{:.2}", self.setup),
            format!("{time:.2}"),
            iterations(outcome),
            format!("{:.1e}", outcome.relative_residual),
            format!("{:.0}", speed * 1e-9),
            cell(peers.map(|[hypre, _]| time / hypre.solve), 2),
            cell(peers.map(|[_, amgx]| time / amgx.solve), 2),
            cell(first.map(|first| first.solved.milliseconds / time), 2),
            each(|each| each.launches),
            each(|each| each.allocations),
            each(|each| each.synchronizations),
        ]
    }
}

fn growth(rows: &[SolveRow]) -> Table {
    let mut table = table(&[
        "from",
        "to",
        "hierarchy",
        "precision",
        "rows grow",
        "time grows",
    ]);
    for (from, to) in GROWTH {
        for small in rows.iter().filter(|row| row.problem == from) {
            let same = |row: &&SolveRow| {
                (row.problem, row.hierarchy, &row.precision)
                    == (to, small.hierarchy, &small.precision)
            };
            let Some(large) = rows.iter().find(same) else {
                continue;
            };
            table.add_row([
                from.to_owned(),
                to.to_owned(),
                small.hierarchy.to_owned(),
                small.precision.clone(),
                format!("{:.2}", large.rows as f64 / small.rows as f64),
                format!(
                    "{:.2}",
                    large.solved.milliseconds / small.solved.milliseconds
                ),
            ]);
        }
    }
    table
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
