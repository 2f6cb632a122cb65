//! What all benchmarks use.

use vcycle::executor::Executor;
use vcycle::stop::Outcome;

/// What went wrong, in words: a benchmark has no caller that could act on it.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The number of threads asked for, or all cores.
pub(crate) fn threads(asked: Option<usize>) -> Result<usize> {
    Ok(match asked {
        Some(threads) => threads,
        None => std::thread::available_parallelism()?.into(),
    })
}

/// The executor of a name: `cpu`, or a device such as `cuda:0`.
pub(crate) fn executor(name: &str) -> Result<Executor> {
    Ok(match name {
        "cpu" => Executor::cpu(),
        device => Executor::gpu(device)?,
    })
}

/// The last part of a path, or a problem.
pub(crate) fn short(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Iterations, and how they ended if that is not as it should be.
pub(crate) fn iterations(outcome: &Outcome) -> String {
    match outcome.converged() {
        true => outcome.iterations.to_string(),
        false => format!("{}: {}", outcome.iterations, outcome.status),
    }
}
