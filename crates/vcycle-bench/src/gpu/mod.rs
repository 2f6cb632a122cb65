//! `vcycle-bench gpu`: a GPU beside its own memory, beside cuSPARSE and beside published times.

mod bench;
mod blocks;
mod columns;
pub(crate) mod cusparse;
mod formats;
mod kernels;
mod latency;
mod measure;
mod precision;
mod problems;
mod published;
mod report;
pub(crate) mod setup;
mod solve;
mod spmv;
pub(crate) mod timing;

use std::path::PathBuf;

use vcycle::executor::Executor;
use vcycle_gpu::Device;

use self::bench::{GpuBench, first_device};
use self::problems::Problems;
use self::report::MarkdownReport;
use crate::common::Result;

/// Options of `gpu`.
#[derive(Clone, Debug, clap::Args)]
pub struct GpuArgs {
    /// The device, `cuda:0`, `hip:0` or `opencl:0`; the first one found unless given
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// The parts to measure; all unless given
    #[arg(long, value_delimiter = ',', value_name = "PART,...")]
    only: Vec<GpuPart>,
    /// Problems so small that a processor playing a GPU takes seconds
    #[arg(long)]
    small: bool,
    /// Precisions of the cycles that are timed, the first one being what others are compared with; unless given dp,sp,dp-sp,
    /// for many right-hand sides sp
    #[arg(long, value_delimiter = ',')]
    precisions: Vec<String>,
    /// Folder with G2_circuit.mtx (.xz, .gz)
    #[arg(long, value_name = "DIR")]
    matrices: Option<PathBuf>,
    #[command(flatten)]
    blocks: blocks::BlockArgs,
    /// Also write the report to a file, as far as it has come after every part
    #[arg(long, value_name = "FILE.md")]
    output: Option<PathBuf>,
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GpuPart {
    /// Launches and compilations
    Latency,
    /// Sparse matrix times vector
    Spmv,
    /// Products in slices of rows and of blocks, with one column and with many
    Blocks,
    /// Solves for many right-hand sides at once beside one after the other
    Columns,
    /// Solves in the formats that the device chooses beside solves row by row
    Formats,
    /// The solve phase of multigrid, and how it grows with the problem
    Solve,
    /// Mixed precision beside the papers
    Precision,
    /// What `latency` starts in processes of their own: uses every kernel, tells what that took
    #[value(hide = true)]
    Kernels,
}

pub(crate) fn run(arguments: &GpuArgs) -> Result<()> {
    let name = match &arguments.device {
        Some(name) => name.clone(),
        None => first_device()?,
    };
    let executor = Executor::gpu(&name)?;
    let device = Device::open(&name)?;
    if arguments.only.contains(&GpuPart::Kernels) {
        return kernels::run(&device, &executor, arguments.small);
    }
    let bench = GpuBench {
        bandwidth: device.copy_bandwidth()?,
        device,
        executor,
        small: arguments.small,
        precisions: arguments.precisions.clone(),
        problems: Problems::new(arguments.matrices.clone()),
    };
    parts(&bench, arguments)
}

/// Measures the parts that are asked for.
fn parts(bench: &GpuBench, arguments: &GpuArgs) -> Result<()> {
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut report = MarkdownReport::new(arguments.output.clone());
    latency::facts(bench, &mut report)?;
    if wanted(GpuPart::Latency) {
        latency::run(bench, &mut report)?;
    }
    if wanted(GpuPart::Spmv) {
        spmv::run(bench, &mut report)?;
    }
    if wanted(GpuPart::Blocks) {
        blocks::run(bench, &arguments.blocks, &mut report)?;
    }
    if wanted(GpuPart::Columns) {
        columns::run(bench, &mut report)?;
    }
    if wanted(GpuPart::Formats) {
        formats::run(bench, &mut report)?;
    }
    if wanted(GpuPart::Solve) {
        solve::run(bench, &mut report)?;
    }
    if wanted(GpuPart::Precision) {
        precision::run(bench, &mut report)?;
    }
    Ok(())
}
