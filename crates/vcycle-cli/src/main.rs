//! The `vcycle` program.

mod args;
mod commands;
mod error;
mod input;
mod interrupt;
mod output;
mod prelude;

use std::time::Duration;

use args::{Cli, Command, DevicesArgs, InfoArgs};
use clap::{CommandFactory, Parser};
use console::style;
use error::{CliError, Result};
use output::{check_printed, complain, print, printed};
use vcycle::communicator::mpi;
use vcycle::memory::LargePages;

use crate::prelude::*;

#[global_allocator]
static ALLOCATOR: LargePages = LargePages;

/// The exit status of bad input.
const BAD_INPUT: u8 = 2;
/// What the rank that has failed is given to say so.
const LAST_WORDS: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    interrupt::survive_large_files();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse_arguments(&error),
    };
    open_few_queues(&cli.command);
    let json = wants_json(&cli.command);
    let unmatched = refuses_matching(&cli.command);
    let status = run(cli.command).and_then(|status| check_printed().map(|()| status));
    let status = status.unwrap_or_else(|error| refuse(&error, json, unmatched));
    vcycle_gpu::finish();
    mpi::finish();
    status
}

/// CUDA opens eight queues to a device unless this variable says how many, which takes about 0.1 s. A solve uses one of them; ranks
/// that are threads use one each.
fn open_few_queues(command: &Command) {
    const QUEUES: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
    let is_one = matches!(command, Command::Solve(args) if args.ranks.is_none());
    if is_one && std::env::var_os(QUEUES).is_none() {
        // SAFETY: no other thread has been started that could read the environment.
        unsafe { std::env::set_var(QUEUES, "1") };
    }
}

fn run(command: Command) -> Result<ExitCode> {
    Executor::check_environment()?;
    match command {
        Command::Solve(args) => commands::solve::run(&args),
        Command::Info(args) => commands::info::run(&args),
        Command::Gen(args) => commands::generate::run(&args),
        Command::Problems => Ok(commands::problems::run()),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Kernels { what } => commands::kernels::run(&what),
        Command::Bench { arguments } => commands::bench::run(&arguments),
        Command::Reproduce { arguments } => commands::bench::reproduce(arguments),
        Command::Presets { name } => commands::presets::run(name.as_deref()),
        Command::Config => Ok(commands::config::run()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "vcycle", &mut script);
            print(String::from_utf8_lossy(&script).trim_end());
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn wants_json(command: &Command) -> bool {
    match command {
        Command::Solve(args) => args.json,
        Command::Info(InfoArgs { json, .. }) | Command::Devices(DevicesArgs { json }) => *json,
        _ => false,
    }
}

fn refuses_matching(command: &Command) -> bool {
    matches!(command, Command::Solve(args) if args.matching.as_deref() == Some("none"))
}

/// Prints what clap has to say; its help goes to stdout and is no failure.
fn refuse_arguments(error: &clap::Error) -> ExitCode {
    let json = std::env::args().any(|argument| argument == "--json");
    if error.use_stderr() && json {
        print_json_error(error.to_string().trim_end(), None);
    }
    printed(error.print());
    match (error.use_stderr(), check_printed()) {
        (false, Ok(())) => ExitCode::SUCCESS,
        (false, Err(error)) => refuse(&error, json, false),
        // Nothing can be done where even the complaint cannot be printed.
        (true, _) => ExitCode::from(BAD_INPUT),
    }
}

fn refuse(error: &CliError, json: bool, unmatched: bool) -> ExitCode {
    if let CliError::Library(vcycle::Error::OtherRank { .. }) = error {
        // The rank that failed reports it, and ends all.
        std::thread::sleep(LAST_WORDS);
        mpi::abort(BAD_INPUT);
    }
    let hint = error.hint(unmatched);
    if let Some(rank @ 1..) = mpi::rank() {
        // Where all ranks fail alike, the first of them ends the others before they say so, too.
        std::thread::sleep(LAST_WORDS / 4 + rank.min(100) as u32 * LAST_WORDS / 100);
    }
    if json {
        print_json_error(&error.to_string(), hint.as_deref());
    }
    let whose = mpi::rank().map_or(String::new(), |rank| format!("rank {rank}: "));
    let begin = style("error:").red().bold().for_stderr();
    complain(&format!("{begin} {whose}{error}"));
    if let Some(hint) = hint {
        let begin = style("hint:").yellow().bold().for_stderr();
        complain(&format!("{begin} {hint}"));
    }
    if mpi::rank().is_some() {
        // The launcher has to pass it on before it ends all ranks, which may wait for this one.
        std::thread::sleep(LAST_WORDS / 10);
    }
    mpi::abort(BAD_INPUT);
    ExitCode::from(BAD_INPUT)
}

fn print_json_error(error: &str, hint: Option<&str>) {
    print(&serde_json::json!({"status": "error", "error": error, "hint": hint}).to_string());
}
