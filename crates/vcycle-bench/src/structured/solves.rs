//! Set-up, cycle and solve in three precisions.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::solver::Solver;
use vcycle::structured::Generated;
use vcycle::vector::Vector;

use super::problem::Problem;
use super::settings::Settings;
use crate::asked::Asked;
use crate::common::Result;
use crate::table::{Table, row};
use crate::timing::{Work, mean, turns};

/// The precisions that are compared, the first one with itself.
const TRIPLES: [&str; 3] = ["K64P64D64", "K64P32D32", "K64P32D16"];

/// One precision, ready to solve, and what it took so far.
struct Precision {
    made: Generated<f64>,
    solver: Solver<f64>,
    setup: f64,
    /// What scaling and rounding take in the set-up.
    storing: f64,
    apply: f64,
    solve: f64,
    iterations: usize,
    converged: bool,
}

impl Precision {
    fn new(settings: &Settings, problem: &Problem, triple: &str) -> Result<Self> {
        let parameters = settings.multigrid(triple)?;
        let a: Arc<dyn LinOp<f64>> = problem.a.clone();
        let (mut setup, mut storing, mut last) = (f64::INFINITY, f64::INFINITY, None);
        for _ in 0..settings.measuring.0.clamp(1, 3) {
            // What was made before goes first: two of them need not fit into memory.
            drop(last.take());
            let begin = Instant::now();
            let made = parameters.generate_with_report(&a, &Workspace::new())?;
            setup = setup.min(begin.elapsed().as_secs_f64());
            let stages = made.report.levels.iter().flat_map(|level| &level.setup);
            let stored = stages.filter(|stage| stage.name == "storing");
            storing = storing.min(stored.map(|stage| stage.seconds).sum());
            last = Some(made);
        }
        let made = last.ok_or("nothing was set up")?;
        Ok(Self {
            solver: problem.solver(settings, &made)?,
            made,
            setup,
            storing,
            apply: f64::INFINITY,
            solve: f64::INFINITY,
            iterations: 0,
            converged: false,
        })
    }

    /// Solves once more; the best time counts.
    fn solve(&mut self, b: &Vector<f64>, x: &mut Vector<f64>, ws: &Workspace) -> Result<()> {
        x.fill(0.0)?;
        let begin = Instant::now();
        let outcome = self.solver.solve_in(b, x, self.solver.stop(), ws)?;
        self.solve = self.solve.min(begin.elapsed().as_secs_f64());
        (self.iterations, self.converged) = (outcome.iterations, outcome.converged());
        Ok(())
    }

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
    runs: Vec<Precision>,
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
pub(super) fn measure(settings: &Settings, problem: &Problem) -> Result<Measured> {
    let runs = TRIPLES.map(|triple| Precision::new(settings, problem, triple));
    let mut runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
    let cycles = cycles(settings, problem, &runs)?;
    for (run, apply) in runs.iter_mut().zip(cycles) {
        run.apply = apply;
    }
    let (ws, mut x) = (Workspace::new(), Vector::zeros_like(&problem.b)?);
    // The first solve of each brings memory for the others.
    for _ in 0..=settings.measuring.0.clamp(1, 3) {
        for run in &mut runs {
            run.solve(&problem.b, &mut x, &ws)?;
        }
    }
    say!("{}", details(&settings.asked, &runs));
    Ok(Measured {
        name: problem.name.clone(),
        rows: problem.a.size().rows,
        runs,
    })
}

/// Seconds of a cycle of each.
fn cycles(settings: &Settings, problem: &Problem, runs: &[Precision]) -> Result<Vec<f64>> {
    let (ws, b) = (&Workspace::new(), &problem.b);
    let mut all: Vec<Work<'_>> = Vec::new();
    for run in runs {
        let mut x = Vector::zeros_like(b)?;
        let cycle = &run.made.operator;
        all.push(Box::new(move || Ok(cycle.apply(b, &mut x, ws)?)));
    }
    turns(b.executor(), all, settings.measuring)
}

fn details(asked: &Asked, runs: &[Precision]) -> Table {
    let mut table = asked.table("precisions");
    let first = &runs[0];
    for (triple, run) in TRIPLES.into_iter().zip(runs) {
        let all = |run: &Precision| run.setup + run.solve;
        table.row(row![
            triple,
            run.made.report.bytes() as f64 * 1e-6,
            run.setup,
            run.apply * 1e3,
            first.apply / run.apply,
            run.iterations(),
            run.solve,
            first.solve / run.solve,
            all(run),
            all(first) / all(run),
        ]);
    }
    table
}

/// The table of figures 8 and 9 of the paper, with geometric means.
pub(super) fn summary(asked: &Asked, measured: &[Measured]) -> Table {
    let mut table = asked.table("summary");
    for one in measured {
        let [wide, narrow] = [0, TRIPLES.len() - 1].map(|place| one.runs[place].iterations());
        let [cycle, all, whole] = one.gains();
        table.row(row![&one.name, one.rows, wide, narrow, cycle, all, whole]);
    }
    let [cycle, all, whole] = [0, 1, 2].map(|place| {
        let gains: Vec<f64> = measured.iter().map(|one| one.gains()[place]).collect();
        mean(&gains)
    });
    table.row(row!["geometric mean", "", "", "", cycle, all, whole]);
    table
}
