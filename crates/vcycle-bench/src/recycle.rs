//! `vcycle-bench recycle`: a sequence of systems with a space that is kept, and right-hand sides that share one.

use std::sync::Arc;
use std::time::Instant;

use vcycle::config::{PreconditionerConfig, SolverConfig};
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::solver::{Method, SolverFactory};
use vcycle::stop::{Outcome, Stop};
use vcycle::vector::Vector;

use crate::common::{Result, table, told};
use crate::problem::matrix;

/// Options of `recycle`.
#[derive(Clone, Debug, clap::Args)]
pub struct RecycleArgs {
    /// Problems of the gallery, or files
    #[arg(default_values_t = ["jump7:24,1e4".to_owned(), "convdiff7:24,10".to_owned()])]
    problems: Vec<String>,
    /// Where it runs: cpu, or a device such as cuda:0
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Systems that follow each other: their diagonals grow by a thousandth each, and right-hand sides are others
    #[arg(long, default_value_t = 6)]
    systems: usize,
    /// Right-hand sides that are solved for at once
    #[arg(long, default_value_t = 8)]
    columns: usize,
    /// Preconditioner
    #[arg(long, default_value = "jacobi")]
    precond: String,
    /// Residual to reach, relative to the right-hand side
    #[arg(long, default_value_t = 1e-8)]
    rtol: f64,
}

pub(crate) fn run(arguments: &RecycleArgs) -> Result<()> {
    let executor = match arguments.device.as_str() {
        "cpu" => Executor::cpu(),
        device => Executor::gpu(device)?,
    };
    let mut sequences = table(&[
        "problem",
        "rows",
        "solver",
        "iterations, system by system",
        "ms",
    ]);
    let mut blocks = table(&["problem", "rows", "solver", "iterations", "ms"]);
    for problem in &arguments.problems {
        let a = matrix(&executor, problem)?;
        let rows = a.size().rows.to_string();
        for solver in ["gmres:50", "gcro-dr:40,10"] {
            let (outcomes, milliseconds) = sequence(arguments, &a, solver)?;
            let told: Vec<String> = outcomes.iter().map(told).collect();
            let cells = [told.join(" "), format!("{milliseconds:.1}")];
            sequences.add_row(
                [problem.clone(), rows.clone(), solver.to_owned()]
                    .into_iter()
                    .chain(cells),
            );
        }
        let solvers = ["cg", "block-cg", "gmres:50", "block-gmres:50"];
        let symmetric = a.facts().symmetric;
        for solver in &solvers[if symmetric { 0 } else { 2 }..] {
            let (outcome, milliseconds) = together(arguments, &a, solver)?;
            let cells = [told(&outcome), format!("{milliseconds:.1}")];
            blocks.add_row(
                [problem.clone(), rows.clone(), (*solver).to_owned()]
                    .into_iter()
                    .chain(cells),
            );
        }
    }
    say!(
        "{} systems one after the other, with {} on {}:\n{sequences}",
        arguments.systems,
        arguments.precond,
        arguments.device
    );
    say!("{} right-hand sides at once:\n{blocks}", arguments.columns);
    Ok(())
}

/// Random right-hand sides.
fn sides(executor: &Executor, rows: usize, columns: usize, seed: u64) -> Result<Vector<f64>> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let values = (0..rows * columns).map(|_| next()).collect();
    Ok(Vector::from_rows(executor, columns, values)?)
}

/// One solve with a method, and the milliseconds it takes without the set-up.
fn once(
    arguments: &RecycleArgs,
    a: Csr<f64>,
    method: &Arc<dyn Method<f64>>,
    b: &Vector<f64>,
) -> Result<(Outcome, f64)> {
    let preconditioner: PreconditionerConfig = arguments.precond.parse()?;
    let factory = SolverFactory {
        method: Arc::clone(method),
        preconditioner: preconditioner.factory()?,
        stop: Stop::relative(arguments.rtol).max_iterations(5000),
    };
    let a: Arc<dyn LinOp<f64>> = Arc::new(a);
    let ws = Workspace::new();
    let solver = factory.solver(&a, &ws)?;
    let mut x = Vector::zeros_like(b)?;
    a.executor().synchronize()?;
    let begin = Instant::now();
    let outcome = solver.solve_in(b, &mut x, solver.stop(), &ws)?;
    Ok((outcome, begin.elapsed().as_secs_f64() * 1e3))
}

fn sequence(arguments: &RecycleArgs, a: &Csr<f64>, solver: &str) -> Result<(Vec<Outcome>, f64)> {
    let method = solver.parse::<SolverConfig>()?.method::<f64>()?;
    let (mut outcomes, mut all) = (Vec::new(), 0.0);
    for step in 0..arguments.systems {
        let diagonal = a
            .diagonal()
            .iter()
            .map(|d| d * 1e-3 * step as f64)
            .collect();
        let shifted = a.add(1.0, 1.0, &Csr::diagonal_matrix(a.executor(), diagonal))?;
        let b = sides(a.executor(), a.size().rows, 1, step as u64 + 1)?;
        let (outcome, milliseconds) = once(arguments, shifted, &method, &b)?;
        outcomes.push(outcome);
        all += milliseconds;
    }
    Ok((outcomes, all))
}

fn together(arguments: &RecycleArgs, a: &Csr<f64>, solver: &str) -> Result<(Outcome, f64)> {
    let method = solver.parse::<SolverConfig>()?.method::<f64>()?;
    let b = sides(a.executor(), a.size().rows, arguments.columns, 1)?;
    once(arguments, a.clone(), &method, &b)
}
