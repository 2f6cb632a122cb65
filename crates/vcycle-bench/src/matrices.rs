//! `vcycle-bench matrices`: every positive definite matrix of a folder, with every method that
//! should solve it; or every matrix, with what `auto` chooses; or those that are not, with matching and threshold
//! factorisations.

use std::path::Path;

use vcycle::config::{Wide, solve};
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::scalar::c64;
use vcycle::stop::Status;

use crate::prelude::*;
use crate::solves::total;
use crate::timing::mean;

/// A line of the manifest: the name, and what is known of the eigenvalues.
struct ManifestEntry {
    name: String,
    definite: String,
}

fn manifest(args: &Args) -> Result<Vec<ManifestEntry>> {
    let text = std::fs::read_to_string(Path::new(args.text("folder")).join("MANIFEST.tsv"))?;
    let entry = |line: &str| {
        let mut fields = line.split('\t');
        Some(ManifestEntry {
            name: fields.next()?.to_owned(),
            definite: fields.nth(4)?.to_owned(),
        })
    };
    Ok(text.lines().skip(1).filter_map(entry).collect())
}

fn load(args: &Args, entry: &ManifestEntry) -> Result<AnyMatrix> {
    let file = Path::new(args.text("folder")).join(format!("{}.mtx.xz", entry.name));
    Ok(load_matrix(&file, &Executor::cpu())?)
}

/// Calls a generic function with a matrix of real or of complex numbers; nothing for one that is not square.
macro_rules! with_square {
    ($matrix:expr, $a:ident => $call:expr) => {
        match $matrix {
            AnyMatrix::Real($a) if $a.size().rows == $a.size().cols => Some($call),
            AnyMatrix::Complex($a) if $a.size().rows == $a.size().cols => Some($call),
            AnyMatrix::Real(_) | AnyMatrix::Complex(_) => None,
        }
    };
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.has("auto") {
        return auto(args);
    }
    let is_general = args.has("general");
    let (list, method): (_, fn(&str) -> _) = match is_general {
        true => ("general", general),
        false => ("definite", definite),
    };
    let methods = args.listed(list).into_iter().map(method);
    let methods = methods.collect::<Result<Vec<_>>>()?;
    let names: Vec<&str> = methods.iter().map(|(name, _)| name.as_str()).collect();
    let mut table = args.table("solves").with(2, &names);
    let mut counts: Vec<Vec<Option<f64>>> = Vec::new();
    for entry in manifest(args)? {
        let definite = &entry.definite;
        let is_wanted = match is_general {
            true => !definite.contains("SPD") && !definite.contains("singular"),
            false => definite.starts_with("SPD"),
        };
        if !is_wanted {
            continue;
        }
        let cells = with_square!(load(args, &entry)?, a => (a.size(), cells(args, &methods, a)?));
        if let Some((size, cells)) = cells {
            let count = |cell: &String| cell.split(" in ").next()?.parse().ok();
            counts.push(cells.iter().map(count).collect());
            let head = row![entry.name, size.rows].into_iter();
            table.show_row(head.chain(cells.into_iter().map(Cell::from)).collect());
        }
    }
    // The method that others are compared with.
    let is_first = |name: &&str| ["jacobi", "mc64 ilu0"].contains(name);
    if let Some(first) = names.iter().position(is_first) {
        let ratio = |method: usize| {
            let both = counts.iter().map(|row| Some(row[method]? / row[first]?));
            format!("{:.2}", mean(&both.flatten().collect::<Vec<f64>>()))
        };
        let head = row![format!("geometric mean to {}", names[first]), ""].into_iter();
        let means = (0..names.len()).map(|method| Cell::from(ratio(method)));
        table.row(head.chain(means).collect());
    }
    print_line!("{table}\n{}", args.note(list, &[]));
    Ok(())
}

/// GMRES with a preconditioner, after matching and reordering.
fn general(name: &str) -> Result<(String, Config)> {
    let (before, preconditioner) = name.rsplit_once(' ').unwrap_or(("", name));
    let mut config: Config = format!("solver=gmres preconditioner={preconditioner}").parse()?;
    for word in before.split('+').filter(|word| !word.is_empty()) {
        match word {
            "mc64" => config.matching = Some(word.parse()?),
            _ => config.reorder = Some(word.parse()?),
        }
    }
    Ok((name.to_owned(), config))
}

/// The direct solver, or conjugate gradients with a preconditioner.
fn definite(name: &str) -> Result<(String, Config)> {
    let config = match name {
        "direct" => "solver=direct preconditioner=none".parse(),
        name => format!("solver=cg preconditioner={name}").parse(),
    };
    Ok((name.split(':').next().unwrap_or(name).to_owned(), config?))
}

/// The outcome of each method.
fn cells<T: Wide>(args: &Args, methods: &[(String, Config)], a: Csr<T>) -> Result<Vec<String>> {
    let a = Arc::new(a);
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let cell = |(_, config): &(String, Config)| {
        let mut config = config.clone();
        config.stop.time_limit = Some(args.number("time-limit"));
        config.stop.max_iterations = args.count("max-iterations");
        let solution = match solve(&config, &a, &b, &Workspace::new()) {
            Ok(solution) => solution,
            Err(error) => return error.to_string(),
        };
        let outcome = &solution.outcome;
        let iterations = outcome.iterations;
        match (outcome.status, args.has("times")) {
            (Status::Converged, false) => iterations.to_string(),
            (Status::Converged, true) => format!("{iterations} in {:.3}", total(&solution)),
            (status, _) => format!("{status} ({:.0e})", outcome.relative_residual),
        }
    };
    Ok(methods.iter().map(cell).collect())
}

/// The automatic choice for every matrix, beside the best of single choices.
fn auto(args: &Args) -> Result<()> {
    let mut table = args.table("auto");
    // Seconds of all matrices: by itself, and by the best single choices.
    let mut totals = [0.0; 2];
    for entry in manifest(args)? {
        let matrix = load(args, &entry)?;
        let rows = matrix.size().rows;
        let cells = with_square!(matrix, a => chosen(args, &entry, a, &mut totals)?);
        let kind = entry.definite.split([';', ',', '(']).next().unwrap_or("");
        let head = row![entry.name, rows, kind.trim()].into_iter();
        table.show_row(head.chain(cells.unwrap_or(row!["not square"])).collect());
    }
    let further = [
        ("single", args.listed("single").join(", ")),
        ("auto", format!("{:.2}", totals[0])),
        ("least", format!("{:.2}", totals[1])),
        ("ratio", format!("{:.2}", totals[0] / totals[1])),
    ];
    print_line!("{table}\n{}", args.note("auto", &further));
    Ok(())
}

fn chosen<T: Wide + Mixes<T, T>>(
    args: &Args,
    entry: &ManifestEntry,
    a: Csr<T>,
    totals: &mut [f64; 2],
) -> Result<Vec<Cell>> {
    let a = Arc::new(a);
    let b = right_hand_side(&a, entry)?;
    let mut config = Config::default();
    config.stop.time_limit = Some(args.number("time-limit"));
    let solution = match solve(&config, &a, &b, &Workspace::new()) {
        Ok(solution) => solution,
        Err(error) => return Ok(row![error.to_string()]),
    };
    let (outcome, config) = (&solution.outcome, &solution.config);
    let choice = format!("{}+{}", config.solver.name(), config.preconditioner.name());
    let (single, least) = best_single(args, &a, &b, (&choice, total(&solution)));
    totals[0] += total(&solution);
    totals[1] += least;
    let messages = solution.messages.iter();
    let tried = messages.filter(|message| message.starts_with("auto:"));
    Ok(row![
        choice,
        outcome.status.to_string(),
        outcome.iterations,
        outcome.relative_residual,
        total(&solution),
        tried.count().saturating_sub(1),
        single,
        least,
    ])
}

/// The quickest single choice that solves, and its seconds, among others what `auto` chose; solves that take longer than that are stopped.
fn best_single<T: Wide>(
    args: &Args,
    a: &Arc<Csr<T>>,
    b: &Vector<T>,
    (chosen, seconds): (&str, f64),
) -> (String, f64) {
    let mut best = ("none".to_owned(), seconds);
    for choice in args.listed("single").into_iter().chain([chosen]) {
        let (solver, preconditioner) = choice.split_once('+').unwrap_or((choice, "none"));
        let limit = best.1;
        let text = format!("solver={solver} preconditioner={preconditioner} time-limit={limit}");
        let config = text.parse::<Config>();
        let Ok(Ok(solution)) = config.map(|config| solve(&config, a, b, &Workspace::new())) else {
            continue;
        };
        let status = solution.outcome.status;
        let solves = matches!(status, Status::Converged | Status::AccuracyLimit);
        if solves && total(&solution) < best.1 {
            best = (choice.to_owned(), total(&solution));
        }
    }
    best
}

/// Ones, or for a singular matrix something that has a solution.
fn right_hand_side<T: Wide + Mixes<T, T>>(
    a: &Arc<Csr<T>>,
    entry: &ManifestEntry,
) -> Result<Vector<T>> {
    let ones = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    if !entry.definite.contains("singular") {
        return Ok(ones);
    }
    let waves = (0..a.size().rows).map(|row| T::from_c64(c64::new((row as f64).sin(), 0.0)));
    let waves = Vector::from_column(a.executor(), waves.collect());
    let mut b = Vector::zeros_like(&waves)?;
    a.apply(&waves, &mut b, &Workspace::new())?;
    Ok(b)
}
