//! `vcycle-bench matrices`: every positive definite matrix of a folder, with every method that
//! should solve it; or every matrix, with what `auto` chooses; or those that are not, with matching and threshold
//! factorisations.

use std::path::Path;
use std::sync::Arc;

use vcycle::config::{Config, Solution, Wide, solve};
use vcycle::executor::{Executor, Workspace};
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, c64};
use vcycle::stop::Status;
use vcycle::vector::Vector;

use crate::asked::Asked;
use crate::common::Result;
use crate::table::{Cell, row};
use crate::timing::mean;

/// Preconditioners of GMRES for matrices that are not positive definite, after what is done to the matrix.
const GENERAL: [&str; 8] = [
    "ilu0",
    "mc64 ilu0",
    "mc64+rcm ilu0",
    "mc64+amd iluk:1",
    "mc64+rcm ilut:2",
    "mc64+amd parilut:2",
    "mc64+amd parilut:5",
    "mc64+amd ilut:5,1e-4",
];
/// Choices that a user may make without looking at the matrix.
const SINGLE: [(&str, &str); 8] = [
    ("direct", "none"),
    ("cg", "amg"),
    ("cg", "ic0"),
    ("cg", "jacobi"),
    ("fgmres", "amg"),
    ("gmres", "ilu0"),
    ("bicgstab", "ilu0"),
    ("minres", "l1-jacobi"),
];

/// A line of the manifest: the name, and what is known of the eigenvalues.
struct ManifestEntry {
    name: String,
    definite: String,
}

fn manifest(asked: &Asked) -> Result<Vec<ManifestEntry>> {
    let text = std::fs::read_to_string(Path::new(asked.text("folder")).join("MANIFEST.tsv"))?;
    let entry = |line: &str| {
        let mut fields = line.split('\t');
        Some(ManifestEntry {
            name: fields.next()?.to_owned(),
            definite: fields.nth(4)?.to_owned(),
        })
    };
    Ok(text.lines().skip(1).filter_map(entry).collect())
}

fn load(asked: &Asked, entry: &ManifestEntry) -> Result<AnyMatrix> {
    let file = Path::new(asked.text("folder")).join(format!("{}.mtx.xz", entry.name));
    Ok(load_matrix(&file, &Executor::cpu())?)
}

pub(crate) fn run(asked: &Asked) -> Result<()> {
    if asked.has("auto") {
        return auto(asked);
    }
    let is_general = asked.has("general");
    let methods = match is_general {
        true => GENERAL
            .into_iter()
            .map(general)
            .collect::<Result<Vec<_>>>()?,
        false => definite(asked)?,
    };
    let names: Vec<&str> = methods.iter().map(|(name, _)| name.as_str()).collect();
    let mut table = asked.table("solves").with(2, &names);
    let mut counts: Vec<Vec<Option<f64>>> = Vec::new();
    for entry in manifest(asked)? {
        let definite = &entry.definite;
        let is_wanted = match is_general {
            true => !definite.contains("SPD") && !definite.contains("singular"),
            false => definite.starts_with("SPD"),
        };
        if !is_wanted {
            continue;
        }
        let (size, cells) = match load(asked, &entry)? {
            AnyMatrix::Real(a) => (a.size(), cells(asked, &methods, a)?),
            AnyMatrix::Complex(a) => (a.size(), cells(asked, &methods, a)?),
        };
        if size.rows == size.cols {
            counts.push(cells.iter().map(|cell| iterations(cell)).collect());
            let head = row![entry.name, size.rows].into_iter();
            table.told(head.chain(cells.into_iter().map(Cell::from)).collect());
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
    let note = if is_general { "general" } else { "definite" };
    say!("{table}\n{}", asked.note(note, &[]));
    Ok(())
}

/// GMRES with a preconditioner, after what is done to the matrix.
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

/// The direct solver, and conjugate gradients with the preconditioners that are asked for.
fn definite(asked: &Asked) -> Result<Vec<(String, Config)>> {
    let method = |name: &str, solver: &str, preconditioner: &str| -> Result<(String, Config)> {
        let config = format!("solver={solver} preconditioner={preconditioner}").parse()?;
        Ok((name.split(':').next().unwrap_or(name).to_owned(), config))
    };
    let direct = method("direct", "direct", "none");
    let others = asked.list("preconditioners").into_iter();
    let others = others.map(|name| method(name, "cg", name));
    [direct].into_iter().chain(others).collect()
}

/// What a cell begins with, if the method converged.
fn iterations(cell: &str) -> Option<f64> {
    cell.split(" in ").next()?.parse().ok()
}

/// What each method says of a matrix.
fn cells<T: Wide>(asked: &Asked, methods: &[(String, Config)], a: Csr<T>) -> Result<Vec<String>> {
    if a.size().rows != a.size().cols {
        return Ok(Vec::new());
    }
    let a = Arc::new(a);
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let cell = |(_, config): &(String, Config)| {
        let mut config = config.clone();
        config.stop.time_limit = Some(asked.number("time-limit"));
        config.stop.max_iterations = asked.count("max-iterations");
        let solution = match solve(&config, &a, &b, &Workspace::new()) {
            Ok(solution) => solution,
            Err(error) => return error.to_string(),
        };
        let outcome = &solution.outcome;
        match (outcome.status, asked.has("times")) {
            (Status::Converged, false) => outcome.iterations.to_string(),
            (Status::Converged, true) => {
                format!("{} in {:.3}", outcome.iterations, seconds(&solution))
            }
            (status, _) => format!("{status} ({:.0e})", outcome.relative_residual),
        }
    };
    Ok(methods.iter().map(cell).collect())
}

fn seconds<T>(solution: &Solution<T>) -> f64 {
    (solution.setup + solution.solving).as_secs_f64()
}

/// What `auto` makes of every matrix, beside the best of single choices.
fn auto(asked: &Asked) -> Result<()> {
    let mut table = asked.table("auto");
    // Seconds of all matrices: by itself, and by the best single choices.
    let mut total = [0.0; 2];
    for entry in manifest(asked)? {
        let (rows, cells) = match load(asked, &entry)? {
            AnyMatrix::Real(a) => (a.size().rows, chosen(asked, &entry, a, &mut total)?),
            AnyMatrix::Complex(a) => (a.size().rows, chosen(asked, &entry, a, &mut total)?),
        };
        let kind = entry.definite.split([';', ',', '(']).next().unwrap_or("");
        let head = row![entry.name, rows, kind.trim()].into_iter();
        table.told(head.chain(cells).collect());
    }
    let single = SINGLE.map(|(solver, preconditioner)| format!("{solver}+{preconditioner}"));
    let further = [
        ("single", single.join(", ")),
        ("auto", format!("{:.2}", total[0])),
        ("least", format!("{:.2}", total[1])),
        ("ratio", format!("{:.2}", total[0] / total[1])),
    ];
    say!("{table}\n{}", asked.note("auto", &further));
    Ok(())
}

fn chosen<T: Wide + Mixes<T, T>>(
    asked: &Asked,
    entry: &ManifestEntry,
    a: Csr<T>,
    total: &mut [f64; 2],
) -> Result<Vec<Cell>> {
    if a.size().rows != a.size().cols {
        return Ok(row!["not square"]);
    }
    let a = Arc::new(a);
    let b = right_hand_side(&a, entry)?;
    let mut config = Config::default();
    config.stop.time_limit = Some(asked.number("time-limit"));
    let solution = match solve(&config, &a, &b, &Workspace::new()) {
        Ok(solution) => solution,
        Err(error) => return Ok(row![error.to_string()]),
    };
    let (single, least) = best_single(&a, &b, &solution);
    total[0] += seconds(&solution);
    total[1] += least;
    let (outcome, config) = (&solution.outcome, &solution.config);
    let tried = solution
        .messages
        .iter()
        .filter(|message| message.starts_with("auto:"));
    Ok(row![
        format!("{}+{}", config.solver.name(), config.preconditioner.name()),
        outcome.status.to_string(),
        outcome.iterations,
        outcome.relative_residual,
        seconds(&solution),
        tried.count().saturating_sub(1),
        single,
        least,
    ])
}

/// The quickest single choice that solves, and its seconds; what takes longer than `auto` is not waited for.
fn best_single<T: Wide>(a: &Arc<Csr<T>>, b: &Vector<T>, auto: &Solution<T>) -> (String, f64) {
    let chosen = (auto.config.solver.name(), auto.config.preconditioner.name());
    let mut best = ("none".to_owned(), seconds(auto));
    for (solver, preconditioner) in SINGLE.into_iter().chain([chosen]) {
        let text = format!(
            "solver={solver} preconditioner={preconditioner} time-limit={}",
            best.1
        );
        let config = text.parse::<Config>();
        let Ok(Ok(solution)) = config.map(|config| solve(&config, a, b, &Workspace::new())) else {
            continue;
        };
        let status = solution.outcome.status;
        let solves = matches!(status, Status::Converged | Status::AccuracyLimit);
        if solves && seconds(&solution) < best.1 {
            best = (format!("{solver}+{preconditioner}"), seconds(&solution));
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
