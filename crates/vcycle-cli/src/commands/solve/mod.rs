//! `vcycle solve`.

mod configuration;
mod early;
mod file_parts;
mod files;
mod order;
mod parts;
mod ranks;
mod task;

use std::cell::Cell;
use std::process::ExitCode;

use vcycle::communicator::mpi;
use vcycle::config::{AnySystem, Config};
use vcycle::programs::Again;

use self::configuration::configuration;
use self::early::Opened;
use self::files::check_folders;
use self::ranks::Launch;
use self::task::Task;
use crate::args::{PartitionKind, SolveArgs};
use crate::error::{CliError, Result};

/// Solves; success only if it converged.
pub fn run(args: &SolveArgs) -> Result<ExitCode> {
    let is_launched = args.ranks.is_none() && mpi::is_launched();
    if is_launched {
        // From here on one rank tells what is wrong, and ends the others.
        mpi::world()?;
    }
    let config = configuration(args)?;
    // What is wrong with the options is said before a large file is read.
    config.stop.stop()?;
    check_folders(args)?;
    if let Some(count) = args.ranks {
        return ranks::solve(args, &config, &Launch::Threads(count));
    }
    if is_launched {
        return ranks::solve(args, &config, &Launch::Processes(mpi::world()?));
    }
    if args.partition != PartitionKind::Rows {
        let reason = "is for several ranks: `--ranks N`, or mpirun";
        return Err(CliError::option("--partition", reason));
    }
    alone(args, config)
}

/// Solves in one process.
fn alone(args: &SolveArgs, config: Config) -> Result<ExitCode> {
    let (Opened { executor, again }, made) = early::opened(&config, &args.input.source)?;
    let task = Task {
        args,
        config,
        executor,
        made: Cell::new(made),
    };
    let (system, read) = task.read(&args.input.source)?;
    again.iter().for_each(Again::note);
    let status = match system {
        AnySystem::Real(system) => task.solve(system, read),
        AnySystem::Complex(system) => task.solve(system, read),
    }?;
    again.iter().for_each(Again::keep);
    Ok(status)
}
