//! `vcycle devices`.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};
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

/// A device as JSON and as a row of the table.
struct Entry<const COLUMNS: usize> {
    json: Value,
    row: [String; COLUMNS],
    /// Why it cannot be used, if so.
    problem: Option<String>,
}

/// Everything there is, and why there is no more.
struct Listing {
    hosts: Vec<Entry<4>>,
    gpus: Vec<Entry<8>>,
    /// Drivers without devices, and why they have none.
    missing: Vec<(&'static str, String)>,
    /// The library of MPI that `mpirun -n 4 vcycle solve` would use, or why there is none.
    mpi: std::result::Result<String, String>,
    /// What runs on the host, even for matrices of a device.
    host_stages: Vec<&'static str>,
}

/// Lists the devices.
pub fn run(args: &DevicesArgs) -> Result<ExitCode> {
    let mut listing = Listing {
        hosts: vec![
            host(&Executor::reference(), Vec::new())?,
            host(&Executor::cpu(), simd())?,
        ],
        gpus: Vec::new(),
        missing: Vec::new(),
        mpi: mpi::version().map_err(|error| one_line("MPI", &error.to_string())),
        host_stages: HOST_STAGES.iter().map(|stage| stage.name).collect(),
    };
    for found in discover() {
        listing.take(found, |device| {
            let open = vcycle_gpu::Device::open(&device.name);
            open.and_then(|open| open.copy_bandwidth())
        });
    }
    match args.json {
        true => print(&listing.json().to_string()),
        false => print(&listing.text()),
    }
    Ok(ExitCode::SUCCESS)
}

impl Listing {
    fn take(&mut self, found: Found, bandwidth: impl Fn(&Properties) -> vcycle_gpu::Result<f64>) {
        let reason = match found.devices {
            Ok(devices) if devices.is_empty() => "it has no devices".to_owned(),
            Ok(devices) => {
                let gpus = devices.into_iter().map(|device| {
                    let bandwidth = bandwidth(&device);
                    gpu(device, bandwidth)
                });
                return self.gpus.extend(gpus);
            }
            Err(error) => one_line(found.driver, &error.to_string()),
        };
        self.missing.push((found.driver, reason));
    }

    fn json(&self) -> Value {
        let hosts = self.hosts.iter().map(|entry| &entry.json);
        let devices = hosts.chain(self.gpus.iter().map(|entry| &entry.json));
        let missing = self.missing.iter();
        let missing = missing.map(|(driver, reason)| json!({"driver": driver, "reason": reason}));
        json!({
            "devices": devices.collect::<Vec<_>>(),
            "missing": missing.collect::<Vec<_>>(),
            "mpi": {"version": self.mpi.as_ref().ok(), "problem": self.mpi.as_ref().err()},
            "host_stages": self.host_stages,
        })
    }

    fn text(&self) -> String {
        let hosts = self.hosts.iter().map(|entry| entry.row.clone());
        let head = ["device", "threads", "copy GB/s", "SIMD"];
        let mut parts = vec![table::grid(head, hosts)];
        if !self.gpus.is_empty() {
            let head = "device,model,memory,units,sub-groups,precisions,copy GB/s,driver";
            let head: Vec<&str> = head.split(',').collect();
            let head: [&str; 8] = head.try_into().expect("eight of them");
            let rows = self.gpus.iter().map(|entry| entry.row.clone());
            parts.push(table::grid(head, rows));
        }
        let problems = self.gpus.iter().filter_map(|gpu| {
            let problem = gpu.problem.as_ref()?;
            Some(format!("{}: {problem}", gpu.row[0]))
        });
        parts.extend(problems);
        let missing = self.missing.iter();
        parts.extend(missing.map(|(driver, reason)| format!("no {driver} device: {reason}")));
        parts.push(match &self.mpi {
            Ok(version) => format!("MPI: {version}"),
            Err(problem) => format!("no MPI: {problem}"),
        });
        if !self.gpus.is_empty() {
            let stages = self.host_stages.join(", ");
            parts.push(format!("on the host for all devices: {stages}"));
        }
        parts.join("\n")
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

fn gpu(device: Properties, bandwidth: vcycle_gpu::Result<f64>) -> Entry<8> {
    let (speed, problem) = match bandwidth {
        Ok(speed) => (Some(speed * 1e-9), None),
        Err(error) => (None, Some(one_line(&device.name, &error.to_string()))),
    };
    let precisions = [("fp64", device.fp64), ("fp32", true), ("fp16", device.fp16)];
    let precisions = precisions.into_iter().filter(|(_, present)| *present);
    let precisions: Vec<&str> = precisions.map(|(name, _)| name).collect();
    let driver = with_compiler(&device);
    let widths: Vec<String> = device.sub_groups.iter().map(usize::to_string).collect();
    Entry {
        json: json!({
            "name": device.name,
            "model": device.model,
            "driver": driver,
            "architecture": device.architecture,
            "memory_bytes": device.memory,
            "compute_units": device.compute_units,
            "sub_group_widths": device.sub_groups,
            "precisions": precisions,
            "plays_a_gpu": device.is_cpu,
            "copy_gigabytes_per_second": speed,
            "problem": problem,
        }),
        row: [
            device.name,
            device.model,
            format::bytes(device.memory),
            device.compute_units.to_string(),
            widths.join(" "),
            precisions.join(" "),
            speed.map_or("-".to_owned(), |speed| format!("{speed:.1}")),
            in_brief(&driver),
        ],
        problem,
    }
}

fn host(executor: &Executor, features: Vec<&'static str>) -> Result<Entry<4>> {
    let speed = bandwidth(executor)?;
    Ok(Entry {
        json: json!({
            "name": executor.name(),
            "threads": executor.threads(),
            "features": features,
            "copy_gigabytes_per_second": speed,
        }),
        row: [
            executor.name().to_owned(),
            executor.threads().to_string(),
            format!("{speed:.1}"),
            features.join(" "),
        ],
        problem: None,
    })
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

    fn listing(bandwidth: vcycle_gpu::Result<f64>) -> Listing {
        let device = Properties {
            name: "cuda:0".into(),
            model: "Some GPU".into(),
            driver: "1.2".into(),
            architecture: "sm_90".into(),
            memory: 80_000_000_000,
            compute_units: 132,
            local_memory: 1 << 16,
            max_block: 1024,
            sub_groups: vec![32],
            fp64: true,
            fp16: false,
            is_cpu: false,
        };
        Listing {
            hosts: Vec::new(),
            gpus: vec![gpu(device, bandwidth)],
            missing: Vec::new(),
            mpi: Err("none".to_owned()),
            host_stages: vec!["this stage", "that one"],
        }
    }

    #[test]
    fn names_of_drivers_and_errors_are_shortened() {
        let brief = "CUDA driver 13.0, NVRTC 13.0";
        for (long, short) in [
            ("Portable, SPIR, SLEEF, driver 5.0", "Portable, driver 5.0"),
            (brief, brief),
            ("1.2", "1.2"),
        ] {
            assert_eq!(in_brief(long), short);
        }
        assert_eq!(one_line("hip", "hip: a\n b"), "a b");
    }

    #[test]
    fn a_gpu_is_a_row_and_what_cannot_be_used_says_why() {
        let text = listing(Ok(3000.04e9)).text();
        for word in "cuda:0|Some GPU|80.0 GB|132|32|fp64|3000.0|1.2".split('|') {
            assert!(text.contains(word), "{word} in\n{text}");
        }
        let mut listing = listing(Err(vcycle_gpu::Error::LeftOut { driver: "cuda" }));
        let none = Found {
            driver: "hip",
            devices: Ok(Vec::new()),
        };
        listing.take(none, |_| unreachable!("there is none"));
        let text = listing.text();
        for words in [
            "\ncuda:0: cuda: this build has no GPUs",
            "no hip device: it has no devices\n",
            "\non the host for all devices: this stage, that one",
        ] {
            assert!(text.contains(words), "{words} in\n{text}");
        }
    }
}
