//! The properties of a device, the cost of a launch, and the time until kernels are ready.

use std::process::Command;

use vcycle_gpu::{Argument, Shape, Source};

use super::{GpuBench, products, solve};
use crate::common::Folder;
use crate::prelude::*;
use crate::solves::precisions;
use crate::timing::shortest;

const NOTHING: &str = r#"
#ifdef __OPENCL_VERSION__
__kernel void nothing(int zero) {}
#else
extern "C" __global__ void nothing(int zero) {}
#endif
"#;

const LAUNCHES: usize = 2000;
/// Kernels of a recorded piece of work: about those of an iteration.
const RECORDED: usize = 100;

/// The device, as its driver describes it; bytes per second of a copy within it.
pub(super) fn facts(bench: &GpuBench, report: &mut Report) -> Result<f64> {
    let device = bench.device.properties();
    let bandwidth = bench.device.copy_bandwidth()?;
    let widths: Vec<String> = device.sub_groups.iter().map(usize::to_string).collect();
    let gibibytes = device.memory as f64 / (1u64 << 30) as f64;
    let mut table = bench.args.table("facts");
    for (what, value) in [
        ("device", format!("{}, {}", device.name, device.model)),
        ("driver", device.driver.clone()),
        ("kernels are compiled for", device.architecture.clone()),
        ("memory, GiB", format!("{gibibytes:.1}")),
        ("compute units", device.compute_units.to_string()),
        ("sub-group widths", widths.join(" ")),
        ("copy bandwidth, GB/s", format!("{:.0}", bandwidth * 1e-9)),
        ("threads of the host", bench.executor.threads().to_string()),
        ("vcycle", env!("CARGO_PKG_VERSION").to_owned()),
    ] {
        table.row(row![what, value]);
    }
    report.add("# vcycle on a GPU")?;
    report.add(table)?;
    Ok(bandwidth)
}

/// Launches, compilations.
pub(super) fn run(bench: &GpuBench, report: &mut Report) -> Result<()> {
    report.add("## Latency")?;
    let (plain, recorded) = launches(bench)?;
    let mut table = bench.args.table("facts");
    table.row(row!["one launch, µs", format!("{plain:.2}")]);
    let words = format!("one launch of {RECORDED} recorded ones, µs");
    table.row(row![words, format!("{recorded:.2}")]);
    let folder = Folder::new()?;
    for name in ["first run", "warm run"] {
        table.row(match kernels(bench, &folder) {
            Ok([compiled, loaded, seconds]) => {
                let words = format!("{name}: {compiled} programs compiled, {loaded} loaded, s");
                row![words, seconds]
            }
            Err(error) => row![name, format!("failed: {error}")],
        });
    }
    report.add(&table)?;
    report.add(bench.args.note("latency", &[]))
}

/// Microseconds of a launch, plain and recorded.
fn launches(bench: &GpuBench) -> Result<(f64, f64)> {
    let device = &bench.device;
    let source = Source {
        file: "nothing.c".into(),
        text: NOTHING.into(),
        defines: Vec::new(),
    };
    let kernel = device.kernel(&source, "nothing")?;
    let shape = Shape {
        blocks: 1,
        threads: 32,
    };
    let zero = [Argument::I32(0)];
    // SAFETY: the kernel has one number and uses no memory.
    let launch = || unsafe { device.launch(&kernel, shape, &zero) };
    let graph = device.capture(|| (0..RECORDED).try_for_each(|_| launch()))?;
    let wall = |work: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
        Ok(shortest(&bench.executor, 5, work)?.0 * 1e3 / LAUNCHES as f64)
    };
    let plain = wall(&mut || Ok((0..LAUNCHES).try_for_each(|_| launch())?))?;
    let recorded =
        wall(&mut || Ok((0..LAUNCHES / RECORDED).try_for_each(|_| device.replay(&graph))?))?;
    Ok((plain, recorded))
}

/// Programs compiled and loaded and the seconds of both in a new process, which keeps them in a folder.
fn kernels(bench: &GpuBench, folder: &Folder) -> Result<[f64; 3]> {
    let name = &bench.device.properties().name;
    let output = Command::new(std::env::current_exe()?)
        .args(["gpu", "--only", "kernels", "--device", name])
        .args(bench.args.has("small").then_some("--small"))
        .env("VCYCLE_CACHE", folder.path())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.trim().lines().last().unwrap_or_default();
    let complaint = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(last).map_err(|_| complaint.trim().into())
}

/// Uses every kernel of the benchmark once, on small problems, and prints what it took; of a small benchmark those of solves in two
/// precisions alone.
pub(super) fn use_kernels(bench: &GpuBench) -> Result<()> {
    let both = ["dp", "sp"].map(str::to_owned);
    let system = bench.problem("poisson7:8")?;
    for (_, amg) in solve::hierarchies()? {
        let each = |_: &String, _, solver: &_, b: &_| bench.solved(solver, b, 1).map(drop);
        solve::solve_all(bench, &system, &amg, &both, each)?;
    }
    if !bench.args.has("small") {
        products::rows(bench, "poisson7:8")?;
        let line = format!("precision --device {}", bench.device.properties().name);
        precisions(&Args::parse(&line), "beam:o2,l1")?;
    }
    let builds = bench.device.builds();
    let taken = (builds.compiled, builds.loaded, builds.seconds);
    print_line!("{}", serde_json::to_string(&taken)?);
    Ok(())
}
