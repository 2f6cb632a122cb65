//! `vcycle config`.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use vcycle::config::{Config, PreconditionerConfig, SolverConfig};

use crate::output::print;

/// Prints the default configuration as TOML, and all components with their parameters as
/// comments in it.
pub fn run() -> ExitCode {
    print("# The default configuration. Options of the command line override it.");
    print(Config::default().to_toml().trim_end());
    print(
        "\n# stop: rtol, reduction (of the initial residual), atol, trust-recurrence, max-iterations, time-limit (seconds).",
    );
    print("# run: device \"cpu\" or \"reference\"; threads, all cores unless given.");
    print("# precision: WORKING[/MATRIX] of dp, sp, hp, bf.");
    print(
        "# nullspace of a singular matrix: \"auto\", \"none\", \"constant\" or \"near-nullspace\".",
    );
    print(
        "# levels of amg that differ: levels = [{ from = 1, to = 2, below-rows = 5000, ... }] with strength, coarsening,",
    );
    print(
        "#   aggregate-size, interpolation, truncation, smoother, post-smoother, pre-sweeps, post-sweeps, precision, coarsest.",
    );
    print("\n# Solvers, with their defaults:");
    SolverConfig::all()
        .iter()
        .for_each(|c| comment("solver", c));
    print("\n# Preconditioners, with their defaults:");
    PreconditionerConfig::all()
        .iter()
        .for_each(|c| comment("preconditioner", c));
    ExitCode::SUCCESS
}

/// One component as a commented line of TOML.
fn comment(family: &str, component: &impl Serialize) {
    let value = serde_json::to_value(component).expect("components are plain data");
    print(&format!("# {family} = {}", inline(&value)));
}

/// A value as it stands in a line of TOML; nulls are left out.
fn inline(value: &Value) -> String {
    let Value::Object(table) = value else {
        return value.to_string();
    };
    let fields: Vec<String> = table
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| format!("{key} = {}", inline(value)))
        .collect();
    format!("{{ {} }}", fields.join(", "))
}
