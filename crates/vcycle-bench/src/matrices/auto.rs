//! What `auto` makes of every matrix, beside the best of single choices.

use std::sync::Arc;

use vcycle::config::{Config, Solution, Wide, solve};
use vcycle::executor::{Executor, Workspace};
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, c64};
use vcycle::stop::Status;
use vcycle::vector::Vector;

use super::args::MatricesArgs;
use super::manifest::{ManifestEntry, manifest};
use crate::common::{Result, table};

pub(super) fn run(arguments: &MatricesArgs) -> Result<()> {
    let mut table = table(&[
        "matrix",
        "rows",
        "kind",
        "chosen",
        "outcome",
        "iterations",
        "residual",
        "seconds",
        "before",
        "best single",
        "seconds",
    ]);
    let mut total = Total::default();
    for entry in manifest(&arguments.folder)? {
        let file = arguments.folder.join(format!("{}.mtx.xz", entry.name));
        let (rows, cells) = match load_matrix(&file, &Executor::cpu())? {
            AnyMatrix::Real(a) => (a.size().rows, row(arguments, &entry, a, &mut total)?),
            AnyMatrix::Complex(a) => (a.size().rows, row(arguments, &entry, a, &mut total)?),
        };
        eprintln!("{}: {}", entry.name, cells.join(", "));
        table.add_row([entry.name, rows.to_string()].into_iter().chain(cells));
    }
    say!("{table}");
    say!(
        "`vcycle solve MATRIX` without any option; b = ones, for singular matrices a product of \
         the matrix. Before: attempts that were given up. Best single: the quickest of {} and of what was chosen, by itself.",
        SINGLE
            .map(|(solver, preconditioner)| format!("{solver}+{preconditioner}"))
            .join(", ")
    );
    say!(
        "all: {:.2} s, the best single choices {:.2} s, ratio {:.2}",
        total.auto,
        total.single,
        total.auto / total.single
    );
    Ok(())
}

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

/// Seconds of all matrices.
#[derive(Default)]
struct Total {
    auto: f64,
    single: f64,
}

/// The quickest single choice that solves, and its seconds; what takes longer than `auto` is not waited for.
fn best_single<T: Wide>(a: &Arc<Csr<T>>, b: &Vector<T>, auto: &Solution<T>) -> (String, f64) {
    let seconds = |solution: &Solution<T>| (solution.setup + solution.solving).as_secs_f64();
    let chosen = (auto.config.solver.name(), auto.config.preconditioner.name());
    let mut best = ("none".to_owned(), seconds(auto));
    for (solver, preconditioner) in SINGLE.into_iter().chain([chosen]) {
        let text = format!("solver = \"{solver}\"\npreconditioner = \"{preconditioner}\"");
        let Ok(mut config) = Config::from_toml(&text) else {
            continue;
        };
        config.stop.time_limit = Some(best.1);
        let Ok(solution) = solve(&config, a, b, &Workspace::new()) else {
            continue;
        };
        let solves = matches!(
            solution.outcome.status,
            Status::Converged | Status::AccuracyLimit
        );
        if solves && seconds(&solution) < best.1 {
            best = (format!("{solver}+{preconditioner}"), seconds(&solution));
        }
    }
    best
}

fn row<T: Wide + Mixes<T, T>>(
    arguments: &MatricesArgs,
    entry: &ManifestEntry,
    a: Csr<T>,
    total: &mut Total,
) -> Result<Vec<String>> {
    let kind = entry.definite.split([';', ',', '(']).next().unwrap_or("");
    let kind = kind.trim().to_owned();
    if a.size().rows != a.size().cols {
        return Ok(vec![kind, "not square".to_owned()]);
    }
    let a = Arc::new(a);
    let b = right_hand_side(&a, entry)?;
    let mut config = Config::default();
    config.stop.time_limit = Some(arguments.time_limit);
    Ok(match solve(&config, &a, &b, &Workspace::new()) {
        Ok(solution) => {
            let (name, seconds) = best_single(&a, &b, &solution);
            total.auto += (solution.setup + solution.solving).as_secs_f64();
            total.single += seconds;
            let single = [name, format!("{seconds:.3}")];
            let cells = [kind].into_iter().chain(told(&solution));
            cells.chain(single).collect()
        }
        Err(error) => vec![kind, error.to_string()],
    })
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

fn told<T>(solution: &Solution<T>) -> [String; 6] {
    let outcome = &solution.outcome;
    let chosen = [
        solution.config.solver.name(),
        solution.config.preconditioner.name(),
    ];
    let given_up = solution
        .messages
        .iter()
        .filter(|m| m.starts_with("auto:"))
        .count();
    [
        chosen.join("+"),
        outcome.status.to_string(),
        outcome.iterations.to_string(),
        format!("{:.0e}", outcome.relative_residual),
        format!("{:.3}", (solution.setup + solution.solving).as_secs_f64()),
        given_up.saturating_sub(1).to_string(),
    ]
}
