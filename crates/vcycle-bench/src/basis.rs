//! `vcycle-bench basis`: GMRES with its vectors in fewer bits, and pipelined, beside GMRES.

use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::precond::Jacobi;
use vcycle::solver::{Gmres, Method, PipeGmres, SolverFactory};
use vcycle::stop::{Outcome, Stop};
use vcycle::vector::{Storage, Vector};

use crate::common::{Result, table, told};
use crate::problem::system;

/// Options of `basis`.
#[derive(Clone, Debug, clap::Args)]
pub struct BasisArgs {
    /// Problems of the gallery, or files
    #[arg(default_values_t = ["convdiff7:64,10".to_owned(), "convdiff7:64,100".to_owned()])]
    problems: Vec<String>,
    /// Where it runs: cpu, or a device such as cuda:0
    #[arg(long, default_value = "cpu")]
    device: String,
    /// Vectors kept before the method starts afresh
    #[arg(long, default_value_t = 100)]
    restart: usize,
    /// Residual to reach, relative to the right-hand side
    #[arg(long, default_value_t = 1e-8)]
    rtol: f64,
    /// Turns; the best of each is told
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

pub(crate) fn run(arguments: &BasisArgs) -> Result<()> {
    let executor = match arguments.device.as_str() {
        "cpu" => Executor::cpu(),
        device => Executor::gpu(device)?,
    };
    let mut table = table(&[
        "problem",
        "rows",
        "basis",
        "iterations",
        "residual",
        "ms",
        "speed to gmres",
        "iterations to gmres",
    ]);
    for name in &arguments.problems {
        let lines = compared(arguments, &executor, name)?;
        let (gmres, of_gmres) = (lines[0].milliseconds, lines[0].outcome.iterations);
        for line in lines {
            table.add_row([
                name.clone(),
                line.rows.to_string(),
                line.basis.to_owned(),
                told(&line.outcome),
                format!("{:.1e}", line.outcome.relative_residual),
                format!("{:.2}", line.milliseconds),
                format!("{:.2}", gmres / line.milliseconds),
                format!("{:.2}", line.outcome.iterations as f64 / of_gmres as f64),
            ]);
        }
    }
    say!("{table}");
    say!(
        "gmres:restart={} with jacobi on {}, right-hand side of the problem, to a relative residual of {:e}; wall clock of the solve, best of {}.",
        arguments.restart,
        arguments.device,
        arguments.rtol,
        arguments.rounds
    );
    Ok(())
}

struct Line {
    rows: usize,
    basis: &'static str,
    outcome: Outcome,
    milliseconds: f64,
}

/// GMRES with every storage, that of vectors first, and pipelined.
fn methods(restart: usize) -> Vec<(&'static str, Arc<dyn Method<f64>>)> {
    let stored = |basis: Storage| {
        let mut gmres = Gmres::default();
        (gmres.restart, gmres.basis) = (restart, basis);
        (basis.name(), Arc::new(gmres) as Arc<dyn Method<f64>>)
    };
    let mut pipelined = PipeGmres::default();
    pipelined.restart = restart;
    let mut methods: Vec<_> = Storage::ALL.into_iter().map(stored).collect();
    methods.push(("working, pipelined", Arc::new(pipelined)));
    methods
}

/// All methods, GMRES first, taking turns.
fn compared(arguments: &BasisArgs, executor: &Executor, name: &str) -> Result<Vec<Line>> {
    let system = system(executor, name)?;
    let a: Arc<dyn LinOp<f64>> = Arc::new(system.matrix);
    let b = Vector::from_column(executor, system.rhs);
    let mut lines = Vec::new();
    for turn in 0..=arguments.rounds {
        for (place, (basis, method)) in methods(arguments.restart).into_iter().enumerate() {
            let factory = SolverFactory {
                method,
                preconditioner: Some(Arc::new(Jacobi::default())),
                stop: Stop::relative(arguments.rtol).max_iterations(5000),
            };
            let solver = factory.solver(&a, &Workspace::new())?;
            let mut x = Vector::zeros_like(&b)?;
            executor.synchronize()?;
            let begin = Instant::now();
            let outcome = solver.solve_in(&b, &mut x, solver.stop(), &Workspace::new())?;
            let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
            match turn {
                // Compiles kernels, and is not timed.
                0 => lines.push(Line {
                    rows: b.rows(),
                    basis,
                    outcome,
                    milliseconds: f64::INFINITY,
                }),
                _ => lines[place].milliseconds = milliseconds.min(lines[place].milliseconds),
            }
        }
    }
    Ok(lines)
}
