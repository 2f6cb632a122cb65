//! `vcycle-bench matrices`: every positive definite matrix of a folder, with every method that
//! should solve it; or every matrix, with what `auto` chooses; or those that are not, with matching and threshold
//! factorisations.

mod args;
mod auto;
mod general;
mod manifest;

use std::sync::Arc;
use std::time::Instant;

use vcycle::config::{Config, Wide, solve};
use vcycle::executor::{Executor, Workspace};
use vcycle::io::{AnyMatrix, load_matrix};
use vcycle::matrix::Csr;
use vcycle::stop::Status;
use vcycle::vector::Vector;

pub(crate) use self::args::MatricesArgs;
use self::manifest::positive_definite;
use crate::common::{Result, table};

pub(crate) fn run(arguments: &MatricesArgs) -> Result<()> {
    if arguments.auto {
        return auto::run(arguments);
    }
    if arguments.general {
        return general::run(arguments);
    }
    let mut header = vec!["matrix", "rows", "direct"];
    let names = arguments.preconditioners.iter();
    header.extend(names.map(|name| name.split(':').next().unwrap_or(name)));
    let mut table = table(&header);
    let mut counts = Vec::new();
    for name in positive_definite(&arguments.folder)? {
        let file = arguments.folder.join(format!("{name}.mtx.xz"));
        let (rows, cells) = match load_matrix(&file, &Executor::cpu())? {
            AnyMatrix::Real(a) => (a.size().rows, row(arguments, a)?),
            AnyMatrix::Complex(a) => (a.size().rows, row(arguments, a)?),
        };
        eprintln!("{name}: {}", cells.join(", "));
        counts.push(cells.iter().map(|cell| iterations(cell)).collect());
        table.add_row([name, rows.to_string()].into_iter().chain(cells));
    }
    let last = [String::from("geometric mean to jacobi"), String::new()];
    table.add_row(last.into_iter().chain(means(arguments, &counts)));
    say!("{table}");
    say!(
        "Iterations to a true relative residual of 1e-8 for b = ones; direct: with the steps of \
         refinement; with --times `iterations in seconds`. Last line: iterations over those of \
         jacobi, where both converged."
    );
    Ok(())
}

/// What a cell begins with, if the method converged.
fn iterations(cell: &str) -> Option<f64> {
    let count = cell.split(" in ").next()?;
    count.parse().ok()
}

/// For every method the geometric mean of its iterations over those of Jacobi, where both are
/// known.
fn means(arguments: &MatricesArgs, counts: &[Vec<Option<f64>>]) -> Vec<String> {
    let mut names = arguments.preconditioners.iter();
    let Some(jacobi) = names.position(|name| name == "jacobi") else {
        return Vec::new();
    };
    let jacobi = 1 + jacobi;
    let mean = |method: usize| {
        let ratios = counts
            .iter()
            .filter_map(|row| Some(row[method]? / row[jacobi]?));
        let logarithms: Vec<f64> = ratios.map(f64::ln).collect();
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        format!("{:.2}", mean.exp())
    };
    (0..=arguments.preconditioners.len()).map(mean).collect()
}

/// What each method says of a matrix.
fn row<T: Wide>(arguments: &MatricesArgs, a: Csr<T>) -> Result<Vec<String>> {
    let a = Arc::new(a);
    let names = arguments.preconditioners.iter();
    let methods = names.map(|preconditioner| ("cg", preconditioner.as_str()));
    [("direct", "none")]
        .into_iter()
        .chain(methods)
        .map(|(solver, preconditioner)| cell(arguments, &a, solver, preconditioner))
        .collect()
}

fn cell<T: Wide>(
    arguments: &MatricesArgs,
    a: &Arc<Csr<T>>,
    solver: &str,
    preconditioner: &str,
) -> Result<String> {
    let mut config = Config::default();
    config.solver = solver.parse()?;
    config.preconditioner = preconditioner.parse()?;
    config.stop.time_limit = Some(arguments.time_limit);
    config.stop.max_iterations = arguments.max_iterations;
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let start = Instant::now();
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
        Err(error) => format!("{error} after {:.0?}", start.elapsed()),
    })
}
