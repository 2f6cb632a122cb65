//! `vcycle-bench system`: a problem as a file for the programs of peers, and the residual of what they leave.

use std::path::PathBuf;

use vcycle::executor::Executor;

use crate::common::Result;
use crate::problem;
use crate::system_file;

/// Options of `system`.
#[derive(Clone, Debug, clap::Args)]
pub struct SystemArgs {
    /// Problem of the gallery, or a file
    problem: String,
    /// Where to write it, as the raw arrays that the programs in `peers` read
    #[arg(value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write zeros here, as long as the solution: programs write theirs over them
    #[arg(long, value_name = "FILE")]
    solution: Option<PathBuf>,
    /// Print the relative residual of a solution that a program has written
    #[arg(long, value_name = "FILE")]
    residual: Option<PathBuf>,
}

pub(crate) fn run(arguments: &SystemArgs) -> Result<()> {
    let system = problem::system(&Executor::cpu(), &arguments.problem)?;
    if let Some(file) = &arguments.output {
        system_file::write(file, &system)?;
    }
    if let Some(file) = &arguments.solution {
        system_file::write_zeros(file, &system)?;
    }
    if let Some(file) = &arguments.residual {
        say!("{:.2e}", system_file::residual(file, &system)?);
    }
    Ok(())
}
