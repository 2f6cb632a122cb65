//! `vcycle config`.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use vcycle::config::{Config, PreconditionerConfig, RunConfig, SolverConfig};
use vcycle::multigrid::{Coarsening, Coarsest, Interpolation, Smoother};
use vcycle::registration::Registration;

use crate::output::print;

/// Prints the default configuration as TOML, and all components with their parameters as
/// comments in it.
pub fn run() -> ExitCode {
    print("# The default configuration. Options of the command line override it.");
    print(Config::default().to_toml().trim_end());
    print(
        "\n# stop: rtol, reduction (of the initial residual), atol, trust-recurrence, max-iterations, time-limit (seconds).",
    );
    let devices = RunConfig::DEVICES.join(", ");
    print(&format!(
        "# run: device, one of {devices}; threads, all cores unless given."
    ));
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
    let solvers = SolverConfig::all();
    let known = solvers.iter().zip(SolverConfig::REGISTRATIONS);
    known.for_each(|(c, known)| comment("solver", c, known));
    print("\n# Preconditioners, with their defaults:");
    let preconditioners = PreconditionerConfig::all();
    let known = preconditioners
        .iter()
        .zip(PreconditionerConfig::REGISTRATIONS);
    known.for_each(|(c, known)| comment("preconditioner", c, known));
    print(
        "\n# A solver may be a preconditioner: preconditioner = \"gmres:10\", so many iterations.",
    );
    stages();
    ExitCode::SUCCESS
}

/// What the stages of multigrid may be.
fn stages() {
    print(
        "\n# Smoothers of amg, with the number after the colon; or a solver, so many iterations (cg:2):",
    );
    for entry in Smoother::entries() {
        let names = entry.names.join(", ");
        let parameter = match entry.parameter {
            "" => String::new(),
            meaning => format!(" ({meaning}, {})", entry.default),
        };
        let limits = in_brackets(&entry.limits());
        print(&format!(
            "#   {names}{parameter}: {}{limits}",
            entry.summary
        ));
    }
    let line = |name: &str, summary: &str, limits: &str| {
        print(&format!("#   {name}: {summary}{}", in_brackets(limits)));
    };
    print("\n# Coarsenings of amg:");
    let known = Coarsening::ALL
        .into_iter()
        .filter_map(Coarsening::registration);
    known.for_each(|known| line(known.name, known.summary, &known.limits()));
    print("\n# Interpolations of amg:");
    let known = Interpolation::ALL.into_iter();
    let known = known.filter_map(Interpolation::registration);
    known.for_each(|known| line(known.name, known.summary, &known.limits()));
    print("\n# Coarsest solvers of amg; or any solver or preconditioner by its name:");
    let known = Coarsest::ALL.into_iter().filter_map(Coarsest::registration);
    known.for_each(|known| line(known.name, known.summary, ""));
}

/// What follows a summary, where there is something to say.
fn in_brackets(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!(" ({text})"),
    }
}

/// One component in words, and as a commented line of TOML.
fn comment(family: &str, component: &impl Serialize, known: &Registration) {
    let value = serde_json::to_value(component).expect("components are plain data");
    let needs: Vec<&str> = known.needs.iter().map(|need| need.words()).collect();
    let needs = match needs.is_empty() {
        true => String::new(),
        false => format!(" Needs {}.", needs.join(", ")),
    };
    print(&format!("# {family} = {}", inline(&value)));
    print(&format!("#   {}{needs}", known.summary));
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
