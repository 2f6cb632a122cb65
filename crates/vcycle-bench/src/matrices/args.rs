//! The options of `vcycle-bench matrices`.

use std::path::PathBuf;

/// Preconditioners of conjugate gradients, as the command line names them.
const PRECONDITIONERS: [&str; 9] = [
    "none",
    "jacobi",
    "l1-jacobi",
    "block-jacobi",
    "ssor",
    "ic0",
    "isai:kind=spd",
    "fsai",
    "amg",
];

/// Options of `matrices`.
#[derive(Clone, Debug, clap::Args)]
pub struct MatricesArgs {
    /// All matrices, without any option
    #[arg(long)]
    pub(super) auto: bool,
    /// Matrices that are not positive definite: GMRES with incomplete factors, matched and reordered
    #[arg(long, conflicts_with = "auto")]
    pub(super) general: bool,
    /// Folder of the matrices, with a MANIFEST.tsv
    #[arg(long, default_value = "../shared/matrices")]
    pub(super) folder: PathBuf,
    /// Preconditioners of conjugate gradients
    #[arg(long, num_args = 1.., default_values = PRECONDITIONERS)]
    pub(super) preconditioners: Vec<String>,
    /// Show seconds, set-up and iterations, besides iterations
    #[arg(long)]
    pub(super) times: bool,
    /// Seconds a solve may take
    #[arg(long, default_value_t = 60.0)]
    pub(super) time_limit: f64,
    /// Iterations a solve may take
    #[arg(long, default_value_t = 20_000)]
    pub(super) max_iterations: usize,
}
