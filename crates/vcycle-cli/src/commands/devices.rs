//! `vcycle devices`.

use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use vcycle::executor::Executor;
use vcycle::vector::Vector;

use crate::args::DevicesArgs;
use crate::error::Result;
use crate::output::{print, table};

/// Values copied to measure bandwidth: more than caches hold, little enough to be quick.
const VALUES: usize = 16 << 20;
const ROUNDS: usize = 5;

#[derive(Serialize)]
struct Device {
    name: String,
    threads: usize,
    features: Vec<&'static str>,
    copy_gigabytes_per_second: f64,
}

/// Lists the devices.
pub fn run(args: &DevicesArgs) -> Result<ExitCode> {
    let devices = [
        look_at(&Executor::reference(), Vec::new())?,
        look_at(&Executor::cpu(), simd())?,
    ];
    if args.json {
        print(&serde_json::json!({ "devices": devices }).to_string());
        return Ok(ExitCode::SUCCESS);
    }
    let rows = devices.iter().map(|device| {
        [
            device.name.clone(),
            device.threads.to_string(),
            format!("{:.1}", device.copy_gigabytes_per_second),
            device.features.join(" "),
        ]
    });
    print(&table::grid(
        ["device", "threads", "copy GB/s", "SIMD"],
        rows,
    ));
    Ok(ExitCode::SUCCESS)
}

fn look_at(executor: &Executor, features: Vec<&'static str>) -> Result<Device> {
    Ok(Device {
        name: executor.name().to_owned(),
        threads: executor.threads(),
        features,
        copy_gigabytes_per_second: bandwidth(executor)?,
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
