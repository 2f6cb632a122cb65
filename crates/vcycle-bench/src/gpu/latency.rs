//! What a device is, what a launch costs, and what it takes to have the kernels.

use std::process::Command;
use std::time::Instant;

use vcycle_gpu::{Shape, Source};

use super::bench::GpuBench;
use super::kernels::Taken;
use super::report::MarkdownReport;
use crate::common::{Result, table};
use crate::folder::Folder;

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

/// The device, as its driver describes it.
pub(super) fn facts(bench: &GpuBench, report: &mut MarkdownReport) -> Result<()> {
    let device = bench.device.properties();
    let widths: Vec<String> = device.sub_groups.iter().map(usize::to_string).collect();
    let mut table = table(&["what", "value"]);
    let rows = [
        ("device", format!("{}, {}", device.name, device.model)),
        ("driver", device.driver.clone()),
        ("kernels are compiled for", device.architecture.clone()),
        (
            "memory, GiB",
            format!("{:.1}", device.memory as f64 / (1u64 << 30) as f64),
        ),
        ("compute units", device.compute_units.to_string()),
        ("sub-group widths", widths.join(" ")),
        (
            "copy bandwidth, GB/s",
            format!("{:.0}", bench.bandwidth * 1e-9),
        ),
        ("threads of the host", bench.executor.threads().to_string()),
        ("vcycle", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    for (what, value) in rows {
        table.add_row([what.to_owned(), value]);
    }
    report.add("# vcycle on a GPU")?;
    report.add(&table)
}

/// Launches, compilations.
pub(super) fn run(bench: &GpuBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Latency")?;
    let (plain, recorded) = launches(bench)?;
    let mut table = table(&["what", "value"]);
    table.add_row(["one launch, µs".to_owned(), format!("{plain:.2}")]);
    table.add_row([
        format!("one launch of {RECORDED} recorded ones, µs"),
        format!("{recorded:.2}"),
    ]);
    let folder = Folder::new()?;
    for name in ["first run", "warm run"] {
        table.add_row(match kernels(bench, &folder) {
            Ok(taken) => taken.row(name),
            Err(error) => [name.to_owned(), format!("failed: {error}")],
        });
    }
    report.add(&table)?;
    report.add(
        "A launch: an empty kernel, the wall clock over many of them. Runs: one process each, small \
         products and solves in every precision (with --small: solves in two); the first starts with an empty folder of compiled \
         kernels, the second finds all of them there.",
    )
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
    let zero = [vcycle_gpu::Argument::I32(0)];
    let launch = || device.launch(&kernel, shape, &zero);
    let graph = device.capture(|| (0..RECORDED).try_for_each(|_| launch()))?;
    let plain = wall(bench, LAUNCHES, &|| Ok(launch()?))?;
    let replay = || Ok(device.replay(&graph)?);
    let recorded = wall(bench, LAUNCHES / RECORDED, &replay)? / RECORDED as f64;
    Ok((plain, recorded))
}

/// Microseconds of one piece of work, the best of some rounds.
fn wall(bench: &GpuBench, pieces: usize, work: &dyn Fn() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        bench.device.synchronize()?;
        let begin = Instant::now();
        (0..pieces).try_for_each(|_| work())?;
        bench.device.synchronize()?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best * 1e6 / pieces as f64)
}

/// The kernels in a new process, which keeps them in a folder.
fn kernels(bench: &GpuBench, folder: &Folder) -> Result<Taken> {
    let name = &bench.device.properties().name;
    let output = Command::new(std::env::current_exe()?)
        .args(["gpu", "--only", "kernels", "--device", name])
        .args(bench.small.then_some("--small"))
        .env("VCYCLE_CACHE", folder.path())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.trim()).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        said.trim().to_owned().into()
    })
}

impl Taken {
    fn row(&self, name: &str) -> [String; 2] {
        let Self {
            compiled, loaded, ..
        } = self;
        [
            format!("{name}: {compiled} programs compiled, {loaded} loaded, s"),
            format!("{:.3}", self.seconds),
        ]
    }
}
