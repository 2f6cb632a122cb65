//! The options of `vcycle-bench gpu-setup`.

use std::path::PathBuf;

/// Options of `gpu-setup`.
#[derive(Clone, Debug, clap::Args)]
pub struct GpuSetupArgs {
    /// The device, `cuda:0`, `hip:0` or `opencl:0`; the first one found unless given
    #[arg(long, value_name = "NAME")]
    pub(super) device: Option<String>,
    /// The parts to measure; `setup` and `products` unless given
    #[arg(long, value_delimiter = ',', value_name = "PART,...")]
    pub(super) only: Vec<SetupPart>,
    /// Problems so small that a CPU OpenCL device takes seconds
    #[arg(long)]
    pub(super) small: bool,
    /// Other problems than the usual ones
    #[arg(long, value_delimiter = ' ', value_name = "PROBLEM")]
    pub(super) problems: Vec<String>,
    /// Hierarchies by these coarsenings, too
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(super) coarsenings: Vec<String>,
    /// Hierarchies with these options of `amg`, too: 'smoother="l1-jacobi",truncation={max-elements=3}'; may be repeated
    #[arg(long, value_name = "TOML")]
    pub(super) options: Vec<String>,
    /// Also count launches, waits of the host and allocations of the driver, stage by stage, and time kernels one by one
    #[arg(long)]
    pub(super) counts: bool,
    /// Levels of fewer rows are set up by the host
    #[arg(long, value_name = "ROWS")]
    pub(super) host_rows: Option<usize>,
    /// Also write the report to a file, as far as it has come after every part
    #[arg(long, value_name = "FILE.md")]
    pub(super) output: Option<PathBuf>,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SetupPart {
    /// Set-ups and updates of values, their stages and their memory
    Setup,
    /// Products of sparse matrices
    Products,
    /// Factorised approximate inverses, beside those of the host
    Fsai,
    /// Presets for mechanics, stage by stage, beside those of the host
    Presets,
    /// A problem of 64 million rows
    Large,
}
