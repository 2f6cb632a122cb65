//! What options may name, from what the components of the library say of themselves.

use vcycle::config::{PreconditionerConfig, RunConfig, SolverConfig};
use vcycle::multigrid::{Coarsening, Interpolation, Smoother};

pub fn solvers() -> String {
    let names = listed(SolverConfig::NAMES);
    format!("Solver: {names} [default: auto]")
}

pub fn preconditioners() -> String {
    let names = listed(PreconditionerConfig::NAMES);
    format!("Preconditioner: {names}, or a solver: so many iterations, gmres:10 [default: auto]")
}

pub fn coarsenings() -> String {
    format!("Coarsening of multigrid: {}", listed(&Coarsening::names()))
}

pub fn interpolations() -> String {
    let names = listed(&Interpolation::names());
    format!("Interpolation of multigrid: {names}")
}

pub fn smoothers() -> String {
    let names = listed(&Smoother::names());
    format!("Smoother of multigrid: {names}, or a solver: so many iterations, cg:2")
}

pub fn devices() -> String {
    let names = listed(RunConfig::DEVICES);
    format!("Where to run: {names} [default: cpu]")
}

fn listed(names: &[&str]) -> String {
    names.join(", ")
}
