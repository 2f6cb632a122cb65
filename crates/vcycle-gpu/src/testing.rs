//! What tests need from elsewhere: devices, compilers and files. A test without them skips, and says so.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Says that a test skips because something is missing, named in one word. `scripts/run-tests` sets `VCYCLE_SKIPPED` to a file of these
/// words, counts them and fails where `VCYCLE_REQUIRE` has one of them.
pub fn skip(missing: &str) {
    eprintln!("skipped: no {missing} here");
    if let Some(path) = env::var_os("VCYCLE_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.unwrap(), "{missing}").unwrap();
    }
}

/// The devices that `VCYCLE_TEST_DEVICES` names, separated by commas, or all OpenCL processors where it is not set. A test without any skips.
pub fn devices() -> Vec<String> {
    if let Ok(names) = env::var("VCYCLE_TEST_DEVICES") {
        return names
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect();
    }
    let found = crate::discover().into_iter();
    let devices = found.filter_map(|found| found.devices.ok()).flatten();
    let names: Vec<String> = devices
        .filter(|device| device.is_cpu)
        .map(|device| device.name)
        .collect();
    if names.is_empty() {
        skip("opencl");
    }
    names
}

/// A file or folder of the data beside the checkout. A test without it skips.
pub fn shared(path: &str) -> Option<PathBuf> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared")
        .join(path);
    let exists = shared.exists();
    if !exists {
        skip("shared");
    }
    exists.then_some(shared)
}

/// Whether a variable names the compiler of a vendor: `VCYCLE_NVRTC` or `VCYCLE_HIPRTC`. A test without it skips.
pub fn names_compiler(variable: &str) -> bool {
    let is_set = env::var_os(variable).is_some();
    if !is_set {
        skip(&variable["VCYCLE_".len()..].to_lowercase());
    }
    is_set
}
