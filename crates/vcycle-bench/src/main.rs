//! The program `vcycle-bench`, which `vcycle bench` starts: vcycle beside what the machine can do and
//! beside installed peers.
//!
//! Every comparison is made within one run, the measurements of all candidates taking turns, so
//! that a busy machine slows all of them down alike. The best time of each is reported. Options and
//! tables of the benchmarks are data: `experiments/benchmarks.toml`.

/// Prints a line; the reader may have closed the pipe, as `head` does.
macro_rules! print_line {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout().lock(), $($text)*);
    }};
}

mod args;
mod batch;
mod common;
mod factors;
mod gpu;
mod install;
mod matrices;
mod mkl;
mod options;
mod peers;
mod prelude;
mod problem;
mod products;
mod published;
mod read;
mod reproduce;
mod sequences;
mod solves;
mod spmv;
mod structured;
mod system_file;
mod table;
mod timing;
mod triad;

use std::process::ExitCode;

use args::Args;
use common::Result;
use vcycle::memory::LargePages;

// The same as in the program `vcycle`, so that times agree.
#[global_allocator]
static ALLOCATOR: LargePages = LargePages;

/// The exit status of bad input.
const BAD_INPUT: u8 = 2;

/// Measures, and prints the report.
type Measure = fn(&Args) -> Result<()>;

const BENCHMARKS: [(&str, Measure); 16] = [
    ("spmv", spmv::run),
    ("peers", peers::run),
    ("scaling", peers::scaling),
    ("read", read::run),
    ("matrices", matrices::run),
    ("batch", batch::run),
    ("basis", solves::basis),
    ("factors", factors::run),
    ("precision", solves::precision),
    ("reproduce", reproduce::run),
    ("recycle", sequences::recycle),
    ("reuse", sequences::reuse),
    ("struct", structured::run),
    ("system", system_file::run),
    ("gpu", gpu::run),
    ("gpu-setup", gpu::setup::run),
];

/// Errors of the library are bad input; others are failures of the benchmark.
fn main() -> ExitCode {
    let (name, args) = Args::read(&args::command().get_matches());
    let Err(error) = run(name, &args) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {error}");
    match error.is::<vcycle::Error>() {
        true => ExitCode::from(BAD_INPUT),
        false => ExitCode::FAILURE,
    }
}

fn run(name: &str, args: &Args) -> Result<()> {
    vcycle::executor::Executor::check_environment()?;
    let found = BENCHMARKS.iter().find(|(known, _)| *known == name);
    let (_, measure) = found.ok_or_else(|| format!("there is no benchmark `{name}`"))?;
    measure(args)
}
