//! The command line.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use vcycle::config::{PreconditionerConfig, RunConfig, SolverConfig};
use vcycle::multigrid::{Coarsening, Interpolation, Smoother};

use crate::prelude::*;

const EXAMPLES: &str = "\
Examples:
  vcycle solve matrix.mtx.gz              choose everything, solve for a right-hand side of ones
  vcycle solve poisson7:64 --solver cg --precond jacobi
  vcycle info matrix.mtx                  what kind of matrix it is and what to try
  zcat matrix.mtx.gz | vcycle solve -     a matrix from standard input
  vcycle problems                         problems that can be made on the spot";

/// How ranks share the rows of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PartitionKind {
    /// Consecutive ones
    #[default]
    Rows,
    /// Boxes of a grid
    Boxes,
    /// Parts of the graph of the matrix
    Graph,
}

/// Solves large sparse linear systems.
#[derive(Debug, Parser)]
#[command(name = "vcycle", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve A x = b
    Solve(Box<SolveArgs>),
    /// Say what kind of matrix it is and what to try
    Info(InfoArgs),
    /// Write a problem of the gallery to a file
    Gen(GenArgs),
    /// List the problems of the gallery
    Problems,
    /// List where solves can run, with the bandwidth measured
    Devices(DevicesArgs),
    /// Compile the kernels of GPUs ahead, so that the first solve does not
    Kernels {
        #[command(subcommand)]
        what: KernelsCommand,
    },
    /// Measure the machine, the library and its peers, by the program `vcycle-bench`
    #[command(disable_help_flag = true)]
    Bench {
        /// The arguments of `vcycle-bench`; `vcycle bench --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Reproduce tables and figures of papers, by the program `vcycle-bench`
    #[command(disable_help_flag = true)]
    Reproduce {
        /// The arguments of `vcycle-bench reproduce`; `vcycle reproduce --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// List the configurations that come with the program, or print one
    #[command(after_help = "Example:\n  vcycle presets paper-pgm > own.toml")]
    Presets {
        /// The preset to print
        name: Option<String>,
    },
    /// Print the default configuration, and every component with its parameters
    Config,
    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  vcycle completions bash > ~/.local/share/bash-completion/completions/vcycle"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
}

const SOLVE_EXAMPLES: &str = "\
Examples:
  vcycle solve matrix.mtx
  vcycle solve matrix.mtx.xz --rhs b.mtx --output x.mtx
  vcycle solve matrix.mtx --rhs b.mtx --x0 x.mtx --rtol 0 --atol 1e-6
  zcat matrix.mtx.gz | vcycle solve -
  vcycle solve poisson7:64 --solver cg --precond jacobi --rtol 1e-10
  vcycle solve convdiff7:40,100 --solver gmres:50 --precond ilu0 --report report.html
  vcycle solve poisson7:64 --solver cg --precond amg --smoother chebyshev:2
  vcycle solve poisson7:64 --precision dp/sp --json
  vcycle solve beam:o3,l3 --preset paper-pgm --precision dp-sp/dp-sp-hp
  vcycle solve beam.mtx --coordinates nodes.mtx --solver cg --coarsening sa
  vcycle solve step1.mtx --then step2.mtx --then step3.mtx
  mpirun -n 4 vcycle solve poisson7:128       four processes share the rows

A parameter may follow a name after a colon, jacobi:0.9, or by its key, sor:omega=1.2,sweeps=2.
`vcycle config` lists all names and keys.

Exit status: 0 converged, 1 not converged, 2 bad input.";

#[derive(Debug, Args)]
#[command(after_help = SOLVE_EXAMPLES)]
pub struct SolveArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Solve for another matrix next; one of the same pattern reuses the multigrid set-up. May be
    /// given several times
    #[arg(
        long,
        value_name = "FILE|PROBLEM",
        conflicts_with_all = ["report", "trace", "plot_coarsening"]
    )]
    pub then: Vec<String>,
    /// Right-hand side: a file, `ones` or `random:SEED`; `random:SEED,COLUMNS` for several, which are solved for at once, as are
    /// the columns of a file [default: the problem's own; ones for files]
    #[arg(long, value_name = "FILE|ones|random:SEED[,COLUMNS]")]
    pub rhs: Option<String>,
    /// Where iterations start: a file with one column, or with as many as the right-hand side
    /// [default: zero]
    #[arg(long, value_name = "FILE")]
    pub x0: Option<PathBuf>,
    /// Configuration, TOML or JSON; options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// A configuration that comes with the program, see `vcycle presets`; options override it
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub preset: Option<String>,
    #[arg(long, value_name = "NAME[:PARAMETER]", help = format!("Solver: {} [default: auto]", SolverConfig::NAMES.join(", ")))]
    pub solver: Option<String>,
    #[arg(long, value_name = "NAME[:PARAMETER]", help = preconditioners())]
    pub precond: Option<String>,
    #[arg(long, value_name = "NAME", help = format!("Coarsening of multigrid: {}", Coarsening::names().join(", ")))]
    pub coarsening: Option<String>,
    #[arg(long, value_name = "NAME", help = format!("Interpolation of multigrid: {}", Interpolation::names().join(", ")))]
    pub interpolation: Option<String>,
    #[arg(long, value_name = "NAME[:PARAMETER]", help = smoothers())]
    pub smoother: Option<String>,
    /// Another smoother after the coarse correction
    #[arg(long, value_name = "NAME[:PARAMETER]")]
    pub post_smoother: Option<String>,
    /// Cycle of multigrid: v, w, f, k or full
    #[arg(long, value_name = "NAME")]
    pub cycle: Option<String>,
    /// Start from one pass of full multigrid, not from zero
    #[arg(long)]
    pub fmg_start: bool,
    /// Precision of vectors and stored matrix: dp, sp, dp/sp, dp/hp, dp/bf, sp/hp...; where multigrid
    /// is chosen that of its levels, with dashes from level to level: dp-sp-hp, dp-sp/dp-sp-hp
    #[arg(long, value_name = "WORKING[/MATRIX]")]
    pub precision: Option<String>,
    /// What keeps levels of multigrid in the range of their precision: auto, none, equilibrate, or (struct-mg)
    /// scale-then-setup
    #[arg(long, value_name = "NAME")]
    pub scaling: Option<String>,
    /// Restriction of multigrid: transposed prolongation times this [default: 1]
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true)]
    pub restriction_scaling: Option<f64>,
    /// Format of the stored matrix: csr, ell, sellp, hybrid, coo, dense, bsr, mbsr or auto [default: csr; devices choose between csr and bsr]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// What a singular matrix annihilates: constant, near-nullspace, none or auto. The system is solved without a component of
    /// the right-hand side in a null space that is named; else it is inconsistent [default: auto]
    #[arg(long, value_name = "NAME")]
    pub nullspace: Option<String>,
    /// Before the preconditioner is made, move large entries to the diagonal: mc64, none or auto [default: auto]
    #[arg(long = "match", value_name = "NAME")]
    pub matching: Option<String>,
    /// Before the preconditioner is made, number unknowns anew: rcm, nd, amd, none or auto [default: auto]
    #[arg(long, value_name = "NAME")]
    pub reorder: Option<String>,
    /// Before the preconditioner is made, scale rows and columns: ruiz, none or auto [default: auto]
    #[arg(long, value_name = "NAME")]
    pub equilibrate: Option<String>,
    #[command(flatten)]
    pub known: KnownArgs,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Solve with so many ranks, each a thread with its own rows; `mpirun -n N vcycle solve` does the same with
    /// processes
    #[arg(long, value_name = "N", conflicts_with_all = ["then", "plot_coarsening"])]
    pub ranks: Option<usize>,
    /// How ranks share the rows: consecutive ones; boxes of a problem on a grid; parts of the matrix's graph. The last two
    /// number the rows anew, which the solution does not show
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub partition: PartitionKind,
    /// Residual to reach, relative to the right-hand side; the first tolerance that is reached counts, so
    /// `--rtol 0` leaves the others alone [default: 1e-8]
    #[arg(long, value_name = "TOLERANCE", allow_hyphen_values = true)]
    pub rtol: Option<f64>,
    /// Or residual norm to reach
    #[arg(long, value_name = "NORM", allow_hyphen_values = true)]
    pub atol: Option<f64>,
    /// Or residual to reach, relative to the initial one
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true)]
    pub reduction: Option<f64>,
    /// Iterations to allow [default: 10000]
    #[arg(long, value_name = "N")]
    pub max_iters: Option<usize>,
    /// Seconds to allow for set-up and iterations
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Write the solution; those of further matrices are numbered: x.mtx, x-2.mtx, x-3.mtx...
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a report with plots
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Write a trace for chrome://tracing or Perfetto
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
    /// Write a picture of the coarsening, for problems of the gallery in the plane; chooses multigrid
    #[arg(long, value_name = "FILE.svg")]
    pub plot_coarsening: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
    /// Print the last line only
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct InputArgs {
    /// A Matrix Market file (.mtx, .gz, .xz, .zst), an .npz file, a problem like poisson7:64, or - for
    /// standard input
    #[arg(value_name = "FILE|PROBLEM")]
    pub source: String,
    /// Sum entries that a file gives more than once, instead of refusing them
    #[arg(long)]
    pub sum_duplicates: bool,
}

#[derive(Debug, Args)]
pub struct KnownArgs {
    /// Vectors that the matrix nearly annihilates, one a column, for multigrid by aggregation
    /// [default: the problem's own]
    #[arg(long, value_name = "FILE", conflicts_with = "coordinates")]
    pub near_nullspace: Option<PathBuf>,
    /// Where the nodes of an elastic body lie, a row of 2 or 3 numbers each: its rigid-body modes
    /// are the near-nullspace; unknowns are numbered dimension * node + component
    #[arg(long, value_name = "FILE")]
    pub coordinates: Option<PathBuf>,
    /// Unknowns of a node, neighbours in the numbering [default: 1, or as many as coordinates]
    #[arg(long, value_name = "N")]
    pub block_size: Option<usize>,
}

#[derive(Debug, Args)]
pub struct PlaceArgs {
    #[arg(long, value_name = "NAME", help = format!("Where to run: {} [default: cpu]", RunConfig::DEVICES.join(", ")))]
    pub device: Option<String>,
    /// Threads of the cpu device [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
}

impl PlaceArgs {
    /// Has a solve run there.
    pub fn set(&self, config: &mut Config) {
        if let Some(device) = &self.device {
            config.run.device.clone_from(device);
        }
        config.run.threads = self.threads.or(config.run.threads);
    }
}

fn preconditioners() -> String {
    let names = PreconditionerConfig::NAMES.join(", ");
    format!("Preconditioner: {names}, or a solver: so many iterations, gmres:10 [default: auto]")
}

fn smoothers() -> String {
    let names = Smoother::names().join(", ");
    format!("Smoother of multigrid: {names}, or a solver: so many iterations, cg:2")
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vcycle info matrix.mtx.gz\n  vcycle info beam:o3,l2 --json\n  vcycle info poisson5:40 --precond amg:pgm --plot-coarsening groups.svg"
)]
pub struct InfoArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// The multigrid whose levels are shown [default: amg]
    #[arg(long, value_name = "amg[:PARAMETER]")]
    pub precond: Option<String>,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Look at the matrix only
    #[arg(long, conflicts_with_all = ["precond", "plot_coarsening"])]
    pub no_hierarchy: bool,
    /// Write a picture of the coarsening, for problems of the gallery in the plane
    #[arg(long, value_name = "FILE.svg")]
    pub plot_coarsening: Option<PathBuf>,
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vcycle gen poisson7:32 -o poisson.mtx.gz\n  vcycle gen beam:o3,l2 -o beam.mtx --rhs-output load.mtx\n\n`vcycle problems` lists the problems."
)]
pub struct GenArgs {
    /// A problem like poisson7:64
    #[arg(value_name = "PROBLEM")]
    pub problem: String,
    /// The matrix file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Also write the right-hand side
    #[arg(long, value_name = "FILE")]
    pub rhs_output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum KernelsCommand {
    /// Write an archive of compiled kernels, which needs the vendors' compilers, but no GPU
    #[command(
        after_help = "Example:\n  vcycle kernels build --arch sm_80,sm_90,gfx90a -o vcycle.kernels\n\nAn archive is used that VCYCLE_KERNELS names, or that lies beside the program as vcycle.kernels."
    )]
    Build {
        /// Architectures: sm_90 of NVIDIA's, gfx90a of AMD's
        #[arg(long, value_name = "ARCH,...", value_delimiter = ',', required = true)]
        arch: Vec<String>,
        /// The archive to write
        #[arg(long, short, value_name = "FILE")]
        output: PathBuf,
    },
    /// List the programs an archive has, or those that solves of the gallery need on a device
    List {
        /// Solve there, and list what was needed
        #[arg(long, value_name = "DEVICE")]
        device: Option<String>,
        /// Solve this problem alone, and list what it asked for, in that order
        #[arg(long, value_name = "PROBLEM", requires = "device")]
        problem: Option<String>,
        /// How to solve it: a preset, or lines of a configuration
        #[arg(
            long = "with",
            value_name = "TOML",
            requires = "problem",
            default_value = ""
        )]
        how: String,
    },
}

#[derive(Debug, Args)]
pub struct DevicesArgs {
    /// Print one JSON object and nothing else
    #[arg(long)]
    pub json: bool,
}
