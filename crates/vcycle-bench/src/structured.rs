//! `vcycle-bench struct`: what storing stencil matrices in fewer bits gains.

use std::sync::Arc;
use std::time::Instant;

use comfy_table::Table;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::scalar::f16;
use vcycle::solver::{Cg, Gmres, Solver};
use vcycle::stop::Stop;
use vcycle::structured::{Direction, StencilMatrix, StructMg};
use vcycle::vector::Vector;

use crate::problem::{self, System};
use crate::timing::race;
use crate::triad::{Triad, pool};
use crate::{Result, table};

/// Options of `struct`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Problems whose matrix is a stencil on a grid, or files
    #[arg(default_values_t = ["laplace27:128".to_owned(), "laplace27e8:128".to_owned()])]
    problems: Vec<String>,
    /// Threads; all cores unless given
    #[arg(long)]
    threads: Option<usize>,
    /// Turns each candidate takes
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of one turn
    #[arg(long, default_value_t = 0.3)]
    seconds: f64,
    /// Residual to reach, relative to the right-hand side
    #[arg(long, default_value_t = 1e-9)]
    rtol: f64,
}

/// The precisions that are compared, the first one with itself.
const TRIPLES: [&str; 3] = ["K64P64D64", "K64P32D32", "K64P32D16"];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let executor = Executor::cpu_with_threads(crate::threads(arguments.threads)?)?;
    for name in &arguments.problems {
        let system = problem::system(&executor, name)?;
        let a = StencilMatrix::from_csr(&system.matrix)?;
        let (grid, stencil) = (a.grid(), a.stencil());
        println!(
            "{name}: stencil {stencil} on {grid} cells, {} threads",
            executor.threads()
        );
        println!("{}", kernels(arguments, &executor, &a)?);
        println!("{}", solves(arguments, &executor, &system, a)?);
    }
    Ok(())
}

/// Products and sweeps beside the triad.
fn kernels(arguments: &Arguments, executor: &Executor, a: &StencilMatrix<f64>) -> Result<Table> {
    let (mut triad, pool, ws) = (Triad::new(), pool(executor.threads())?, Workspace::new());
    let cells = a.grid().cells();
    let (single, half) = (a.convert::<f32>()?, a.convert::<f16>()?);
    let doubles = || Vector::<f64>::filled(executor, cells, 1, 1e-3);
    let singles = || Vector::<f32>::filled(executor, cells, 1, 1e-3);
    let (x, mut y, mut u) = (doubles()?, doubles()?, doubles()?);
    let (v, mut w, mut s, mut z, mut t) =
        (singles()?, singles()?, singles()?, singles()?, singles()?);
    let forward = Direction::Forward;
    let times = race(
        [
            &mut triad.on(&pool),
            &mut || Ok(a.apply(&x, &mut y, &ws)?),
            &mut || Ok(single.apply(&v, &mut w, &ws)?),
            &mut || Ok(half.apply(&v, &mut z, &ws)?),
            &mut || Ok(a.gauss_seidel(forward, &x, &mut u, &ws)?),
            &mut || Ok(single.gauss_seidel(forward, &v, &mut s, &ws)?),
            &mut || Ok(half.gauss_seidel(forward, &v, &mut t, &ws)?),
        ],
        arguments.rounds,
        arguments.seconds,
    )?;
    let (wide, narrow) = ((16 * cells) as f64, (8 * cells) as f64);
    let matrices = [a.bytes(), single.bytes(), half.bytes()].map(|bytes| bytes as f64);
    let moved = |extra: f64| {
        [
            matrices[0] + wide + 2.0 * extra,
            matrices[1] + narrow + extra,
            matrices[2] + narrow + extra,
        ]
    };
    let bytes = [
        vec![triad.bytes()],
        moved(0.0).to_vec(),
        moved((4 * cells) as f64).to_vec(),
    ]
    .concat();
    let names = [
        "triad",
        "product f64",
        "product f32",
        "product f16/f32",
        "sweep f64",
        "sweep f32",
        "sweep f16/f32",
    ];
    let mut table = table(&["kernel", "ms", "GB/s", "% of triad", "x f64", "bytes allow"]);
    for (place, name) in names.into_iter().enumerate() {
        let first = if place == 0 {
            0
        } else {
            1 + (place - 1) / 3 * 3
        };
        let speed = bytes[place] / times[place];
        table.add_row([
            name.to_owned(),
            format!("{:.2}", times[place] * 1e3),
            format!("{:.2}", speed / 1e9),
            format!("{:.0}", 100.0 * speed * times[0] / bytes[0]),
            format!("{:.2}", times[first] / times[place]),
            format!("{:.2}", bytes[first] / bytes[place]),
        ]);
    }
    Ok(table)
}

/// What one precision took.
struct Run {
    setup: f64,
    apply: f64,
    solve: f64,
    iterations: usize,
    converged: bool,
    bytes: usize,
}

/// Set-up, cycle and solve in three storage precisions; cycles take turns.
fn solves(
    arguments: &Arguments,
    executor: &Executor,
    system: &System,
    a: StencilMatrix<f64>,
) -> Result<Table> {
    let symmetric = system.matrix.facts().hermitian;
    let b = Vector::from_column(executor, system.rhs.clone());
    let a: Arc<dyn LinOp<f64>> = Arc::new(a);
    let mut runs: Vec<Run> = Vec::new();
    for triple in TRIPLES {
        runs.push(solve(arguments, &a, &b, triple, symmetric)?);
    }
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
    for (triple, run) in TRIPLES.into_iter().zip(&runs) {
        let mark = if run.converged {
            ""
        } else {
            " (not converged)"
        };
        table.add_row([
            triple.to_owned(),
            format!("{:.0}", run.bytes as f64 * 1e-6),
            format!("{:.2}", run.setup),
            format!("{:.2}", run.apply * 1e3),
            ratio(|run| run.apply, run),
            format!("{}{mark}", run.iterations),
            format!("{:.3}", run.solve),
            ratio(|run| run.solve, run),
            format!("{:.3}", run.setup + run.solve),
            ratio(|run| run.setup + run.solve, run),
        ]);
    }
    Ok(table)
}

fn solve(
    arguments: &Arguments,
    a: &Arc<dyn LinOp<f64>>,
    b: &Vector<f64>,
    triple: &str,
    symmetric: bool,
) -> Result<Run> {
    let ws = Workspace::new();
    let mut parameters = StructMg::default();
    parameters.precision = Some(triple.parse()?);
    let begin = Instant::now();
    let made = parameters.generate_with_report(a, &ws)?;
    let setup = begin.elapsed().as_secs_f64();
    let solver = match symmetric {
        true => Solver::new(Cg::default(), Arc::clone(a))?,
        false => Solver::new(Gmres::default(), Arc::clone(a))?,
    };
    let solver = solver.with_preconditioner(Arc::clone(&made.operator))?;
    let solver = solver.stopping(Stop::relative(arguments.rtol).max_iterations(500));
    let mut z = Vector::zeros_like(b)?;
    let [apply] = race(
        [&mut || Ok(made.operator.apply(b, &mut z, &ws)?)],
        arguments.rounds,
        arguments.seconds,
    )?;
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
        apply,
        solve: best,
        iterations: outcome.iterations,
        converged: outcome.converged(),
        bytes: made.report.bytes(),
    })
}
