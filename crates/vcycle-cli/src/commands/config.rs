//! `vcycle config`.

use serde::Serialize;
use serde_json::Value;
use vcycle::config::{PreconditionerConfig, RunConfig, SolverConfig};
use vcycle::multigrid::{Coarsening, Coarsest, Interpolation, Smoother};
use vcycle::registration::Registration;

use crate::output::print;
use crate::prelude::*;

/// Prints the default configuration as TOML, and all components with their parameters as
/// comments in it.
pub fn run() -> ExitCode {
    let devices = RunConfig::DEVICES.join(", ");
    print(&format!(
        "# The default configuration. Options of the command line override it.
{}

# stop: rtol, reduction (of the initial residual), atol, trust-recurrence, max-iterations, time-limit (seconds).
# run: device, one of {devices}; threads, all cores unless given.
# precision: WORKING[/MATRIX] of dp, sp, hp, bf.
# nullspace of a singular matrix: \"auto\", \"none\", \"constant\" or \"near-nullspace\".
# levels of amg that differ: levels = [{{ from = 1, to = 2, below-rows = 5000, ... }}] with strength, coarsening,
#   aggregate-size, interpolation, truncation, smoother, post-smoother, pre-sweeps, post-sweeps, precision, coarsest.

# Solvers, with their defaults:",
        Config::default().to_toml().trim_end()
    ));
    let solvers = SolverConfig::all();
    let known = solvers.iter().zip(SolverConfig::REGISTRATIONS);
    known.for_each(|(c, known)| comment("solver", c, known));
    print("\n# Preconditioners, with their defaults:");
    let all = PreconditionerConfig::all();
    let known = all.iter().zip(PreconditionerConfig::REGISTRATIONS);
    known.for_each(|(c, known)| comment("preconditioner", c, known));
    stages();
    ExitCode::SUCCESS
}

/// What the stages of multigrid may be.
fn stages() {
    print(
        "
# A solver may be a preconditioner: preconditioner = \"gmres:10\", so many iterations.

# Smoothers of amg, with the number after the colon; or a solver, so many iterations (cg:2):",
    );
    for entry in Smoother::entries() {
        let names = entry.names.join(", ");
        let parameter = match entry.parameter {
            "" => String::new(),
            meaning => format!(" ({meaning}, {})", entry.default),
        };
        line(&(names + &parameter), entry.summary, &entry.limits());
    }
    print("\n# Coarsenings of amg:");
    let known = Coarsening::ALL
        .into_iter()
        .filter_map(Coarsening::registration);
    known.for_each(|known| line(known.name, known.summary, &known.limits()));
    print("\n# Interpolations of amg:");
    let known = Interpolation::ALL
        .into_iter()
        .filter_map(Interpolation::registration);
    known.for_each(|known| line(known.name, known.summary, &known.limits()));
    print("\n# Coarsest solvers of amg; or any solver or preconditioner by its name:");
    let known = Coarsest::ALL.into_iter().filter_map(Coarsest::registration);
    known.for_each(|known| line(known.name, known.summary, ""));
}

/// A stage, its summary, and what limits it in brackets.
fn line(name: &str, summary: &str, limits: &str) {
    let limits = match limits {
        "" => String::new(),
        limits => format!(" ({limits})"),
    };
    print(&format!("#   {name}: {summary}{limits}"));
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
