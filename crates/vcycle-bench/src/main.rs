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

mod basis;
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
mod precision;
mod problem;
mod published;
mod read;
mod ready;
mod recycle;
mod reproduce;
mod reuse;
mod spmv;
mod structured;
mod system;
mod system_file;
mod timing;
mod triad;

use std::process::ExitCode;

use clap::Parser;
use common::Result;
use vcycle::memory::LargePages;

// The same as in the program `vcycle`, whose times these are to be.
#[global_allocator]
static ALLOCATOR: LargePages = LargePages;

/// The exit status of bad input.
const BAD_INPUT: u8 = 2;

#[derive(Parser)]
#[command(
    name = "vcycle-bench",
    about = "Measures vcycle beside the machine and its peers"
)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

/// The benchmarks.
#[derive(Clone, Debug, clap::Subcommand)]
enum Benchmark {
    /// Sparse matrix times vector: bandwidth, storage precisions, and Intel MKL
    Spmv(spmv::SpmvArgs),
    /// Multigrid: set-up and solve beside hypre, PETSc, AMGCL and PyAMG
    Peers(peers::PeersArgs),
    /// Mechanics: multigrid with rigid-body modes, ours and theirs
    Mechanics(peers::mechanics::MechanicsArgs),
    /// Several processes under MPI: strong and weak series beside hypre
    Scaling(peers::scaling::ScalingArgs),
    /// Reading Matrix Market files, and SciPy
    Read(read::ReadArgs),
    /// Iterations on every positive definite matrix of a folder
    Matrices(matrices::MatricesArgs),
    /// Many small systems at once beside a loop of the single solver
    Batch(batch::BatchArgs),
    /// GMRES with its vectors in fewer bits beside GMRES
    Basis(basis::BasisArgs),
    /// Incomplete factorisations by sweeps: a device beside the host
    Factors(factors::FactorsArgs),
    /// Iterations of mixed-precision multigrid beside those of the papers
    Precision(precision::PrecisionArgs),
    /// Tables and figures of papers beside ours: records, a page with charts, Markdown
    Reproduce(reproduce::ReproduceArgs),
    /// Sequences of systems with a space that is kept, and right-hand sides that share one
    Recycle(recycle::RecycleArgs),
    /// Multigrid: a new set-up beside one that is reused for new values
    Reuse(reuse::ReuseArgs),
    /// Structured multigrid: kernels, preconditioner and solve in three storage precisions
    Struct(structured::StructuredArgs),
    /// A problem as a file for the programs of peers, and the residual of what they leave
    System(system::SystemArgs),
    /// A GPU: products, solves and precisions beside its bandwidth, cuSPARSE, hypre, AmgX and papers
    Gpu(gpu::GpuArgs),
    /// A GPU: set-ups beside hypre and AmgX, products of sparse matrices beside cuSPARSE
    GpuSetup(gpu::setup::GpuSetupArgs),
}

/// What the library refuses is bad input; the rest is a failure of the benchmark.
fn main() -> ExitCode {
    let Err(error) = run(&Arguments::parse().benchmark) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {error}");
    match error.is::<vcycle::Error>() {
        true => ExitCode::from(BAD_INPUT),
        false => ExitCode::FAILURE,
    }
}

/// Runs a benchmark and prints its report.
fn run(benchmark: &Benchmark) -> Result<()> {
    vcycle::executor::Executor::check_environment()?;
    match benchmark {
        Benchmark::Spmv(arguments) => spmv::run(arguments),
        Benchmark::Peers(arguments) => peers::run(arguments),
        Benchmark::Mechanics(arguments) => peers::mechanics::run(arguments),
        Benchmark::Scaling(arguments) => peers::scaling::run(arguments),
        Benchmark::Read(arguments) => read::run(arguments),
        Benchmark::Matrices(arguments) => matrices::run(arguments),
        Benchmark::Batch(arguments) => batch::run(arguments),
        Benchmark::Basis(arguments) => basis::run(arguments),
        Benchmark::Factors(arguments) => factors::run(arguments),
        Benchmark::Precision(arguments) => precision::run(arguments),
        Benchmark::Reproduce(arguments) => reproduce::run(arguments),
        Benchmark::Recycle(arguments) => recycle::run(arguments),
        Benchmark::Reuse(arguments) => reuse::run(arguments),
        Benchmark::Struct(arguments) => structured::run(arguments),
        Benchmark::System(arguments) => system::run(arguments),
        Benchmark::Gpu(arguments) => gpu::run(arguments),
        Benchmark::GpuSetup(arguments) => gpu::setup::run(arguments),
    }
}
