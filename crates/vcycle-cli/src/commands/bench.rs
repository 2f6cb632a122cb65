//! `vcycle bench`: the benchmarks of `vcycle-bench`.

use std::process::ExitCode;

/// Runs a benchmark; what goes wrong there is told, not typed.
pub fn run(command: &vcycle_bench::Command) -> ExitCode {
    match vcycle_bench::run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
