//! `vcycle-bench gpu`: a GPU beside its own memory, beside cuSPARSE and beside published times.

mod bench;
mod columns;
pub(crate) mod cusparse;
mod latency;
mod products;
mod report;
pub(crate) mod setup;
mod solve;

use std::path::PathBuf;

use self::bench::GpuBench;
use self::report::MarkdownReport;
use crate::common::Result;
use crate::precision;

/// Options of `gpu`.
#[derive(Clone, Debug, clap::Args)]
pub struct GpuArgs {
    /// The device, `cuda:0`, `hip:0` or `opencl:0`; the first one found unless given
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// The parts to measure; all unless given
    #[arg(long, value_delimiter = ',', value_name = "PART,...")]
    only: Vec<GpuPart>,
    /// Problems so small that a CPU OpenCL device takes seconds
    #[arg(long)]
    small: bool,
    /// Precisions of the cycles that are timed, the first one being what others are compared with; unless given dp,sp,dp-sp,
    /// for many right-hand sides sp
    #[arg(long, value_delimiter = ',')]
    precisions: Vec<String>,
    /// Folder with G2_circuit.mtx (.xz, .gz)
    #[arg(long, value_name = "DIR")]
    matrices: Option<PathBuf>,
    /// Also write the report to a file, as far as it has come after every part
    #[arg(long, value_name = "FILE.md")]
    output: Option<PathBuf>,
}

impl GpuArgs {
    /// The precisions that were asked for, or those of a part.
    fn precisions_or(&self, own: &[&str]) -> Vec<String> {
        match self.precisions.is_empty() {
            true => own.iter().map(|&name| name.to_owned()).collect(),
            false => self.precisions.clone(),
        }
    }
}

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum GpuPart {
    /// Launches and compilations
    Latency,
    /// Sparse matrix times vector
    Spmv,
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
    let folder = arguments.matrices.clone();
    let bench = &GpuBench::new(arguments.device.as_ref(), arguments.small, folder)?;
    if arguments.only.contains(&GpuPart::Kernels) {
        return latency::use_kernels(bench);
    }
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let report = &mut MarkdownReport::new(arguments.output.clone());
    let bandwidth = latency::facts(bench, report)?;
    if wanted(GpuPart::Latency) {
        latency::run(bench, report)?;
    }
    if wanted(GpuPart::Spmv) {
        products::run(bench, bandwidth, report)?;
    }
    if wanted(GpuPart::Columns) {
        columns::run(bench, &arguments.precisions_or(&["sp"]), report)?;
    }
    if wanted(GpuPart::Formats) {
        columns::formats(bench, report)?;
    }
    if wanted(GpuPart::Solve) {
        let precisions = arguments.precisions_or(&["dp", "sp", "dp-sp"]);
        solve::run(bench, &precisions, report)?;
    }
    if wanted(GpuPart::Precision) {
        report.add("## Mixed precision beside the papers")?;
        let problems = ["beam:o3,l3", "lshape:o3,l7"];
        for problem in bench.of_size(&problems, &["beam:o2,l1", "lshape:o2,l3"]) {
            report.add(precision::report(problem, &bench.executor)?)?;
        }
    }
    Ok(())
}
