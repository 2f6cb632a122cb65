//! `vcycle-bench basis`: GMRES with its vectors in fewer bits, and pipelined, beside GMRES.

use vcycle::config::Config;
use vcycle::vector::Storage;

use crate::common::{Result, Table, executor, iterations};
use crate::ready::Ready;

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
    let BasisArgs {
        device,
        restart,
        rtol,
        rounds,
        ..
    } = arguments;
    let executor = executor(device)?;
    let mut table = Table::new(
        "problem | rows | basis | iterations | residual | ms | speed to gmres | iterations to gmres",
    );
    let stored =
        Storage::ALL.map(|basis| (basis.name(), format!("gmres:{restart},{}", basis.name())));
    let pipelined = ("working, pipelined", format!("pipegmres:{restart}"));
    let methods: Vec<(&str, String)> = stored.into_iter().chain([pipelined]).collect();
    let config = |(_, solver): &(&str, String)| -> Result<Config> {
        let text = format!("solver={solver} preconditioner=jacobi rtol={rtol} max-iterations=5000");
        Ok(text.parse()?)
    };
    let configs = methods.iter().map(config).collect::<Result<Vec<_>>>()?;
    for name in &arguments.problems {
        let ready = Ready::new(name, &executor)?;
        // One more turn than is asked for: the first compiles kernels.
        let solved = ready.race(&configs, rounds + 1);
        let solved = solved
            .into_iter()
            .collect::<std::result::Result<Vec<_>, _>>()?;
        let (first, rows) = (&solved[0], ready.rhs().rows());
        for ((basis, _), one) in methods.iter().zip(&solved) {
            let outcome = &one.outcome;
            let faster = first.solving.as_secs_f64() / one.solving.as_secs_f64();
            let more = outcome.iterations as f64 / first.outcome.iterations as f64;
            table.row(format!(
                "{name} | {rows} | {basis} | {} | {:.1e} | {:.2} | {faster:.2} | {more:.2}",
                iterations(outcome),
                outcome.relative_residual,
                one.solving.as_secs_f64() * 1e3,
            ));
        }
    }
    say!(
        "{table}\ngmres:restart={restart} with jacobi on {device}, right-hand side of the problem, to a relative residual of {rtol:e}; \
         time of the solve, best of {rounds}."
    );
    Ok(())
}
