//! `vcycle devices`.

use std::time::Instant;

use serde_json::{Value, json};
use vcycle::HOST_STAGES;
use vcycle::communicator::mpi;
use vcycle_gpu::{Found, Properties, compiler, discover};

use crate::args::DevicesArgs;
use crate::output::{format, print, table};
use crate::prelude::*;

/// Values copied to measure bandwidth: more than caches hold, little enough to be quick.
const VALUES: usize = 16 << 20;
const ROUNDS: usize = 5;

/// Lists the devices.
pub fn run(args: &DevicesArgs) -> Result<ExitCode> {
    let hosts = [
        host(&Executor::reference(), Vec::new())?,
        host(&Executor::cpu(), simd())?,
    ];
    let stages: Vec<&str> = HOST_STAGES.iter().map(|stage| stage.name).collect();
    // The library that `mpirun -n 4 vcycle solve` would use, or why there is none.
    let mpi = mpi::version().map_err(|error| one_line("MPI", &error.to_string()));
    let bandwidth = |device: &Properties| {
        let open = vcycle_gpu::Device::open(&device.name);
        open.and_then(|open| open.copy_bandwidth())
    };
    let (gpus, missing) = gpus(discover(), bandwidth);
    let listing = json!({
        "devices": hosts.into_iter().chain(gpus).collect::<Vec<_>>(),
        "missing": missing,
        "mpi": {"version": mpi.as_ref().ok(), "problem": mpi.as_ref().err()},
        "host_stages": stages,
    });
    match args.json {
        true => print(&listing.to_string()),
        false => print(&text(&listing)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The devices of all drivers, and the drivers without devices, with the reason.
fn gpus(
    found: Vec<Found>,
    bandwidth: impl Fn(&Properties) -> vcycle_gpu::Result<f64>,
) -> (Vec<Value>, Vec<Value>) {
    let (mut gpus, mut missing) = (Vec::new(), Vec::new());
    for Found { driver, devices } in found {
        let reason = match devices {
            Ok(devices) if devices.is_empty() => "it has no devices".to_owned(),
            Ok(devices) => {
                gpus.extend(devices.iter().map(|device| gpu(device, bandwidth(device))));
                continue;
            }
            Err(error) => one_line(driver, &error.to_string()),
        };
        missing.push(json!({"driver": driver, "reason": reason}));
    }
    (gpus, missing)
}

/// The listing for people.
fn text(listing: &Value) -> String {
    let list = |key: &str| listing[key].as_array().map_or(&[][..], Vec::as_slice);
    let (gpus, hosts): (Vec<_>, Vec<_>) = list("devices")
        .iter()
        .partition(|device| device["driver"].is_string());
    let mut parts = vec![devices_table(HOST_COLUMNS, &hosts)];
    if !gpus.is_empty() {
        parts.push(devices_table(GPU_COLUMNS, &gpus));
    }
    for gpu in gpus.iter().filter(|gpu| gpu["problem"].is_string()) {
        parts.push(format!(
            "{}: {}",
            words(&gpu["name"]),
            words(&gpu["problem"])
        ));
    }
    for none in list("missing") {
        let [driver, reason] = ["driver", "reason"].map(|key| words(&none[key]));
        parts.push(format!("no {driver} device: {reason}"));
    }
    let mpi = &listing["mpi"];
    parts.push(match mpi["version"].as_str() {
        Some(version) => format!("MPI: {version}"),
        None => format!("no MPI: {}", words(&mpi["problem"])),
    });
    if !gpus.is_empty() {
        let stages: Vec<String> = list("host_stages").iter().map(words).collect();
        let stages = stages.join(", ");
        parts.push(format!("on the host for all devices: {stages}"));
    }
    parts.join("\n")
}

const SPEED: &str = "copy_gigabytes_per_second";

/// Columns of the tables: titles, and what is shown.
const HOST_COLUMNS: (&str, [&str; 4]) = (
    "device|threads|copy GB/s|SIMD",
    ["name", "threads", SPEED, "features"],
);
const GPU_COLUMNS: (&str, [&str; 8]) = (
    "device|model|memory|units|sub-groups|precisions|copy GB/s|driver",
    [
        "name",
        "model",
        "memory_bytes",
        "compute_units",
        "sub_group_widths",
        "precisions",
        SPEED,
        "driver",
    ],
);

fn devices_table<const N: usize>((head, keys): (&str, [&str; N]), devices: &[&Value]) -> String {
    let row = |device: &&Value| keys.map(|key| cell(key, &device[key]));
    table::grid(head, devices.iter().map(row))
}

/// A value of the listing for people.
fn cell(key: &str, value: &Value) -> String {
    match (key, value) {
        ("memory_bytes", Value::Number(bytes)) => {
            format::bytes(bytes.as_u64().unwrap_or(0) as usize)
        }
        (SPEED, Value::Number(speed)) => format!("{:.1}", speed.as_f64().unwrap_or(0.0)),
        ("driver", Value::String(driver)) => in_brief(driver),
        (_, Value::Array(all)) => all.iter().map(words).collect::<Vec<_>>().join(" "),
        (_, Value::Null) => "-".to_owned(),
        _ => words(value),
    }
}

/// Text as it is, anything else as JSON.
fn words(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// An error's words in one line, without the driver's name in front.
fn one_line(driver: &str, error: &str) -> String {
    let words = error.split_whitespace().collect::<Vec<_>>().join(" ");
    let rest = words.strip_prefix(&format!("{driver}: "));
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

fn gpu(device: &Properties, bandwidth: vcycle_gpu::Result<f64>) -> Value {
    let (speed, problem) = match bandwidth {
        Ok(speed) => (Some(speed * 1e-9), None),
        Err(error) => (None, Some(one_line(&device.name, &error.to_string()))),
    };
    let precisions = [("fp64", device.fp64), ("fp32", true), ("fp16", device.fp16)];
    json!({
        "name": device.name,
        "model": device.model,
        "driver": with_compiler(device),
        "architecture": device.architecture,
        "memory_bytes": device.memory,
        "compute_units": device.compute_units,
        "sub_group_widths": device.sub_groups,
        "precisions": present(&precisions),
        "plays_a_gpu": device.is_cpu,
        SPEED: speed,
        "problem": problem,
    })
}

fn host(executor: &Executor, features: Vec<&'static str>) -> Result<Value> {
    Ok(json!({
        "name": executor.name(),
        "threads": executor.threads(),
        "features": features,
        SPEED: bandwidth(executor)?,
    }))
}

/// The names of what there is.
fn present(all: &[(&'static str, bool)]) -> Vec<&'static str> {
    let present = all.iter().filter(|(_, present)| *present);
    present.map(|(name, _)| *name).collect()
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
    present(&found)
}

#[cfg(not(target_arch = "x86_64"))]
fn simd() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(bandwidth: impl Fn(&Properties) -> vcycle_gpu::Result<f64>) -> String {
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
        let found = [("cuda", vec![device]), ("hip", Vec::new())].map(|(driver, devices)| Found {
            driver,
            devices: Ok(devices),
        });
        let (devices, missing) = gpus(found.into(), bandwidth);
        text(&json!({
            "devices": devices,
            "missing": missing,
            "mpi": {"problem": "none"},
            "host_stages": ["this stage", "that one"],
        }))
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
        let text = listing(|_| Ok(3000.04e9));
        for word in "cuda:0|Some GPU|80.0 GB|132|32|fp64|3000.0|1.2".split('|') {
            assert!(text.contains(word), "{word} in\n{text}");
        }
        let text = listing(|_| Err(vcycle_gpu::Error::LeftOut { driver: "cuda" }));
        for words in [
            "\ncuda:0: cuda: this build has no GPUs",
            "no hip device: it has no devices\n",
            "\non the host for all devices: this stage, that one",
        ] {
            assert!(text.contains(words), "{words} in\n{text}");
        }
    }
}
