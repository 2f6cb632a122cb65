//! What `auto` makes of every matrix.

use std::sync::Arc;

use vcycle::config::{Config, Solution, Wide, solve};
use vcycle::executor::{Executor, Workspace};
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, c64};
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
    ]);
    for entry in manifest(&arguments.folder)? {
        let file = arguments.folder.join(format!("{}.mtx.xz", entry.name));
        let (rows, cells) = match load_matrix(&file, &Executor::cpu())? {
            AnyMatrix::Real(a) => (a.size().rows, row(arguments, &entry, a)?),
            AnyMatrix::Complex(a) => (a.size().rows, row(arguments, &entry, a)?),
        };
        eprintln!("{}: {}", entry.name, cells.join(", "));
        table.add_row([entry.name, rows.to_string()].into_iter().chain(cells));
    }
    say!("{table}");
    say!(
        "`vcycle solve MATRIX` without any option; b = ones, for singular matrices a product of \
         the matrix. Before: attempts that were given up."
    );
    Ok(())
}

fn row<T: Wide + Mixes<T, T>>(
    arguments: &MatricesArgs,
    entry: &ManifestEntry,
    a: Csr<T>,
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
        Ok(solution) => [kind].into_iter().chain(told(&solution)).collect(),
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
        format!("{:.2}", (solution.setup + solution.solving).as_secs_f64()),
        given_up.saturating_sub(1).to_string(),
    ]
}
