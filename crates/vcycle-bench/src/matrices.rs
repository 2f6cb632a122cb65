//! `vcycle-bench matrices`: every positive definite matrix of a folder, with every method that
//! should solve it; or every matrix, with what `auto` chooses; or those that are not, with matching and threshold
//! factorisations.

use std::path::PathBuf;
use std::sync::Arc;

use vcycle::config::{Config, Solution, Wide, solve};
use vcycle::executor::{Executor, Workspace};
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, c64};
use vcycle::stop::Status;
use vcycle::vector::Vector;

use crate::common::{Result, Table};
use crate::timing::mean;

/// Preconditioners of conjugate gradients, as the command line names them.
const PRECONDITIONERS: [&str; 9] = [
    "none",
    "jacobi",
    "l1-jacobi",
    "block-jacobi",
    "ssor",
    "ic0",
    "isai:kind=spd",
    "fsai",
    "amg",
];
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

/// Options of `matrices`.
#[derive(Clone, Debug, clap::Args)]
pub struct MatricesArgs {
    /// All matrices, without any option
    #[arg(long)]
    auto: bool,
    /// Matrices that are not positive definite: GMRES with incomplete factors, matched and reordered
    #[arg(long, conflicts_with = "auto")]
    general: bool,
    /// Folder of the matrices, with a MANIFEST.tsv
    #[arg(long, default_value = "../shared/matrices")]
    folder: PathBuf,
    /// Preconditioners of conjugate gradients
    #[arg(long, num_args = 1.., default_values = PRECONDITIONERS)]
    preconditioners: Vec<String>,
    /// Show seconds, set-up and iterations, besides iterations
    #[arg(long)]
    times: bool,
    /// Seconds a solve may take
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// Iterations a solve may take
    #[arg(long, default_value_t = 20_000)]
    max_iterations: usize,
}

/// A line of the manifest: the name, and what is known of the eigenvalues.
struct ManifestEntry {
    name: String,
    definite: String,
}

impl MatricesArgs {
    fn manifest(&self) -> Result<Vec<ManifestEntry>> {
        let text = std::fs::read_to_string(self.folder.join("MANIFEST.tsv"))?;
        let entry = |line: &str| {
            let mut fields = line.split('\t');
            Some(ManifestEntry {
                name: fields.next()?.to_owned(),
                definite: fields.nth(4)?.to_owned(),
            })
        };
        Ok(text.lines().skip(1).filter_map(entry).collect())
    }

    fn load(&self, entry: &ManifestEntry) -> Result<AnyMatrix> {
        let file = self.folder.join(format!("{}.mtx.xz", entry.name));
        Ok(load_matrix(&file, &Executor::cpu())?)
    }
}

pub(crate) fn run(arguments: &MatricesArgs) -> Result<()> {
    if arguments.auto {
        return auto(arguments);
    }
    let (methods, words) = methods(arguments)?;
    let names: Vec<&str> = methods.iter().map(|(name, _)| name.as_str()).collect();
    let mut table = Table::new(&format!("matrix | rows | {}", names.join(" | ")));
    let mut counts: Vec<Vec<Option<f64>>> = Vec::new();
    for entry in arguments.manifest()? {
        let definite = &entry.definite;
        let is_wanted = match arguments.general {
            true => !definite.contains("SPD") && !definite.contains("singular"),
            false => definite.starts_with("SPD"),
        };
        if !is_wanted {
            continue;
        }
        let (rows, cells) = match arguments.load(&entry)? {
            AnyMatrix::Real(a) => (a.size(), cells(arguments, &methods, a)?),
            AnyMatrix::Complex(a) => (a.size(), cells(arguments, &methods, a)?),
        };
        if rows.rows != rows.cols {
            continue;
        }
        let line = format!("{} | {} | {}", entry.name, rows.rows, cells.join(" | "));
        eprintln!("{line}");
        counts.push(cells.iter().map(|cell| iterations(cell)).collect());
        table.row(line);
    }
    // The method that others are compared with.
    let first = names
        .iter()
        .position(|name| ["jacobi", "mc64 ilu0"].contains(name));
    if let Some(first) = first {
        let ratios = |method: usize| {
            let of = counts
                .iter()
                .filter_map(|row| Some(row[method]? / row[first]?));
            format!("{:.2}", mean(&of.collect::<Vec<f64>>()))
        };
        let means: Vec<String> = (0..names.len()).map(ratios).collect();
        table.row(format!(
            "geometric mean to {} | | {}",
            names[first],
            means.join(" | ")
        ));
    }
    say!("{table}\n{words}");
    Ok(())
}

/// The methods that a matrix is solved with, by name, and what the table shows.
fn methods(arguments: &MatricesArgs) -> Result<(Vec<(String, Config)>, &'static str)> {
    if arguments.general {
        let method = |name: &str| {
            let (before, preconditioner) = name.rsplit_once(' ').unwrap_or(("", name));
            let mut config: Config =
                format!("solver=gmres preconditioner={preconditioner}").parse()?;
            for word in before.split('+').filter(|word| !word.is_empty()) {
                match word {
                    "mc64" => config.matching = Some(word.parse()?),
                    _ => config.reorder = Some(word.parse()?),
                }
            }
            Ok((name.to_owned(), config))
        };
        let all = GENERAL.into_iter().map(method).collect::<Result<_>>()?;
        return Ok((
            all,
            "Iterations of gmres:50 to a true relative residual of 1e-8 for b = ones; with --times `iterations in seconds`. \
             Last line: iterations over those of the second column, where both converged.",
        ));
    }
    let method = |name: &str, solver: &str| -> Result<(String, Config)> {
        let config = format!("solver={solver} preconditioner={name}").parse()?;
        let short = name.split(':').next().unwrap_or(name);
        Ok((short.to_owned(), config))
    };
    let mut all = vec![("direct".to_owned(), method("none", "direct")?.1)];
    for name in &arguments.preconditioners {
        all.push(method(name, "cg")?);
    }
    Ok((
        all,
        "Iterations to a true relative residual of 1e-8 for b = ones; direct: with the steps of \
         refinement; with --times `iterations in seconds`. Last line: iterations over those of \
         jacobi, where both converged.",
    ))
}

/// What a cell begins with, if the method converged.
fn iterations(cell: &str) -> Option<f64> {
    cell.split(" in ").next()?.parse().ok()
}

/// What each method says of a matrix.
fn cells<T: Wide>(
    arguments: &MatricesArgs,
    methods: &[(String, Config)],
    a: Csr<T>,
) -> Result<Vec<String>> {
    if a.size().rows != a.size().cols {
        return Ok(Vec::new());
    }
    let a = Arc::new(a);
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let cell = |(_, config): &(String, Config)| {
        let mut config = config.clone();
        config.stop.time_limit = Some(arguments.time_limit);
        config.stop.max_iterations = arguments.max_iterations;
        let solution = match solve(&config, &a, &b, &Workspace::new()) {
            Ok(solution) => solution,
            Err(error) => return error.to_string(),
        };
        let outcome = &solution.outcome;
        match (outcome.status, arguments.times) {
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
fn auto(arguments: &MatricesArgs) -> Result<()> {
    let mut table = Table::new(
        "matrix | rows | kind | chosen | outcome | iterations | residual | seconds | before | best single | seconds",
    );
    // Seconds of all matrices: by itself, and by the best single choices.
    let mut total = [0.0; 2];
    for entry in arguments.manifest()? {
        let (rows, cells) = match arguments.load(&entry)? {
            AnyMatrix::Real(a) => (a.size().rows, chosen(arguments, &entry, a, &mut total)?),
            AnyMatrix::Complex(a) => (a.size().rows, chosen(arguments, &entry, a, &mut total)?),
        };
        let kind = entry.definite.split([';', ',', '(']).next().unwrap_or("");
        let line = format!("{} | {rows} | {} | {cells}", entry.name, kind.trim());
        eprintln!("{line}");
        table.row(line);
    }
    let single = SINGLE.map(|(solver, preconditioner)| format!("{solver}+{preconditioner}"));
    say!(
        "{table}\n`vcycle solve MATRIX` without any option; b = ones, for singular matrices a product of \
         the matrix. Before: attempts that were given up. Best single: the quickest of {} and of what was chosen, by itself.\n\
         all: {:.2} s, the best single choices {:.2} s, ratio {:.2}",
        single.join(", "),
        total[0],
        total[1],
        total[0] / total[1]
    );
    Ok(())
}

fn chosen<T: Wide + Mixes<T, T>>(
    arguments: &MatricesArgs,
    entry: &ManifestEntry,
    a: Csr<T>,
    total: &mut [f64; 2],
) -> Result<String> {
    if a.size().rows != a.size().cols {
        return Ok("not square".to_owned());
    }
    let a = Arc::new(a);
    let b = right_hand_side(&a, entry)?;
    let mut config = Config::default();
    config.stop.time_limit = Some(arguments.time_limit);
    let solution = match solve(&config, &a, &b, &Workspace::new()) {
        Ok(solution) => solution,
        Err(error) => return Ok(error.to_string()),
    };
    let (single, least) = best_single(&a, &b, &solution);
    total[0] += seconds(&solution);
    total[1] += least;
    let (outcome, config) = (&solution.outcome, &solution.config);
    let messages = solution.messages.iter();
    let given_up = messages
        .filter(|message| message.starts_with("auto:"))
        .count();
    Ok(format!(
        "{}+{} | {} | {} | {:.0e} | {:.3} | {} | {single} | {least:.3}",
        config.solver.name(),
        config.preconditioner.name(),
        outcome.status,
        outcome.iterations,
        outcome.relative_residual,
        seconds(&solution),
        given_up.saturating_sub(1)
    ))
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
