//! The program `vcycle-bench`; `vcycle bench` is the same.

use clap::Parser;

#[derive(Parser)]
#[command(
    name = "vcycle-bench",
    about = "Measures vcycle beside the machine and its peers"
)]
struct Arguments {
    #[command(subcommand)]
    command: vcycle_bench::Command,
}

fn main() -> std::process::ExitCode {
    match vcycle_bench::run(&Arguments::parse().command) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}
