//! What can be chosen, and where one can run.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::{Value, json};
use vcycle::config::{Config, PreconditionerConfig, SolverConfig};
use vcycle::executor::Executor;
use vcycle::multigrid::{Amg, Coarsening, Coarsest, Interpolation, Smoother, SmootherEntry};
use vcycle::registration::{Ranks, Registration};
use vcycle_gpu::discover;

use crate::error::{OrRaise, wrong_option};

/// The default configuration, the parameters of multigrid and all components, as JSON.
#[pyfunction]
pub fn options() -> String {
    let mut amg = json!(Amg::default());
    amg["levels"] = Value::Array(Vec::new());
    json!({
        "config": Config::default(),
        "amg": amg,
        "solvers": SolverConfig::all(),
        "preconditioners": PreconditionerConfig::all(),
        "registrations": {
            "solver": SolverConfig::REGISTRATIONS.iter().map(component).collect::<Vec<_>>(),
            "preconditioner": PreconditionerConfig::REGISTRATIONS.iter().map(component).collect::<Vec<_>>(),
            "smoother": Smoother::entries().iter().map(smoother).collect::<Vec<_>>(),
            "coarsening": stages(&Coarsening::ALL.map(|one| one.registration().map(|r| (r.name, r.summary)))),
            "interpolation": stages(&Interpolation::ALL.map(|one| one.registration().map(|r| (r.name, r.summary)))),
            "coarsest": stages(&Coarsest::ALL.map(|one| one.registration().map(|r| (r.name, r.summary)))),
        },
    })
    .to_string()
}

fn component(known: &Registration) -> Value {
    let support = known.support;
    let host_stages: Vec<&str> = support.host_stages.iter().map(|stage| stage.name).collect();
    json!({
        "name": known.name,
        "summary": known.summary,
        "after-colon": known.after_colon,
        "needs": known.requirements(),
        "over-ranks": support.ranks == Ranks::Shared,
        "host-stages": host_stages,
        "transposed": support.transposed,
    })
}

fn smoother(known: &SmootherEntry) -> Value {
    json!({
        "names": known.names,
        "summary": known.summary,
        "parameter": known.parameter,
        "default": known.default,
    })
}

fn stages(known: &[Option<(&str, &str)>]) -> Vec<Value> {
    let stage = |(name, summary): &(&str, &str)| json!({ "name": name, "summary": summary });
    known.iter().flatten().map(stage).collect()
}

/// A configuration that comes with the library, as JSON.
#[pyfunction]
pub fn preset(name: &str) -> PyResult<String> {
    let config = Config::preset(name).map_err(|error| wrong_option(&error))?;
    Ok(json!(config).to_string())
}

/// A configuration file, TOML or JSON, as JSON.
#[pyfunction]
pub fn read_config(path: PathBuf) -> PyResult<String> {
    let config = Config::read(path).map_err(|error| wrong_option(&error))?;
    Ok(json!(config).to_string())
}

/// A device, or so many threads of the host.
pub fn executor(device: Option<&str>, threads: Option<usize>) -> PyResult<Executor> {
    let made = match (device, threads) {
        (Some(device), _) => Executor::gpu(device),
        (None, None) => Executor::check_environment().map(|()| Executor::cpu()),
        (None, Some(threads)) => Executor::cpu_with_threads(threads),
    };
    made.or_raise()
}

/// The names of the devices there are.
#[pyfunction]
pub fn devices(py: Python<'_>) -> Vec<String> {
    let mut names = vec!["cpu".to_owned(), "reference".to_owned()];
    let found = py.detach(discover).into_iter();
    let devices = found.filter_map(|driver| driver.devices.ok()).flatten();
    names.extend(devices.map(|device| device.name));
    names
}
