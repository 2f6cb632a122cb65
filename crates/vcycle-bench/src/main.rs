//! The program `vcycle-bench`, which `vcycle bench` starts: vcycle beside what the machine can do and
//! beside installed peers.
//!
//! Every comparison is made within one run, the measurements of all candidates taking turns, so
//! that a busy machine slows all of them down alike. The best time of each is reported. What can be asked of a benchmark, and
//! what its tables show, is data: `experiments/benchmarks.toml`.

/// Prints a line; who reads it may have gone, as `head` does.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout().lock(), $($text)*);
    }};
}

mod asked;
mod batch;
mod common;
mod factors;
mod folder;
mod gpu;
mod install;
mod matrices;
mod mkl;
mod options;
mod peers;
mod problem;
mod products;
mod published;
mod read;
mod reproduce;
mod solves;
mod spmv;
mod structured;
mod system_file;
mod table;
mod timing;
mod triad;

use std::process::ExitCode;

use asked::Asked;
use common::Result;
use vcycle::memory::LargePages;

// The same as in the program `vcycle`, whose times these are to be.
#[global_allocator]
static ALLOCATOR: LargePages = LargePages;

/// The exit status of bad input.
const BAD_INPUT: u8 = 2;

/// Measures what is asked for, and prints the report.
type Measure = fn(&Asked) -> Result<()>;

/// What measures, by the name of the benchmark.
const BENCHMARKS: [(&str, Measure); 17] = [
    ("spmv", spmv::run),
    ("peers", peers::run),
    ("mechanics", peers::mechanics::run),
    ("scaling", peers::scaling::run),
    ("read", read::run),
    ("matrices", matrices::run),
    ("batch", batch::run),
    ("basis", solves::basis),
    ("factors", factors::run),
    ("precision", solves::precision),
    ("reproduce", reproduce::run),
    ("recycle", solves::recycle),
    ("reuse", solves::reuse),
    ("struct", structured::run),
    ("system", system_file::run),
    ("gpu", gpu::run),
    ("gpu-setup", gpu::setup::run),
];

/// What the library refuses is bad input; the rest is a failure of the benchmark.
fn main() -> ExitCode {
    let (name, asked) = Asked::read(&asked::command().get_matches());
    let Err(error) = run(name, &asked) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {error}");
    match error.is::<vcycle::Error>() {
        true => ExitCode::from(BAD_INPUT),
        false => ExitCode::FAILURE,
    }
}

/// Runs a benchmark, which prints its report.
fn run(name: &str, asked: &Asked) -> Result<()> {
    vcycle::executor::Executor::check_environment()?;
    let found = BENCHMARKS.iter().find(|(known, _)| *known == name);
    let (_, measure) = found.ok_or_else(|| format!("nothing measures `{name}`"))?;
    measure(asked)
}
