//! `vcycle solve`.

mod configuration;
mod file_parts;
mod files;
mod parts;
mod ranks;
mod task;

use std::cell::Cell;

use vcycle::communicator::mpi;
use vcycle::gallery::{self, Problem};
use vcycle::programs::Again;

use self::configuration::configuration;
use self::files::check_folders;
use self::ranks::Launch;
use self::task::Task;
use crate::args::{PartitionKind, SolveArgs};
use crate::prelude::*;

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
    let (Opened { executor, again }, made) = opened(&config, &args.input.source)?;
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

/// Bytes of the largest matrix that is made before it is known whether the device has room for it.
const LARGEST: usize = 1 << 30;

/// Where to run, and what is made ready there.
struct Opened {
    executor: Executor,
    again: Option<Again>,
}

/// Where to run, and the problem that `source` names where it was made meanwhile: the driver of a device takes longer to start than
/// most matrices take to be made.
fn opened(config: &Config, source: &str) -> Result<(Opened, Option<Problem>)> {
    let on_host = matches!(config.run.device.as_str(), "cpu" | "reference");
    if on_host || !is_small_problem(source) {
        return Ok((open(config, source)?, None));
    }
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| open(config, source));
        let made = gallery::build(source, &Executor::cpu());
        let opened = opening.join().expect("opening a device does not panic")?;
        let mut problem = made?;
        problem.matrix = problem.matrix.into_executor(&opened.executor)?;
        Ok((opened, Some(problem)))
    })
}

/// What the last solve of the same kind needed is made ready while the matrix is on its way.
fn open(config: &Config, source: &str) -> Result<Opened> {
    let executor = config.run.executor()?;
    let config = serde_json::to_string(config).expect("configurations are plain data");
    let version = env!("CARGO_PKG_VERSION");
    let again = Again::begin(&executor, format!("{version} solve {source} {config}"));
    Ok(Opened { executor, again })
}

fn is_small_problem(source: &str) -> bool {
    let extent = || gallery::extent(source).ok();
    gallery::is_problem(source)
        && !gallery::is_complex_problem(source)
        && extent().is_some_and(|extent| extent.bytes() <= LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_large_and_complex_problems_wait_for_the_device() {
        assert!(is_small_problem("poisson7:128"));
        for other in [
            "poisson7:400",
            "magnetic:20,0.05",
            "matrix.mtx",
            "poisson7:x",
        ] {
            assert!(!is_small_problem(other), "{other}");
        }
    }
}
