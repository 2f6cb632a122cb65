//! The options of `vcycle-bench struct`.

use std::path::PathBuf;

use vcycle::structured::StructMg;

use crate::common::Result;

/// Options of `struct`.
#[derive(Clone, Debug, clap::Args)]
pub struct StructuredArgs {
    /// Problems whose matrix is a stencil on a grid, or files
    #[arg(default_values_t = [
        "laplace27:256", "laplace27e8:128", "weather:128", "rhd:160", "oil:96", "rhd-3T:72",
        "oil-4C:64", "solid-3D:64",
    ].map(str::to_owned))]
    pub(super) problems: Vec<String>,
    /// Where to solve, `cuda:0` say; on the processor unless given
    #[arg(long, value_name = "NAME")]
    pub(super) device: Option<String>,
    /// Threads; all cores unless given
    #[arg(long)]
    pub(super) threads: Option<usize>,
    /// Turns each candidate takes
    #[arg(long, default_value_t = 5)]
    pub(super) rounds: usize,
    /// Seconds of one turn
    #[arg(long, default_value_t = 0.3)]
    pub(super) seconds: f64,
    /// Residual to reach, relative to the right-hand side
    #[arg(long, default_value_t = 1e-9)]
    pub(super) rtol: f64,
    /// Sweeps before and after the correction; two unless given
    #[arg(long, value_name = "COUNT")]
    pub(super) sweeps: Option<usize>,
    /// Measure products and sweeps of each problem
    #[arg(long)]
    pub(super) kernels: bool,
    /// Draw the residuals of five precisions and strategies for each problem instead
    #[arg(long, value_name = "FILE")]
    pub(super) ablation: Option<PathBuf>,
}

impl StructuredArgs {
    /// Those of short measurements: turns, and seconds of one.
    pub(super) fn measuring(rounds: usize, seconds: f64) -> Self {
        Self {
            problems: Vec::new(),
            device: None,
            threads: None,
            rounds,
            seconds,
            rtol: 1e-9,
            sweeps: None,
            kernels: false,
            ablation: None,
        }
    }

    /// The preconditioner in a precision, `sp/hp` or `K64P32D16` say.
    pub(super) fn multigrid(&self, precision: &str) -> Result<StructMg> {
        let mut parameters = StructMg::default();
        parameters.precision = Some(precision.parse()?);
        if let Some(sweeps) = self.sweeps {
            (parameters.pre_sweeps, parameters.post_sweeps) = (sweeps, sweeps);
        }
        Ok(parameters)
    }
}
