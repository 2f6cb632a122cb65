//! Uses every kernel of the benchmark once, on small problems.

use std::sync::Arc;

use vcycle::executor::{Executor, Workspace};
use vcycle_gpu::Device;

use super::bench::GpuBench;
use super::problems::Problems;
use super::{precision, solve, spmv};
use crate::common::Result;

/// What it took to have the kernels.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Taken {
    /// Programs compiled.
    pub compiled: u64,
    /// Programs loaded from the disk.
    pub loaded: u64,
    /// Seconds of both.
    pub seconds: f64,
}

/// Prints what it took; with `few` kernels those of solves in two precisions alone.
pub(super) fn run(device: &Arc<Device>, executor: &Executor, few: bool) -> Result<()> {
    let bench = GpuBench {
        device: Arc::clone(device),
        executor: executor.clone(),
        bandwidth: 1.0,
        small: true,
        precisions: ["dp", "sp"].map(str::to_owned).into(),
        problems: Problems::new(None),
    };
    let ws = Workspace::new();
    for (_, amg) in solve::hierarchies()? {
        let prepared = solve::Prepared::new(&bench, "poisson7:8", &amg, &ws)?;
        prepared.solve_all(&bench.precisions, |_, _, _| ())?;
    }
    if !few {
        spmv::products(&bench, "poisson7:8")?;
        precision::solve_all(&bench, "beam:o2,l1")?;
    }
    let builds = device.builds();
    let taken = Taken {
        compiled: builds.compiled,
        loaded: builds.loaded,
        seconds: builds.seconds,
    };
    say!("{}", serde_json::to_string(&taken)?);
    Ok(())
}
