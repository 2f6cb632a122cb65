//! The mixed-precision tables of the papers.

use std::sync::Arc;

use comfy_table::Table;
use vcycle::config::{Config, PreconditionerConfig};
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, Hierarchy, Setup};
use vcycle::solver::{Cg, Solver};
use vcycle::vector::Vector;

use super::bench::GpuBench;
use super::measure::{Solved, iterations, solved};
use super::report::{MarkdownReport, cell};
use crate::common::{Result, table};
use crate::precision::{PrecisionRow, ROWS};
use crate::published::mixed_precision;

const FULL: [&str; 2] = ["beam:o3,l3", "lshape:o3,l7"];
const SMALL: [&str; 2] = ["beam:o2,l1", "lshape:o2,l3"];

pub(super) fn run(bench: &GpuBench, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Mixed precision beside the papers")?;
    for name in if bench.small { SMALL } else { FULL } {
        eprintln!("precisions of {name}");
        match solve_all(bench, name) {
            Ok(rows) => report.add(format!(
                "{name}, --preset paper-pgm\n\n{}",
                tabled(name, &rows)
            ))?,
            Err(error) => report.add(format!("{name} was skipped: {error}."))?,
        }
    }
    report.add(
        "Solve: wall clock, best of 3. Residual: true, relative to the right-hand side. Paper: \
         tables 6.2 and 6.4 of Tsai's dissertation (2024), measured on an H100; its residuals are \
         not relative. The recurrence decides when to stop, as in the papers.",
    )
}

/// A row of the table: done, or why not.
type Tried = (&'static PrecisionRow, std::result::Result<Solved, String>);

/// Every precision on one problem; one coarsening serves all.
pub(super) fn solve_all(bench: &GpuBench, name: &str) -> Result<Vec<Tried>> {
    let config = Config::preset("paper-pgm")?;
    let PreconditionerConfig::Amg(amg) = &config.preconditioner else {
        return Err("the preset is no multigrid".into());
    };
    let system = bench.problems.get(name)?;
    let a: Arc<dyn LinOp<f64>> = Arc::new(system.matrix.copy_to(&bench.executor)?);
    let b = Vector::from_column(&bench.executor, system.rhs.clone());
    let ws = Workspace::new();
    let mut setup = amg.setup(&a, &ws)?.0;
    let mut tried = Vec::new();
    for row in ROWS.iter().filter(|row| row.shares_coarsening()) {
        setup = in_row(setup, row)?;
        let one = || -> Result<Solved> {
            let hierarchy: Hierarchy<f64> = setup.update_values(&a, &ws)?;
            let solver = Solver::<f64>::new(Cg::default(), Arc::clone(&a))?
                .with_preconditioner(Arc::new(hierarchy))?
                .stopping(config.stop.stop()?);
            solved(&bench.device, &solver, &b)
        };
        tried.push((row, one().map_err(|error| error.to_string())));
    }
    Ok(tried)
}

fn in_row(setup: Setup, row: &PrecisionRow) -> Result<Setup> {
    let mut amg = Amg::default();
    row.choose(&mut amg)?;
    Ok(setup.storing(amg.precision, amg.scaling))
}

fn tabled(name: &str, tried: &[Tried]) -> Table {
    let mut table = table(&[
        "options",
        "ms",
        "iterations",
        "residual",
        "x dp",
        "paper ms",
        "paper iterations",
        "of paper",
    ]);
    let double = tried.first().and_then(|(_, first)| first.as_ref().ok());
    for (row, solved) in tried {
        let published = mixed_precision(name, row.precision).filter(|_| row.is_plain());
        let numbers = match solved {
            Ok(solved) => numbers(solved, double),
            Err(error) => [String::new(), error.clone(), String::new(), String::new()],
        };
        let time = solved.as_ref().ok().map(|solved| solved.milliseconds);
        let theirs = published.as_ref().map(|published| published.0);
        let of_paper = time.zip(theirs).map(|(ours, theirs)| ours / theirs);
        let beside = [
            cell(theirs, 2),
            published.map_or(String::new(), |published| published.1),
            cell(of_paper, 2),
        ];
        table.add_row([row.options()].into_iter().chain(numbers).chain(beside));
    }
    table
}

fn numbers(solved: &Solved, double: Option<&Solved>) -> [String; 4] {
    let time = solved.milliseconds;
    [
        format!("{time:.2}"),
        iterations(&solved.outcome),
        format!("{:.1e}", solved.outcome.relative_residual),
        cell(double.map(|double| double.milliseconds / time), 2),
    ]
}
