//! Set-up, cycle and solve in three precisions.

use std::sync::Arc;
use std::time::Instant;

use comfy_table::Table;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::multigrid::Report;
use vcycle::structured::StructMg;
use vcycle::vector::Vector;

use super::{Arguments, Problem};
use crate::gpu::timing::microseconds;
use crate::timing::race;
use crate::{Result, table};

/// The precisions that are compared, the first one with itself.
const TRIPLES: [&str; 3] = ["K64P64D64", "K64P32D32", "K64P32D16"];

/// What one precision took.
struct Run {
    setup: f64,
    /// What scaling and rounding take in the set-up.
    storing: f64,
    apply: f64,
    solve: f64,
    iterations: usize,
    converged: bool,
    bytes: usize,
}

impl Run {
    /// Seconds in the preconditioner.
    fn preconditioning(&self) -> f64 {
        self.iterations as f64 * self.apply
    }

    fn iterations(&self) -> String {
        let mark = if self.converged {
            ""
        } else {
            " (not converged)"
        };
        format!("{}{mark}", self.iterations)
    }
}

/// All precisions on one problem.
pub(super) struct Measured {
    name: String,
    rows: usize,
    runs: Vec<Run>,
}

impl Measured {
    /// How much faster the narrowest precision is: a cycle, all cycles, the solve with what its storing
    /// takes in the set-up.
    fn gains(&self) -> [f64; 3] {
        let (full, mixed) = (&self.runs[0], &self.runs[TRIPLES.len() - 1]);
        let extra = (mixed.storing - full.storing).max(0.0);
        [
            full.apply / mixed.apply,
            full.preconditioning() / mixed.preconditioning(),
            full.solve / (mixed.solve + extra),
        ]
    }
}

pub(super) fn measure(arguments: &Arguments, problem: &Problem) -> Result<Measured> {
    let mut runs = Vec::new();
    for triple in TRIPLES {
        runs.push(solve(arguments, problem, triple)?);
    }
    println!("{}", details(&runs));
    Ok(Measured {
        name: problem.name.clone(),
        rows: problem.a.size().rows,
        runs,
    })
}

fn details(runs: &[Run]) -> Table {
    let mut table = table(&[
        "precision",
        "MB",
        "set-up s",
        "cycle ms",
        "x",
        "iterations",
        "solve s",
        "x",
        "in all s",
        "x",
    ]);
    let ratio = |of: fn(&Run) -> f64, run: &Run| format!("{:.2}", of(&runs[0]) / of(run));
    for (triple, run) in TRIPLES.into_iter().zip(runs) {
        table.add_row([
            triple.to_owned(),
            format!("{:.0}", run.bytes as f64 * 1e-6),
            format!("{:.2}", run.setup),
            format!("{:.2}", run.apply * 1e3),
            ratio(|run| run.apply, run),
            run.iterations(),
            format!("{:.3}", run.solve),
            ratio(|run| run.solve, run),
            format!("{:.3}", run.setup + run.solve),
            ratio(|run| run.setup + run.solve, run),
        ]);
    }
    table
}

/// The table of figures 8 and 9 of the paper, with geometric means.
pub(super) fn summary(measured: &[Measured]) -> Table {
    let mut table = table(&[
        "problem",
        "unknowns",
        "iterations D64",
        "D16",
        "cycle x",
        "preconditioner x",
        "end to end x",
    ]);
    let mut logarithms = [0.0; 3];
    for one in measured {
        let gains = one.gains();
        let row = [
            one.name.clone(),
            one.rows.to_string(),
            one.runs[0].iterations(),
            one.runs[TRIPLES.len() - 1].iterations(),
        ];
        table.add_row(
            row.into_iter()
                .chain(gains.map(|gain| format!("{gain:.2}"))),
        );
        logarithms
            .iter_mut()
            .zip(gains)
            .for_each(|(sum, gain)| *sum += gain.ln());
    }
    let mean = |sum: f64| format!("{:.2}", (sum / measured.len() as f64).exp());
    let words = ["geometric mean", "", "", ""].map(str::to_owned);
    table.add_row(words.into_iter().chain(logarithms.map(mean)));
    table
}

fn solve(arguments: &Arguments, problem: &Problem, triple: &str) -> Result<Run> {
    let (ws, b) = (Workspace::new(), &problem.b);
    let mut parameters = StructMg::default();
    parameters.precision = Some(triple.parse()?);
    let a: Arc<dyn LinOp<f64>> = problem.a.clone();
    let begin = Instant::now();
    let made = parameters.generate_with_report(&a, &ws)?;
    let setup = begin.elapsed().as_secs_f64();
    let solver = problem.solver(arguments, &made)?;
    let mut z = Vector::zeros_like(b)?;
    let mut cycle = || -> Result<()> { Ok(made.operator.apply(b, &mut z, &ws)?) };
    let apply = match b.executor() {
        Executor::Gpu(gpu) => microseconds(gpu.device(), 1, &mut cycle)? * 1e-6,
        _ => {
            let [apply] = race([&mut cycle], arguments.rounds, arguments.seconds)?;
            apply
        }
    };
    let (mut best, mut outcome) = (f64::INFINITY, None);
    for _ in 0..arguments.rounds.min(3) {
        let mut x = Vector::zeros_like(b)?;
        let begin = Instant::now();
        outcome = Some(solver.solve(b, &mut x)?);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    let outcome = outcome.ok_or("at least one round is needed")?;
    Ok(Run {
        setup,
        storing: storing(&made.report),
        apply,
        solve: best,
        iterations: outcome.iterations,
        converged: outcome.converged(),
        bytes: made.report.bytes(),
    })
}

fn storing(report: &Report) -> f64 {
    let stages = report.levels.iter().flat_map(|level| &level.setup);
    stages
        .filter(|stage| stage.name == "storing")
        .map(|stage| stage.seconds)
        .sum()
}
