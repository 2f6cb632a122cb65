//! Matrices that are not positive definite, with GMRES and each preconditioner after each preprocessing.

use std::sync::Arc;

use vcycle::config::{Config, Wide, solve};
use vcycle::executor::{Executor, Workspace};
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::matrix::Csr;
use vcycle::stop::Status;
use vcycle::vector::Vector;

use super::args::MatricesArgs;
use super::iterations;
use super::manifest::manifest;
use crate::common::{Result, table};

/// Preconditioners, and before them what is done to the matrix.
const METHODS: [&str; 8] = [
    "ilu0",
    "mc64 ilu0",
    "mc64+rcm ilu0",
    "mc64+amd iluk:1",
    "mc64+rcm ilut:2",
    "mc64+amd parilut:2",
    "mc64+amd parilut:5",
    "mc64+amd ilut:5,1e-4",
];

pub(super) fn run(arguments: &MatricesArgs) -> Result<()> {
    let header = ["matrix", "rows"].into_iter().chain(METHODS);
    let mut table = table(&header.collect::<Vec<_>>());
    let mut counts: Vec<Vec<Option<f64>>> = Vec::new();
    for entry in manifest(&arguments.folder)? {
        let file = arguments.folder.join(format!("{}.mtx.xz", entry.name));
        if entry.definite.contains("SPD") || entry.definite.contains("singular") {
            continue;
        }
        let (rows, cells) = match load_matrix(&file, &Executor::cpu())? {
            AnyMatrix::Real(a) => (a.size(), row(arguments, a)?),
            AnyMatrix::Complex(a) => (a.size(), row(arguments, a)?),
        };
        if rows.rows != rows.cols {
            continue;
        }
        eprintln!("{}: {}", entry.name, cells.join(", "));
        counts.push(cells.iter().map(|cell| iterations(cell)).collect());
        let name = [entry.name, rows.rows.to_string()];
        table.add_row(name.into_iter().chain(cells));
    }
    let last = ["geometric mean to mc64 ilu0".to_owned(), String::new()];
    table.add_row(
        last.into_iter()
            .chain((0..METHODS.len()).map(|m| mean(&counts, m))),
    );
    say!("{table}");
    say!(
        "Iterations of gmres:50 to a true relative residual of 1e-8 for b = ones; with --times `iterations in seconds`. \
         Last line: iterations over those of the second column, where both converged."
    );
    Ok(())
}

fn mean(counts: &[Vec<Option<f64>>], method: usize) -> String {
    let ratio = |row: &Vec<Option<f64>>| Some((row[method]? / row[1]?).ln());
    let logarithms: Vec<f64> = counts.iter().filter_map(ratio).collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    format!("{:.2} ({})", mean.exp(), logarithms.len())
}

fn row<T: Wide>(arguments: &MatricesArgs, a: Csr<T>) -> Result<Vec<String>> {
    if a.size().rows != a.size().cols {
        return Ok(Vec::new());
    }
    let a = Arc::new(a);
    METHODS
        .iter()
        .map(|method| cell(arguments, &a, method))
        .collect()
}

fn cell<T: Wide>(arguments: &MatricesArgs, a: &Arc<Csr<T>>, method: &str) -> Result<String> {
    let (before, preconditioner) = method.rsplit_once(' ').unwrap_or(("", method));
    let mut config = Config::default();
    config.solver = "gmres".parse()?;
    config.preconditioner = preconditioner.parse()?;
    for word in before.split('+').filter(|word| !word.is_empty()) {
        match word {
            "mc64" => config.matching = Some(word.parse()?),
            _ => config.reorder = Some(word.parse()?),
        }
    }
    config.stop.time_limit = Some(arguments.time_limit);
    config.stop.max_iterations = arguments.max_iterations;
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    Ok(match solve(&config, a, &b, &Workspace::new()) {
        Ok(solution) if solution.outcome.status == Status::Converged => {
            let count = solution.outcome.iterations;
            let seconds = (solution.setup + solution.solving).as_secs_f64();
            match arguments.times {
                true => format!("{count} in {seconds:.3}"),
                false => count.to_string(),
            }
        }
        Ok(solution) => format!(
            "{} ({:.0e})",
            solution.outcome.status, solution.outcome.relative_residual
        ),
        Err(_) => "refused".to_owned(),
    })
}
