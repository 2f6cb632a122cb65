//! `vcycle-bench precision`: the iterations of mixed-precision multigrid beside those of the papers.

use std::sync::Arc;

use vcycle::config::{Config, PreconditionerConfig, solve};
use vcycle::executor::{Executor, Workspace};
use vcycle::gallery::{self, Problem};
use vcycle::matrix::Csr;
use vcycle::multigrid::{Amg, LevelScaling};
use vcycle::stop::Outcome;
use vcycle::vector::Vector;

use crate::common::{Result, table};
use crate::published::mixed_precision;

/// Options of `precision`.
#[derive(Clone, Debug, clap::Args)]
pub struct PrecisionArgs {
    /// Problems of the gallery; the papers have iterations for the first two
    #[arg(default_values_t = ["beam:o3,l3".to_owned(), "lshape:o3,l7".to_owned()])]
    problems: Vec<String>,
}

/// A precision, with or without remedies.
pub(crate) struct PrecisionRow {
    pub(crate) precision: &'static str,
    scaling: LevelScaling,
    restriction: f64,
}

/// Plain, as the tables have it: without remedies.
const fn row(precision: &'static str) -> PrecisionRow {
    PrecisionRow {
        precision,
        scaling: LevelScaling::None,
        restriction: 1.0,
    }
}

/// With the remedies this library applies by itself.
const fn cured(precision: &'static str) -> PrecisionRow {
    PrecisionRow {
        scaling: LevelScaling::Auto,
        ..row(precision)
    }
}

pub(crate) const ROWS: [PrecisionRow; 18] = [
    row("dp"),
    row("dp-sp"),
    row("dp-sp-hp"),
    row("dp-hp"),
    row("dp-sp-bf"),
    row("dp-bf"),
    row("dp/sp"),
    row("dp/hp"),
    row("dp/dp-sp-hp"),
    row("dp-sp/sp"),
    row("dp-sp/hp"),
    row("dp-sp/dp-sp-hp"),
    PrecisionRow {
        restriction: 0.5,
        ..row("dp-sp-hp")
    },
    cured("dp-sp-hp"),
    cured("dp-hp"),
    cured("dp/hp"),
    cured("dp-sp/hp"),
    cured("dp-sp/dp-sp-hp"),
];

pub(crate) fn run(arguments: &PrecisionArgs) -> Result<()> {
    for name in &arguments.problems {
        let executor = Executor::cpu();
        let Problem { matrix, rhs, .. } = gallery::build(name, &executor)?;
        let (a, b) = (Arc::new(matrix), Vector::from_column(&executor, rhs));
        let mut table = table(&[
            "options",
            "paper",
            "iterations",
            "status",
            "recurrence",
            "true residual",
        ]);
        for row in &ROWS {
            let cells = cells(row, &a, &b)?;
            eprintln!("{name} {}", cells.join(" "));
            let paper = row.paper(name);
            let [options, numbers @ ..] = cells;
            table.add_row([options, paper].into_iter().chain(numbers));
        }
        say!("{name}, --preset paper-pgm\n{table}\n");
    }
    Ok(())
}

/// The options of a row, and what a solve with them says.
fn cells(row: &PrecisionRow, a: &Arc<Csr<f64>>, b: &Vector<f64>) -> Result<[String; 5]> {
    let mut config = Config::preset("paper-pgm")?;
    if let PreconditionerConfig::Amg(amg) = &mut config.preconditioner {
        row.choose(amg)?;
    }
    let solved = solve(&config, a, b, &Workspace::new());
    let [iterations, status, recurrence, residual] = match solved {
        Ok(solution) => numbers(&solution.outcome),
        Err(error) => [
            "".to_owned(),
            error.to_string(),
            "".to_owned(),
            "".to_owned(),
        ],
    };
    Ok([row.options(), iterations, status, recurrence, residual])
}

fn numbers(outcome: &Outcome) -> [String; 4] {
    [
        outcome.iterations.to_string(),
        outcome.status.to_string(),
        format!("{:.1e}", outcome.recurrence_residual),
        format!("{:.1e}", outcome.relative_residual),
    ]
}

impl PrecisionRow {
    /// The iterations of the tables, for the problems they are of.
    fn paper(&self, problem: &str) -> String {
        let published = mixed_precision(problem, self.precision);
        let published = published.filter(|_| self.is_plain());
        published.map_or(String::new(), |(_, iterations)| iterations)
    }

    /// Whether the coarse matrices are those of the first row.
    pub(crate) fn shares_coarsening(&self) -> bool {
        self.restriction == 1.0
    }

    /// Whether it is as in the papers, without remedies.
    pub(crate) fn is_plain(&self) -> bool {
        self.scaling == LevelScaling::None && self.shares_coarsening()
    }

    pub(crate) fn choose(&self, amg: &mut Amg) -> Result<()> {
        amg.precision = self.precision.parse()?;
        amg.scaling = self.scaling;
        amg.restriction_scaling = self.restriction;
        Ok(())
    }

    /// As the command line has them.
    pub(crate) fn options(&self) -> String {
        let mut options = format!("--precision {}", self.precision);
        if self.scaling != LevelScaling::default() {
            options += &format!(" --scaling {}", self.scaling);
        }
        if self.restriction != 1.0 {
            options += &format!(" --restriction-scaling {}", self.restriction);
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_have_iterations_for_their_own_problems_alone() {
        let problems = ["beam:o3,l3", "lshape:o3,l7", "beam:o3,l1", "poisson5:8"];
        let told = problems.map(|name| ROWS[0].paper(name));
        assert_eq!(told, ["44", "160", "", ""]);
    }
}
