//! `vcycle info`.

use std::process::ExitCode;

use serde_json::json;
use vcycle::config::{Attempt, Config, Wide, attempts};
use vcycle::executor::Executor;
use vcycle::matrix::Facts;

use crate::args::InfoArgs;
use crate::error::Result;
use crate::input::{AnySystem, System};
use crate::output::format::{bytes, count};
use crate::output::progress::Progress;
use crate::output::{print, table};

/// Prints the facts of a matrix and what `auto` would try.
pub fn run(args: &InfoArgs) -> Result<ExitCode> {
    let progress = Progress::begin(!args.json, "reading");
    let system = AnySystem::read(&args.input, &Executor::cpu(), &progress)?;
    progress.end();
    match system {
        AnySystem::Real(system) => tell(args, &system),
        AnySystem::Complex(system) => tell(args, &system),
    }
    Ok(ExitCode::SUCCESS)
}

fn tell<T: Wide>(args: &InfoArgs, system: &System<T>) {
    let facts = system.a.facts();
    let tries = match facts.rows == facts.columns {
        true => attempts(&Config::default(), || facts.clone()),
        false => Vec::new(),
    };
    if args.json {
        let tries: Vec<_> = tries
            .iter()
            .map(|t| json!({"solver": t.solver, "preconditioner": t.preconditioner}))
            .collect();
        let object = json!({"problem": system.name, "facts": facts, "try": tries});
        return print(&object.to_string());
    }
    print(&system.name);
    print(&table::facts(fact_rows(&facts)));
    match tries.first() {
        None => print("not square: there is nothing to solve"),
        Some(first) => {
            print(&first.reason);
            print(&format!("try in this order: {}", list(&tries)));
        }
    }
}

fn list(tries: &[Attempt]) -> String {
    let options: Vec<String> = tries
        .iter()
        .map(|t| match t.preconditioner.name() {
            "none" => t.solver.name().to_owned(),
            preconditioner => format!("{}+{preconditioner}", t.solver.name()),
        })
        .collect();
    options.join(", ")
}

/// The facts as a table for people.
pub fn fact_rows(facts: &Facts) -> Vec<(&'static str, String)> {
    let kind = if facts.complex { "complex" } else { "real" };
    vec![
        (
            "size",
            format!("{} x {}", count(facts.rows), count(facts.columns)),
        ),
        (
            "entries",
            format!(
                "{} {kind}, {} of them zero",
                count(facts.nonzeros),
                count(facts.stored_zeros)
            ),
        ),
        (
            "entries a row",
            format!(
                "{} to {}, {:.2} on average, {} empty rows",
                count(facts.row_min),
                count(facts.row_max),
                facts.row_mean,
                count(facts.empty_rows)
            ),
        ),
        ("symmetry", symmetry(facts).to_owned()),
        (
            "diagonal",
            format!(
                "{} missing, {} zero, {} negative",
                count(facts.missing_diagonal),
                count(facts.zero_diagonal),
                count(facts.negative_diagonal)
            ),
        ),
        (
            "diagonally dominant",
            format!("{:.1} % of the rows", 100.0 * facts.dominant_rows),
        ),
        (
            "absolute values",
            format!("{:.3e} to {:.3e}", facts.smallest, facts.largest),
        ),
        ("narrower precision", narrower(facts)),
        ("bandwidth", count(facts.bandwidth)),
        ("memory", bytes(facts.bytes)),
    ]
}

fn symmetry(facts: &Facts) -> &'static str {
    match (facts.hermitian, facts.symmetric, facts.symmetric_pattern) {
        (true, _, _) if facts.complex => "Hermitian",
        (_, true, _) => "symmetric",
        (_, _, true) => "symmetric in pattern only",
        _ => "not symmetric",
    }
}

fn narrower(facts: &Facts) -> String {
    let fits = |fits: bool| if fits { "fits" } else { "overflows" };
    format!(
        "f32 and bf16: {}; f16: {}, {} entries underflow",
        fits(facts.fits_f32),
        fits(facts.fits_f16),
        count(facts.f16_underflows)
    )
}
