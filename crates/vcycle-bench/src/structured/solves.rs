//! Set-up, cycle and solve in three precisions.

use std::time::Instant;

use vcycle::solver::Solver;
use vcycle::structured::Generated;

use super::{Problem, multigrid};
use crate::prelude::*;
use crate::timing::{Work, mean, turns};

/// The precisions that are compared, the first one with itself.
const TRIPLES: [&str; 3] = ["K64P64D64", "K64P32D32", "K64P32D16"];

/// One precision, ready to solve, with the best seconds so far.
struct Precision {
    made: Generated<f64>,
    solver: Solver<f64>,
    setup: f64,
    /// Scaling and rounding in the set-up.
    storing: f64,
    apply: f64,
    solve: f64,
    iterations: usize,
    converged: bool,
}

impl Precision {
    fn new(args: &Args, problem: &Problem, triple: &str, rounds: usize) -> Result<Self> {
        let parameters = multigrid(args, triple)?;
        let (mut setup, mut storing, mut last) = (f64::INFINITY, f64::INFINITY, None);
        for _ in 0..rounds {
            // The last result goes before the next is made: two of them need not fit into memory.
            drop(last.take());
            let begin = Instant::now();
            let made = problem.set_up(&parameters)?;
            setup = setup.min(begin.elapsed().as_secs_f64());
            let stages = made.report.levels.iter().flat_map(|level| &level.setup);
            let stored = stages.filter(|stage| stage.name == "storing");
            storing = storing.min(stored.map(|stage| stage.seconds).sum());
            last = Some(made);
        }
        let made = last.ok_or("nothing was set up")?;
        Ok(Self {
            solver: problem.solver(args, &made)?,
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

/// Makes all precisions, then lets them take turns: the load of the machine is the same for all.
pub(super) fn measure(args: &Args, problem: &Problem, measuring: (usize, f64)) -> Result<Measured> {
    let rounds = measuring.0.clamp(1, 3);
    let runs = TRIPLES.map(|triple| Precision::new(args, problem, triple, rounds));
    let mut runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
    let (ws, b) = (&Workspace::new(), &problem.b);
    let mut cycles: Vec<Work<'_>> = Vec::new();
    for run in &runs {
        let mut x = Vector::zeros_like(b)?;
        let cycle = &run.made.operator;
        cycles.push(Box::new(move || Ok(cycle.apply(b, &mut x, ws)?)));
    }
    let times = turns(b.executor(), &mut cycles, measuring)?;
    drop(cycles);
    for (run, apply) in runs.iter_mut().zip(times) {
        run.apply = apply;
    }
    let mut x = Vector::zeros_like(b)?;
    // The first solve of each brings memory for the others.
    for _ in 0..=rounds {
        for run in &mut runs {
            run.solve(b, &mut x, ws)?;
        }
    }
    print_line!("{}", details(args, &runs));
    Ok(Measured {
        name: problem.name.clone(),
        rows: problem.a.size().rows,
        runs,
    })
}

/// Iterations in double and half precision, and how much faster half precision is: all cycles, and the solve with what
/// storing takes.
pub(crate) struct Gains {
    pub(crate) iterations: [usize; 2],
    pub(crate) preconditioner: f64,
    pub(crate) end_to_end: f64,
}

/// Solves a problem in double and in half precision, for some rounds, cycles for some seconds each.
pub(crate) fn gains(problem: &str, executor: &Executor, measuring: (usize, f64)) -> Result<Gains> {
    let problem = Problem::new(&Executor::cpu(), problem)?.on(executor)?;
    let measured = measure(&Args::parse("struct"), &problem, measuring)?;
    let [_, preconditioner, end_to_end] = measured.gains();
    Ok(Gains {
        iterations: [0, TRIPLES.len() - 1].map(|place| measured.runs[place].iterations),
        preconditioner,
        end_to_end,
    })
}

fn details(args: &Args, runs: &[Precision]) -> Table {
    let mut table = args.table("precisions");
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
pub(super) fn summary(args: &Args, measured: &[Measured]) -> Table {
    let mut table = args.table("summary");
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
