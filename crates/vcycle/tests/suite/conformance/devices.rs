//! Devices the suite runs on: those of `VCYCLE_TEST_DEVICES` (separated by commas), or all OpenCL
//! processors where that is not set.

use std::sync::Arc;

use vcycle::config::{self, Config};
use vcycle::executor::{Executor, Workspace};
use vcycle::matrix::Csr;
use vcycle::vector::Vector;

fn names() -> Vec<String> {
    if let Ok(names) = std::env::var("VCYCLE_TEST_DEVICES") {
        return names.split(',').map(|n| n.trim().to_owned()).collect();
    }
    let found = vcycle_gpu::discover().into_iter();
    let devices = found.filter_map(|found| found.devices.ok()).flatten();
    devices.filter(|d| d.is_cpu).map(|d| d.name).collect()
}

pub fn on_each(case: fn(&Executor)) {
    let names = names();
    if names.is_empty() {
        eprintln!("skipped: no OpenCL processor here, and VCYCLE_TEST_DEVICES names no device");
    }
    for name in names {
        eprintln!("on {name}");
        case(&Executor::gpu(&name).unwrap());
    }
}

pub fn a_factorisation_solves(executor: &Executor) {
    let a = Arc::new(Csr::<f64>::diagonal_matrix(executor, vec![1.0, -2.0, 4.0]));
    let b = Vector::filled(executor, 3, 1, 1.0).unwrap();
    let config = Config::from_toml("solver = \"direct\"").unwrap();
    let solution = config::solve(&config, &a, &b, &Workspace::new()).unwrap();
    assert_eq!(solution.x.to_vec(), [1.0, -0.5, 0.25]);
}
