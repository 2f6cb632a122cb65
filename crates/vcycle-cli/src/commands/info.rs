//! `vcycle info`.

use serde::Serialize;
use serde_json::{Value, json};
use vcycle::config::{Analysis, Attempt, Findings, MemoryNeed, PreconditionerConfig, attempts_of};
use vcycle::linop::LinOp;
use vcycle::log::Log;
use vcycle::matrix::{Extent, FormatCosts};
use vcycle::multigrid::{Amg, Report};
use vcycle::structured::{Structure, find_stencil};

use crate::args::InfoArgs;
use crate::input::{self, Admit, Source};
use crate::output::format::bytes;
use crate::output::progress::Progress;
use crate::output::summary::level;
use crate::output::{facts, picture, print, table};
use crate::prelude::*;

/// Prints the facts of a matrix, the levels multigrid makes of it, and what to try.
pub fn run(args: &InfoArgs) -> Result<ExitCode> {
    let amg = multigrid(args)?;
    let mut config = Config::default();
    args.place.set(&mut config);
    let executor = config.run.executor()?;
    let progress = Progress::begin(!args.json, "reading");
    let read = &mut |read| progress.reading(read);
    let admit = admit(&args.input.source, &executor);
    let (source, system) = input::read(&args.input, (&executor, None), admit, read)?;
    match system {
        AnySystem::Real(system) => show(args, &amg, &source, &system, &progress)?,
        AnySystem::Complex(system) => show(args, &amg, &source, &system, &progress)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a matrix that there is no memory for; one that fits alone is looked at, whatever a solve would need.
fn admit(source: &str, executor: &Executor) -> Admit {
    let (source, executor) = (source.to_owned(), executor.clone());
    Arc::new(move |extent| {
        let solve = MemoryNeed::expected(&Config::default(), extent, 1, &executor).total();
        let what = || format!("`{source}` (a solve: about {})", bytes(solve));
        executor.on_host().check_need(what, extent.bytes())
    })
}

fn multigrid(args: &InfoArgs) -> Result<Amg> {
    let name = args.precond.as_deref().unwrap_or("amg");
    match name.parse()? {
        PreconditionerConfig::Amg(amg) => Ok(amg),
        other => {
            let reason = format!("`{}` has no levels to show; `amg` has", other.name());
            Err(CliError::option("--precond", reason))
        }
    }
}

fn show<T: Wide>(
    args: &InfoArgs,
    amg: &Amg,
    source: &Source,
    system: &System<T>,
    progress: &Progress,
) -> Result<()> {
    let a = system.matrix.whole()?;
    if let Some(path) = &args.plot_coarsening {
        picture::write(path, amg, source, a)?;
    }
    let facts = a.facts();
    let stencil = find_stencil(a);
    let hierarchy = (!args.no_hierarchy).then(|| set_up(amg, a, progress));
    progress.end();
    let (config, square) = (Config::default(), facts.rows == facts.columns);
    let analysis = Analysis::new(&config, system)?;
    let tries = match square {
        true => {
            let solved = analysis.system();
            let a = solved.matrix.whole()?;
            let mut found = Findings::from(a.facts());
            found.stencil = find_stencil(a).is_ok();
            attempts_of(&config, solved.near_nullspace.as_ref(), found, a)
        }
        false => Vec::new(),
    };
    let known = system.near_nullspace.as_ref();
    let first = tries.first();
    let mut findings = analysis.messages().to_vec();
    for sentence in a.defects().sentences() {
        if !findings.contains(&sentence) {
            findings.push(sentence);
        }
    }
    let memory = first.map(|attempt| {
        memory(
            &MemoryNeed::of(attempt, extent(a), 1, known, a.executor()),
            a.executor(),
        )
    });
    let advice = match facts.rows == 0 || facts.non_finite > 0 {
        true => Vec::new(),
        false => advise(&source.name, &tries),
    };
    let (formats, structure) = (formats(a), structure(stencil));
    if args.json {
        let object = json!({
            "problem": source.name,
            "facts": facts,
            "formats": formats.0,
            "structure": structure.0,
            "findings": findings,
            "hierarchy": hierarchy.map(|made| made.map_or_else(|why| json!({"error": why}), levels)),
            "memory": memory.map(|(bytes, _)| bytes),
            "try": tries.iter().map(attempt).collect::<Vec<_>>(),
            "advice": advice,
        });
        print(&object.to_string());
        return Ok(());
    }
    print(&source.name);
    let mut rows = facts::rows(&facts);
    rows.push(("bytes of a product", formats.1));
    rows.push(("structure", structure.1));
    rows.extend(memory.map(|(_, words)| ("memory of a solve", words)));
    print(&table::facts(rows));
    for sentence in &findings {
        print(sentence);
    }
    match hierarchy {
        None => {}
        Some(Ok(report)) => print(&format!("\n{report}")),
        Some(Err(why)) => print(&format!("\nno multigrid levels: {why}")),
    }
    print_advice(&tries, &advice);
    Ok(())
}

/// The bytes of each format, as row lengths make them; in words, what `--format auto` chooses, too.
fn formats<T: Wide>(a: &Csr<T>) -> (Value, String) {
    let costs = FormatCosts::new(a.pattern());
    let (mut object, mut words) = (json!({}), Vec::new());
    for &(format, size) in &costs.bytes {
        object[format.name()] = size.into();
        words.push(format!("{} {}", format.name(), bytes(size)));
    }
    let on_devices = match a.executor().is_device() {
        true => " on processors, slices of rows or blocks on devices",
        false => "",
    };
    let (words, chosen) = (words.join(", "), costs.cheapest().name());
    (
        object,
        format!("{words}; `--format auto` takes {chosen}{on_devices}"),
    )
}

/// The stencil and its grid, or why there is none.
fn structure(found: vcycle::Result<Structure>) -> (Value, String) {
    let (grid, stencil, unknowns) = match found {
        Ok(found) => (found.grid, found.stencil.to_string(), found.unknowns),
        Err(why) => return (json!({"error": why.to_string()}), why.to_string()),
    };
    let each = match unknowns {
        1 => String::new(),
        several => format!(" with {several} unknowns each"),
    };
    let words = format!("stencil {stencil} on a grid of {grid} cells{each}");
    let object = json!({"grid": grid.size(), "stencil": stencil, "unknowns": unknowns});
    (object, words)
}

/// The levels, or why there are none.
fn set_up<T: Wide>(
    amg: &Amg,
    a: &Arc<Csr<T>>,
    progress: &Progress,
) -> std::result::Result<Report, String> {
    let made = || {
        let mut config = Config::default();
        config.preconditioner = PreconditionerConfig::Amg(amg.clone());
        let need = MemoryNeed::expected(&config, extent(a), 0, a.executor());
        let what = || "the set-up of multigrid".to_owned();
        a.executor().check_need(what, need.preconditioner)?;
        let log = match progress.is_shown() {
            true => Log::new().with(progress.clone()),
            false => Log::new(),
        };
        let a: Arc<dyn LinOp<T>> = Arc::clone(a) as _;
        amg.hierarchy(&a, &Workspace::with_log(log))
    };
    match made() {
        Ok(hierarchy) => Ok(hierarchy.report().clone()),
        Err(error) => Err(error.to_string()),
    }
}

fn extent<T: Wide>(a: &Csr<T>) -> Extent {
    Extent {
        value_bytes: size_of::<T>(),
        ..Extent::real(a.size().rows, a.nonzeros())
    }
}

fn memory(need: &MemoryNeed, executor: &Executor) -> (Value, String) {
    let object = json!({
        "matrix": need.matrix,
        "preconditioner": need.preconditioner,
        "vectors": need.vectors,
        "total": need.total(),
    });
    let available = executor.available_memory();
    let available = available.map_or(String::new(), |free| format!(", {} available", bytes(free)));
    let parts = [need.total(), need.matrix, need.preconditioner, need.vectors];
    let [total, matrix, setup, vectors] = parts.map(bytes);
    let words =
        format!("about {total}{available}; matrix {matrix}, set-up {setup}, vectors {vectors}");
    (object, words)
}

fn levels(report: Report) -> Value {
    json!({
        "levels": report.levels.iter().map(level).collect::<Vec<_>>(),
        "operator_complexity": report.operator_complexity(),
        "grid_complexity": report.grid_complexity(),
        "bytes": report.bytes(),
        "setup_seconds": report.setup_seconds(),
        "setup": report.setup_by_stage(),
        "stalled": report.stalled,
        "notes": report.notes,
    })
}

fn attempt(attempt: &Attempt) -> Value {
    json!({
        "solver": attempt.solver,
        "preconditioner": attempt.preconditioner,
        "preprocessing": attempt.preprocessing.to_string(),
    })
}

/// A command and the reason for it.
#[derive(Serialize)]
struct Advice {
    command: String,
    reason: String,
}

/// How many combinations are advised.
const ADVISED: usize = 4;

/// Commands for the first of what `auto` tries, and one for a report; none where it tries nothing.
fn advise(name: &str, tries: &[Attempt]) -> Vec<Advice> {
    let name = match name.contains(char::is_whitespace) {
        true => format!("'{name}'"),
        false => name.to_owned(),
    };
    let advice = |options: &str, reason: &str| Advice {
        command: format!("vcycle solve {name} {options}"),
        reason: reason.to_owned(),
    };
    let mut all: Vec<Advice> = Vec::new();
    for attempt in tries {
        let reason = attempt.reason.trim_start_matches("auto: ");
        let found = advice(&options(attempt), reason);
        if all.len() < ADVISED && all.iter().all(|other| other.command != found.command) {
            all.push(found);
        }
    }
    if !all.is_empty() {
        let reason = "shows residuals, levels and where the time goes";
        all.push(advice("--report report.html", reason));
    }
    all
}

/// The options that choose an attempt.
fn options(attempt: &Attempt) -> String {
    let mut options = format!("--solver {}", attempt.solver.brief());
    if attempt.preconditioner.name() != "none" {
        options += &format!(" --precond {}", attempt.preconditioner.brief());
    }
    let before = attempt.preprocessing;
    if !before.is_none() {
        options += &format!(" --match {} --reorder {}", before.matching, before.reorder);
    }
    options
}

fn print_advice(tries: &[Attempt], advice: &[Advice]) {
    print("\nwhat to try");
    if let Some(first) = tries.first() {
        print(&first.reason);
        let order = list(tries);
        print(&format!("by itself it tries in this order: {order}"));
    }
    for Advice { command, reason } in advice {
        print(&format!("  {command}\n      {reason}"));
    }
    if advice.is_empty() {
        print("nothing: only square systems of finite numbers are solved");
    }
}

/// Digits after the point that show a time.
fn digits(seconds: f64) -> usize {
    if seconds < 0.1 { 2 } else { 1 }
}

/// The tries by name, with the seconds that they are predicted to take.
fn list(tries: &[Attempt]) -> String {
    let named = |t: &Attempt| {
        let (solver, preconditioner) = (t.solver.name(), t.preconditioner.name());
        match preconditioner {
            "none" => solver.to_owned(),
            _ if t.preprocessing.is_none() => format!("{solver}+{preconditioner}"),
            _ => format!("{solver}+{}+{preconditioner}", t.preprocessing),
        }
    };
    let named = |t: &Attempt| match t.preset {
        None => named(t),
        Some(preset) => format!("{} ({preset})", named(t)),
    };
    let named = |t: &Attempt| match t.seconds {
        None => named(t),
        Some(seconds) => format!("{} (about {seconds:.1$} s)", named(t), digits(seconds)),
    };
    tries.iter().map(named).collect::<Vec<_>>().join(", ")
}
