//! The program `vcycle-bench`, which `vcycle bench` starts: vcycle beside what the machine can do and
//! beside installed peers.
//!
//! Every comparison is made within one run, the measurements of all candidates taking turns, so
//! that a busy machine slows all of them down alike. The best time of each is reported.

/// Prints a line; who reads it may have gone, as `head` does.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout().lock(), $($text)*);
    }};
}

mod common;
mod folder;
mod gpu;
mod install;
mod matrices;
mod mkl;
mod peers;
mod precision;
mod problem;
mod read;
mod reuse;
mod spmv;
mod structured;
mod system_file;
mod timing;
mod triad;
mod vector;

use std::process::ExitCode;

use clap::Parser;
use common::Result;

/// The exit status of bad input.
const BAD_INPUT: u8 = 2;

#[derive(Parser)]
#[command(
    name = "vcycle-bench",
    about = "Measures vcycle beside the machine and its peers"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The benchmarks.
#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// Sparse matrix times vector: bandwidth, storage precisions, and Intel MKL
    Spmv(spmv::Arguments),
    /// Multigrid: set-up and solve beside hypre, PETSc, AMGCL and PyAMG
    Peers(peers::Arguments),
    /// Mechanics: multigrid with rigid-body modes, ours and theirs
    Mechanics(peers::mechanics::Arguments),
    /// Reading Matrix Market files, and SciPy
    Read(read::Arguments),
    /// Iterations on every positive definite matrix of a folder
    Matrices(matrices::Arguments),
    /// Iterations of mixed-precision multigrid beside those of the papers
    Precision(precision::Arguments),
    /// Multigrid: a new set-up beside one that is reused for new values
    Reuse(reuse::Arguments),
    /// Structured multigrid: kernels, preconditioner and solve in three storage precisions
    Struct(structured::Arguments),
    /// Vector operations beside the bandwidth of the memory
    Vector(vector::Arguments),
    /// A GPU: products, solves and precisions beside its bandwidth, cuSPARSE, hypre, AmgX and papers
    Gpu(gpu::Arguments),
    /// A GPU: set-ups beside hypre and AmgX, products of sparse matrices beside cuSPARSE
    GpuSetup(gpu::setup::Arguments),
}

/// What the library refuses is bad input; the rest is a failure of the benchmark.
fn main() -> ExitCode {
    let Err(error) = run(&Arguments::parse().command) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {error}");
    match error.is::<vcycle::Error>() {
        true => ExitCode::from(BAD_INPUT),
        false => ExitCode::FAILURE,
    }
}

/// Runs a benchmark and prints its report.
fn run(command: &Command) -> Result<()> {
    match command {
        Command::Spmv(arguments) => spmv::run(arguments),
        Command::Peers(arguments) => peers::run(arguments),
        Command::Mechanics(arguments) => peers::mechanics::run(arguments),
        Command::Read(arguments) => read::run(arguments),
        Command::Matrices(arguments) => matrices::run(arguments),
        Command::Precision(arguments) => precision::run(arguments),
        Command::Reuse(arguments) => reuse::run(arguments),
        Command::Struct(arguments) => structured::run(arguments),
        Command::Vector(arguments) => vector::run(arguments),
        Command::Gpu(arguments) => gpu::run(arguments),
        Command::GpuSetup(arguments) => gpu::setup::run(arguments),
    }
}
