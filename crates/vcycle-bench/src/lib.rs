//! Benchmarks: vcycle beside what the machine can do and beside installed peers.
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

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};

/// What went wrong, in words: a benchmark has no caller that could act on it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The benchmarks; also the subcommands of `vcycle bench`.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
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

/// Runs a benchmark and prints its report.
///
/// # Errors
/// When a matrix cannot be read or a peer cannot be installed or run.
pub fn run(command: &Command) -> Result<()> {
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

/// The number of threads asked for, or all cores.
fn threads(asked: Option<usize>) -> Result<usize> {
    Ok(match asked {
        Some(threads) => threads,
        None => std::thread::available_parallelism()?.into(),
    })
}

/// Writes a file; an error names it.
fn write(path: &Path, text: &str) -> Result<()> {
    let named = |error| format!("{}: cannot be written: {error}", path.display());
    Ok(std::fs::write(path, text).map_err(named)?)
}

/// An empty table with numbers to the right; it is Markdown, too.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(header);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
