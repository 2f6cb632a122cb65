//! `vcycle bench`: starts the program `vcycle-bench`, so that nobody compiles benchmarks to solve a system.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use crate::prelude::*;

/// Runs the benchmarks with these arguments; their exit status becomes that of this program.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let status = Command::new(program()).args(arguments).status();
    let code = status.map_err(CliError::Benchmarks)?.code();
    // A process that a signal has ended has no code.
    let code = code.and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}

/// `vcycle reproduce` is a benchmark with a name of its own.
pub fn reproduce(arguments: Vec<OsString>) -> Result<ExitCode> {
    let name = OsString::from("reproduce");
    run(&[vec![name], arguments].concat())
}

/// The program beside this one, or its bare name, which is looked for on `PATH`.
fn program() -> PathBuf {
    let name = format!("vcycle-bench{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().map(|own| own.with_file_name(&name));
    match beside {
        Ok(beside) if beside.is_file() => beside,
        _ => PathBuf::from(name),
    }
}
