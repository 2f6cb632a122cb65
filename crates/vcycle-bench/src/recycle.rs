//! `vcycle-bench recycle`: a sequence of systems with a space that is kept, and right-hand sides that share one.

use std::sync::Arc;

use vcycle::config::{Config, Sequence, System};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::Csr;
use vcycle::vector::Vector;

use crate::common::{Result, Table, executor, iterations};
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
    let executor = executor(&arguments.device)?;
    let mut sequences = Table::new("problem | rows | solver | iterations, system by system | ms");
    let mut blocks = Table::new("problem | rows | solver | iterations | ms");
    for problem in &arguments.problems {
        let a = matrix(&executor, problem)?;
        let rows = a.size().rows;
        for solver in ["gmres:50", "gcro-dr:40,10"] {
            let shifts = (0..arguments.systems).map(|step| shifted(&a, step));
            let systems = shifts.collect::<Result<Vec<_>>>()?;
            let (counts, ms) = solved(arguments, systems, 1, solver)?;
            sequences.row(format!(
                "{problem} | {rows} | {solver} | {counts} | {ms:.1}"
            ));
        }
        let solvers = ["cg", "block-cg", "gmres:50", "block-gmres:50"];
        let symmetric = a.facts().symmetric;
        for solver in &solvers[if symmetric { 0 } else { 2 }..] {
            let (counts, ms) = solved(arguments, vec![a.clone()], arguments.columns, solver)?;
            blocks.row(format!(
                "{problem} | {rows} | {solver} | {counts} | {ms:.1}"
            ));
        }
    }
    let RecycleArgs {
        systems,
        precond,
        device,
        columns,
        ..
    } = arguments;
    say!("{systems} systems one after the other, with {precond} on {device}:\n{sequences}");
    say!("{columns} right-hand sides at once:\n{blocks}");
    Ok(())
}

fn shifted(a: &Csr<f64>, step: usize) -> Result<Csr<f64>> {
    let diagonal = a.diagonal();
    let diagonal = diagonal.iter().map(|d| d * 1e-3 * step as f64);
    let shift = Csr::diagonal_matrix(a.executor(), diagonal.collect());
    Ok(a.add(1.0, 1.0, &shift)?)
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

/// Solves one system after the other; iterations of each, and the milliseconds of all without set-ups.
fn solved(
    arguments: &RecycleArgs,
    systems: Vec<Csr<f64>>,
    columns: usize,
    solver: &str,
) -> Result<(String, f64)> {
    let RecycleArgs { precond, rtol, .. } = arguments;
    let text = format!("solver={solver} preconditioner={precond} rtol={rtol} max-iterations=5000");
    let mut steps = Sequence::new(text.parse::<Config>()?);
    let (mut counts, mut seconds) = (Vec::new(), 0.0);
    for (seed, a) in (1..).zip(systems) {
        let b = sides(a.executor(), a.size().rows, columns, seed)?;
        let solution = steps.solve(&System::new(Arc::new(a)), &b, &Workspace::new())?;
        counts.push(iterations(&solution.outcome));
        seconds += solution.solving.as_secs_f64();
    }
    Ok((counts.join(" "), seconds * 1e3))
}
