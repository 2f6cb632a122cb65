//! `vcycle-bench reuse`: a set-up from the beginning beside one that is reused for new values.

use vcycle::config::{Config, Sequence, Solution, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::vector::Vector;

use crate::common::{Result, Table, threads};
use crate::problem::{BenchSystem, system};

/// Options of `reuse`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReuseArgs {
    /// Problems of the gallery, or files
    #[arg(default_values_t = [
        "poisson7:64", "poisson27:48", "jump7:64,1e6", "aniso5:500,0.001", "elasticity:30x12x12",
    ].map(str::to_owned))]
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
    let config = format!("preconditioner=amg:{}", arguments.coarsening).parse()?;
    let mut table = Table::new(
        "problem | set-up ms | set-up to keep ms | update ms | update / set-up | iterations | after update",
    );
    for name in &arguments.problems {
        let cells = cells(&config, &system(&executor, name)?, arguments.rounds)?;
        eprintln!("{name} {cells}");
        table.row(format!("{name} | {cells}"));
    }
    say!("{} threads\n{table}", executor.threads());
    Ok(())
}

/// The least milliseconds of a set-up, of one that is kept, and of its update; iterations of a solve with the first and the last.
fn cells(config: &Config, system: &BenchSystem, rounds: usize) -> Result<String> {
    let b = Vector::from_column(system.matrix.executor(), system.rhs.clone());
    let next = system.known(system.matrix.scale(2.0)?);
    let first = system.known(system.matrix.clone());
    let ws = Workspace::new();
    let (mut least, mut iterations) = ([f64::INFINITY; 3], [0; 2]);
    for _ in 0..rounds.max(1) {
        let alone = solve_system(config, &next, &b, &ws)?;
        let mut steps = Sequence::new(config.clone());
        let kept = steps.solve(&first, &b, &ws)?;
        let updated = steps.solve(&next, &b, &ws)?;
        iterations = [&alone, &updated].map(|one: &Solution<f64>| one.outcome.iterations);
        for (least, one) in least.iter_mut().zip([alone, kept, updated]) {
            *least = least.min(1e3 * one.setup.as_secs_f64());
        }
    }
    let ([setup, kept, update], [before, after]) = (least, iterations);
    Ok(format!(
        "{setup:.1} | {kept:.1} | {update:.1} | {:.2} | {before} | {after}",
        update / setup
    ))
}
