//! `vcycle-bench reuse`: a set-up from the beginning beside one that is reused for new values.

use std::sync::Arc;

use vcycle::config::{Config, PreconditionerConfig, Sequence, Solution, System, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::Csr;
use vcycle::vector::Vector;

use crate::common::{Result, table, threads};
use crate::problem::{self, system};

/// Options of `reuse`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReuseArgs {
    /// Problems of the gallery, or files
    #[arg(default_values_t = [
        "poisson7:64".to_owned(),
        "poisson27:48".to_owned(),
        "jump7:64,1e6".to_owned(),
        "aniso5:500,0.001".to_owned(),
        "elasticity:30x12x12".to_owned(),
    ])]
    problems: Vec<String>,
    /// Coarsening; what suits the matrix unless given
    #[arg(long, default_value = "auto")]
    coarsening: String,
    /// Threads; all cores unless given
    #[arg(long)]
    threads: Option<usize>,
    /// Turns; the best of each is told
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

pub(crate) fn run(arguments: &ReuseArgs) -> Result<()> {
    let executor = Executor::cpu_with_threads(threads(arguments.threads)?)?;
    let mut config = Config::default();
    let amg: PreconditionerConfig = format!("amg:{}", arguments.coarsening).parse()?;
    config.preconditioner = amg;
    let mut table = table(&[
        "problem",
        "set-up ms",
        "set-up to keep ms",
        "update ms",
        "update / set-up",
        "iterations",
        "after update",
    ]);
    for name in &arguments.problems {
        let best = Best::of(&config, system(&executor, name)?, arguments.rounds)?;
        eprintln!("{name} {}", best.cells().join(" "));
        table.add_row([name.clone()].into_iter().chain(best.cells()));
    }
    say!("{} threads\n{table}", executor.threads());
    Ok(())
}

/// The least seconds of a set-up, of one that is kept, and of its update; iterations of a solve with
/// the first and the last.
struct Best {
    seconds: [f64; 3],
    iterations: [usize; 2],
}

impl Best {
    fn of(config: &Config, system: problem::BenchSystem, rounds: usize) -> Result<Self> {
        let b = Vector::from_column(system.matrix.executor(), system.rhs.clone());
        let next = known(system.matrix.scale(2.0)?, &system);
        let first = known(system.matrix.clone(), &system);
        let ws = Workspace::new();
        let mut best = Self {
            seconds: [f64::INFINITY; 3],
            iterations: [0; 2],
        };
        for _ in 0..rounds.max(1) {
            let alone = solve_system(config, &next, &b, &ws)?;
            let mut steps = Sequence::new(config.clone());
            let kept = steps.solve(&first, &b, &ws)?;
            let updated = steps.solve(&next, &b, &ws)?;
            best.iterations = [alone.outcome.iterations, updated.outcome.iterations];
            best.add([&alone, &kept, &updated]);
        }
        Ok(best)
    }

    fn add(&mut self, solutions: [&Solution<f64>; 3]) {
        for (least, solution) in self.seconds.iter_mut().zip(solutions) {
            *least = least.min(solution.setup.as_secs_f64());
        }
    }

    fn cells(&self) -> Vec<String> {
        let ms = self.seconds.map(|seconds| format!("{:.1}", 1e3 * seconds));
        let ratio = format!("{:.2}", self.seconds[2] / self.seconds[0]);
        let iterations = self.iterations.map(|count| count.to_string());
        ms.into_iter().chain([ratio]).chain(iterations).collect()
    }
}

/// A matrix with what is known of another.
fn known(matrix: Csr<f64>, system: &problem::BenchSystem) -> System<f64> {
    let known = System::new(Arc::new(matrix));
    match &system.near_nullspace {
        None => known,
        Some(near) => known.with_near_nullspace(near.clone()),
    }
}
