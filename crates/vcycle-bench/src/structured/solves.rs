//! Set-up, cycle and solve in three precisions.

use std::sync::Arc;
use std::time::Instant;

use comfy_table::Table;
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::multigrid::Report;
use vcycle::solver::Solver;
use vcycle::structured::Generated;
use vcycle::vector::Vector;

use super::args::StructuredArgs;
use super::problem::Problem;
use crate::common::{Result, table};
use crate::gpu::timing::microseconds;
use crate::timing::race;

/// The precisions that are compared, the first one with itself.
const TRIPLES: [&str; 3] = ["K64P64D64", "K64P32D32", "K64P32D16"];

/// What one precision took.
struct TimedRun {
    setup: f64,
    /// What scaling and rounding take in the set-up.
    storing: f64,
    apply: f64,
    solve: f64,
    iterations: usize,
    converged: bool,
    bytes: usize,
}

impl TimedRun {
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
    runs: Vec<TimedRun>,
}

impl Measured {
    /// In the widest and in the narrowest precision.
    pub fn iterations(&self) -> [usize; 2] {
        [0, TRIPLES.len() - 1].map(|place| self.runs[place].iterations)
    }

    /// How much faster the narrowest precision is: a cycle, all cycles, the solve with what its storing
    /// takes in the set-up.
    pub fn gains(&self) -> [f64; 3] {
        let (full, mixed) = (&self.runs[0], &self.runs[TRIPLES.len() - 1]);
        let extra = (mixed.storing - full.storing).max(0.0);
        [
            full.apply / mixed.apply,
            full.preconditioning() / mixed.preconditioning(),
            full.solve / (mixed.solve + extra),
        ]
    }
}

/// Makes all precisions, then lets them take turns: what else the machine does is the same for all.
pub(super) fn measure(arguments: &StructuredArgs, problem: &Problem) -> Result<Measured> {
    let mut ready = Vec::new();
    for triple in TRIPLES {
        ready.push(ReadySolve::new(arguments, problem, triple)?);
    }
    let applies = cycles(arguments, problem, &ready)?;
    let (ws, mut x) = (Workspace::new(), Vector::zeros_like(&problem.b)?);
    // The first solve of each brings memory for the others.
    for _ in 0..=arguments.rounds.clamp(1, 3) {
        ready
            .iter_mut()
            .try_for_each(|one| one.solve(&problem.b, &mut x, &ws))?;
    }
    let runs: Vec<TimedRun> = ready
        .into_iter()
        .zip(applies)
        .map(|(one, apply)| TimedRun { apply, ..one.run })
        .collect();
    say!("{}", details(&runs));
    Ok(Measured {
        name: problem.name.clone(),
        rows: problem.a.size().rows,
        runs,
    })
}

/// Seconds of a cycle of each.
fn cycles(arguments: &StructuredArgs, problem: &Problem, ready: &[ReadySolve]) -> Result<[f64; 3]> {
    let (ws, b) = (Workspace::new(), &problem.b);
    let zeros = || Vector::zeros_like(b);
    let [mut x, mut y, mut z] = [zeros()?, zeros()?, zeros()?];
    let one = |ready: &ReadySolve, z: &mut Vector<f64>| -> Result<()> {
        Ok(ready.made.operator.apply(b, z, &ws)?)
    };
    let (mut first, mut second, mut third) = (
        || one(&ready[0], &mut x),
        || one(&ready[1], &mut y),
        || one(&ready[2], &mut z),
    );
    match b.executor().device() {
        Some(device) => Ok([
            microseconds(device, 1, &mut first)? * 1e-6,
            microseconds(device, 1, &mut second)? * 1e-6,
            microseconds(device, 1, &mut third)? * 1e-6,
        ]),
        None => race(
            [&mut first, &mut second, &mut third],
            arguments.rounds,
            arguments.seconds,
        ),
    }
}

fn details(runs: &[TimedRun]) -> Table {
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
    let ratio = |of: fn(&TimedRun) -> f64, run: &TimedRun| format!("{:.2}", of(&runs[0]) / of(run));
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

/// One precision, ready to solve, and what is known about it so far.
struct ReadySolve {
    made: Generated<f64>,
    solver: Solver<f64>,
    run: TimedRun,
}

impl ReadySolve {
    fn new(arguments: &StructuredArgs, problem: &Problem, triple: &str) -> Result<Self> {
        let parameters = arguments.multigrid(triple)?;
        let a: Arc<dyn LinOp<f64>> = problem.a.clone();
        let set_up = || {
            let begin = Instant::now();
            let made = parameters.generate_with_report(&a, &Workspace::new())?;
            let (all, part) = (begin.elapsed().as_secs_f64(), storing(&made.report));
            Ok::<_, vcycle::Error>((made, all, part))
        };
        let (mut made, mut setup, mut storing) = set_up()?;
        for _ in 1..arguments.rounds.min(3) {
            drop(made);
            let (all, part);
            (made, all, part) = set_up()?;
            (setup, storing) = (setup.min(all), storing.min(part));
        }
        let run = TimedRun {
            setup,
            storing,
            apply: f64::INFINITY,
            solve: f64::INFINITY,
            iterations: 0,
            converged: false,
            bytes: made.report.bytes(),
        };
        Ok(Self {
            solver: problem.solver(arguments, &made)?,
            made,
            run,
        })
    }

    /// Solves once more; the best time counts.
    fn solve(&mut self, b: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        x.fill(0.0)?;
        let begin = Instant::now();
        let outcome = self.solver.solve_in(b, x, self.solver.stop(), ws)?;
        self.run.solve = self.run.solve.min(begin.elapsed().as_secs_f64());
        (self.run.iterations, self.run.converged) = (outcome.iterations, outcome.converged());
        Ok(())
    }
}

fn storing(report: &Report) -> f64 {
    let stages = report.levels.iter().flat_map(|level| &level.setup);
    stages
        .filter(|stage| stage.name == "storing")
        .map(|stage| stage.seconds)
        .sum()
}
