//! `vcycle bench`: the benchmarks of `vcycle-bench`.

use std::process::ExitCode;

use crate::BAD_INPUT;

/// Runs a benchmark. What the library refuses is bad input, as everywhere; the rest is a failure of the benchmark.
pub fn run(command: &vcycle_bench::Command) -> ExitCode {
    let Err(error) = vcycle_bench::run(command) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {error}");
    match error.is::<vcycle::Error>() {
        true => ExitCode::from(BAD_INPUT),
        false => ExitCode::FAILURE,
    }
}
