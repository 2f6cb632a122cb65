//! `vcycle devices`.

use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use vcycle::HOST_STAGES;
use vcycle::communicator::mpi;
use vcycle::executor::Executor;
use vcycle::vector::Vector;
use vcycle_gpu::{Found, Properties, compiler, discover};

use crate::args::DevicesArgs;
use crate::error::Result;
use crate::output::{format, print, table};

/// Values copied to measure bandwidth: more than caches hold, little enough to be quick.
const VALUES: usize = 16 << 20;
const ROUNDS: usize = 5;

/// Everything there is, and why there is no more.
#[derive(Serialize)]
struct Listing {
    devices: Vec<DeviceEntry>,
    missing: Vec<Missing>,
    /// The library of MPI that was found, or why there is none.
    mpi: Mpi,
    /// What runs on the host, even for matrices of a device.
    host_stages: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum DeviceEntry {
    Host(HostEntry),
    Gpu(GpuEntry),
}

#[derive(Serialize)]
struct HostEntry {
    name: String,
    threads: usize,
    features: Vec<&'static str>,
    copy_gigabytes_per_second: f64,
}

#[derive(Serialize)]
struct GpuEntry {
    name: String,
    model: String,
    driver: String,
    architecture: String,
    memory_bytes: usize,
    compute_units: usize,
    sub_group_widths: Vec<usize>,
    precisions: Vec<&'static str>,
    plays_a_gpu: bool,
    copy_gigabytes_per_second: Option<f64>,
    /// Why it cannot be used, if so.
    problem: Option<String>,
}

/// What `mpirun -n 4 vcycle solve` would use.
#[derive(Serialize)]
struct Mpi {
    version: Option<String>,
    problem: Option<String>,
}

impl Mpi {
    fn look() -> Self {
        let found = mpi::version();
        Self {
            problem: found
                .as_ref()
                .err()
                .map(|error| one_line("MPI", &error.to_string())),
            version: found.ok(),
        }
    }

    fn text(&self) -> String {
        match (&self.version, &self.problem) {
            (Some(version), _) => format!("MPI: {version}"),
            (None, problem) => format!("no MPI: {}", problem.as_deref().unwrap_or_default()),
        }
    }
}

/// A driver without devices.
#[derive(Serialize)]
struct Missing {
    driver: &'static str,
    reason: String,
}

/// Lists the devices.
pub fn run(args: &DevicesArgs) -> Result<ExitCode> {
    let mut listing = Listing {
        devices: vec![
            look_at(&Executor::reference(), Vec::new())?,
            look_at(&Executor::cpu(), simd())?,
        ],
        missing: Vec::new(),
        mpi: Mpi::look(),
        host_stages: HOST_STAGES.iter().map(|stage| stage.name).collect(),
    };
    discover()
        .into_iter()
        .for_each(|found| listing.take(found, look_at_gpu));
    match args.json {
        true => print(&serde_json::json!(listing).to_string()),
        false => print(&listing.text()),
    }
    Ok(ExitCode::SUCCESS)
}

impl Listing {
    fn take(&mut self, found: Found, look: impl Fn(Properties) -> GpuEntry) {
        let driver = found.driver;
        let reason = match found.devices {
            Ok(devices) if devices.is_empty() => "it has no devices".to_owned(),
            Ok(devices) => {
                let gpus = devices
                    .into_iter()
                    .map(|device| DeviceEntry::Gpu(look(device)));
                return self.devices.extend(gpus);
            }
            Err(error) => one_line(driver, &error.to_string()),
        };
        self.missing.push(Missing { driver, reason });
    }

    fn text(&self) -> String {
        let hosts = self.devices.iter().filter_map(DeviceEntry::host_row);
        let gpus: Vec<_> = self
            .devices
            .iter()
            .filter_map(DeviceEntry::gpu_row)
            .collect();
        let mut parts = vec![table::grid(
            ["device", "threads", "copy GB/s", "SIMD"],
            hosts,
        )];
        if !gpus.is_empty() {
            let head = [
                "device",
                "model",
                "memory",
                "units",
                "sub-groups",
                "precisions",
                "copy GB/s",
                "driver",
            ];
            parts.push(table::grid(head, gpus));
        }
        parts.extend(self.devices.iter().filter_map(DeviceEntry::problem));
        let missing = self.missing.iter();
        parts.extend(missing.map(|none| format!("no {} device: {}", none.driver, none.reason)));
        parts.push(self.mpi.text());
        if self.devices.iter().any(DeviceEntry::is_gpu) {
            let stages = self.host_stages.join(", ");
            parts.push(format!("on the host for all devices: {stages}"));
        }
        parts.join("\n")
    }
}

impl DeviceEntry {
    fn host_row(&self) -> Option<[String; 4]> {
        let Self::Host(host) = self else { return None };
        Some([
            host.name.clone(),
            host.threads.to_string(),
            format!("{:.1}", host.copy_gigabytes_per_second),
            host.features.join(" "),
        ])
    }

    fn gpu_row(&self) -> Option<[String; 8]> {
        let Self::Gpu(gpu) = self else { return None };
        let widths: Vec<String> = gpu.sub_group_widths.iter().map(usize::to_string).collect();
        let speed = gpu.copy_gigabytes_per_second;
        Some([
            gpu.name.clone(),
            gpu.model.clone(),
            format::bytes(gpu.memory_bytes),
            gpu.compute_units.to_string(),
            widths.join(" "),
            gpu.precisions.join(" "),
            speed.map_or("-".to_owned(), |speed| format!("{speed:.1}")),
            in_brief(&gpu.driver),
        ])
    }

    fn is_gpu(&self) -> bool {
        matches!(self, Self::Gpu(_))
    }

    fn problem(&self) -> Option<String> {
        match self {
            Self::Gpu(gpu) => Some(format!("{}: {}", gpu.name, gpu.problem.as_ref()?)),
            Self::Host(_) => None,
        }
    }
}

/// An error's words in one line, without the driver's name in front.
fn one_line(driver: &str, error: &str) -> String {
    let words = error.split_whitespace().collect::<Vec<_>>().join(" ");
    let rest = words
        .strip_prefix(driver)
        .and_then(|rest| rest.strip_prefix(": "));
    rest.map(str::to_owned).unwrap_or(words)
}

/// A driver's name and version, without the list of its features that some put between them.
fn in_brief(driver: &str) -> String {
    match (driver.split_once(", "), driver.rsplit_once(", ")) {
        (Some((name, _)), Some((_, version))) => format!("{name}, {version}"),
        _ => driver.to_owned(),
    }
}

/// The driver, and the compiler that belongs to it.
fn with_compiler(device: &Properties) -> String {
    let driver = device.name.split(':').next().unwrap_or_default();
    match compiler(driver) {
        None => device.driver.clone(),
        Some(Ok(compiler)) => format!("{}, {compiler}", device.driver),
        Some(Err(_)) => format!("{}, no compiler", device.driver),
    }
}

fn look_at_gpu(device: Properties) -> GpuEntry {
    let speed = vcycle_gpu::Device::open(&device.name).and_then(|open| open.copy_bandwidth());
    let (speed, problem) = match speed {
        Ok(speed) => (Some(speed * 1e-9), None),
        Err(error) => (None, Some(one_line(&device.name, &error.to_string()))),
    };
    let precisions = [("fp64", device.fp64), ("fp32", true), ("fp16", device.fp16)];
    let precisions = precisions.into_iter().filter(|(_, present)| *present);
    GpuEntry {
        precisions: precisions.map(|(name, _)| name).collect(),
        driver: with_compiler(&device),
        name: device.name,
        model: device.model,
        architecture: device.architecture,
        memory_bytes: device.memory,
        compute_units: device.compute_units,
        sub_group_widths: device.sub_groups,
        plays_a_gpu: device.is_cpu,
        copy_gigabytes_per_second: speed,
        problem,
    }
}

fn look_at(executor: &Executor, features: Vec<&'static str>) -> Result<DeviceEntry> {
    Ok(DeviceEntry::Host(HostEntry {
        name: executor.name().to_owned(),
        threads: executor.threads(),
        features,
        copy_gigabytes_per_second: bandwidth(executor)?,
    }))
}

/// Bytes read and written by the quickest of a few copies.
fn bandwidth(executor: &Executor) -> Result<f64> {
    let x = Vector::<f64>::filled(executor, VALUES, 1, 1.0)?;
    let mut y = Vector::<f64>::zeros_like(&x)?;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        y.copy_from(&x)?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(2.0 * x.bytes() as f64 / best * 1e-9)
}

#[cfg(target_arch = "x86_64")]
fn simd() -> Vec<&'static str> {
    let found = [
        ("sse4.2", is_x86_feature_detected!("sse4.2")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("f16c", is_x86_feature_detected!("f16c")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512bf16", is_x86_feature_detected!("avx512bf16")),
        ("avx512fp16", is_x86_feature_detected!("avx512fp16")),
    ];
    let present = found.into_iter().filter(|(_, present)| *present);
    present.map(|(name, _)| name).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn simd() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(problem: Option<&str>) -> GpuEntry {
        GpuEntry {
            name: "cuda:0".into(),
            model: "Some GPU".into(),
            driver: "1.2".into(),
            architecture: "sm_90".into(),
            memory_bytes: 80_000_000_000,
            compute_units: 132,
            sub_group_widths: vec![32],
            precisions: vec!["fp64", "fp32"],
            plays_a_gpu: false,
            copy_gigabytes_per_second: problem.is_none().then_some(3000.04),
            problem: problem.map(str::to_owned),
        }
    }

    fn listing(gpu: GpuEntry) -> Listing {
        Listing {
            devices: vec![DeviceEntry::Gpu(gpu)],
            missing: Vec::new(),
            mpi: Mpi::look(),
            host_stages: vec!["this stage", "that one"],
        }
    }

    #[test]
    fn features_of_a_driver_are_left_out_of_the_table() {
        assert_eq!(
            in_brief("Portable, SPIR, SLEEF, driver 5.0"),
            "Portable, driver 5.0"
        );
        assert_eq!(
            in_brief("CUDA driver 13.0, NVRTC 13.0"),
            "CUDA driver 13.0, NVRTC 13.0"
        );
        assert_eq!(in_brief("1.2"), "1.2");
    }

    #[test]
    fn a_gpu_is_a_row() {
        let text = listing(gpu(None)).text();
        for word in [
            "cuda:0", "Some GPU", "80.0 GB", "132", "32", "fp64", "3000.0", "1.2",
        ] {
            assert!(text.contains(word), "{word} in\n{text}");
        }
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let mut listing = listing(gpu(Some("the compiler is missing")));
        listing.take(
            Found {
                driver: "hip",
                devices: Ok(Vec::new()),
            },
            |_| unreachable!("there is none"),
        );
        let text = listing.text();
        assert!(
            text.contains("\ncuda:0: the compiler is missing\n"),
            "{text}"
        );
        assert!(
            text.contains("no hip device: it has no devices\n"),
            "{text}"
        );
        assert!(
            text.ends_with("on the host for all devices: this stage, that one"),
            "{text}"
        );
        assert_eq!(one_line("hip", "hip: a\n b"), "a b");
    }
}
