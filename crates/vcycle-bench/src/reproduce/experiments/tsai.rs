//! Tsai: mixed precision in multigrid by aggregation.

use vcycle::config::{Config, PreconditionerConfig};

use super::super::experiment::{Experiment, Paper, Scope};
use super::super::record::Value;
use super::solving::{Ready, of_solve};
use crate::common::Result;
use crate::precision::ROWS;

const PAPER: Paper = Paper {
    key: "tsai",
    authors: "Tsai 2024",
    title: "portable mixed-precision algebraic multigrid on GPUs (dissertation)",
    published: include_str!("../../../published/tsai.tsv"),
};

pub(super) static EXPERIMENTS: [Experiment; 2] = [
    Experiment {
        paper: &PAPER,
        item: "table-6.2",
        title: "iterations with levels in lower precisions, beam",
        problem: "The same problem, the beam of MFEM with elements of order 3, and the same method: `--preset paper-pgm`, without scaling.",
        why: "Iterations differ where groups do: pairs depend on the order of the rows, which is not that of MFEM. \
              The growth in half precision, and that bfloat16 costs nothing, are the findings to compare.",
        chart: ("iterations", false),
        less_is_better: true,
        run: |scope| precisions(scope, scope.size("beam:o3,l2", "beam:o3,l3")),
    },
    Experiment {
        paper: &PAPER,
        item: "table-6.4",
        title: "iterations with levels in lower precisions, L-shape",
        problem: "The same problem, MFEM's L-shape with elements of order 3, and the same method: `--preset paper-pgm`, without scaling.",
        why: "In half precision values leave its range: the paper's solves end at 800 iterations. vcycle scales levels into it unless \
              told otherwise; this table is made without.",
        chart: ("iterations", false),
        less_is_better: true,
        run: |scope| precisions(scope, scope.size("lshape:o3,l4", "lshape:o3,l7")),
    },
];

fn precisions(scope: &Scope, problem: &str) -> Result<Vec<Value>> {
    let ready = Ready::new(problem, &scope.executor()?)?;
    let mut values = Vec::new();
    for row in ROWS.iter().filter(|row| row.is_of_the_papers()) {
        let mut config = Config::preset("paper-pgm")?;
        if let PreconditionerConfig::Amg(amg) = &mut config.preconditioner {
            row.choose(amg)?;
        }
        match ready.solve(&config) {
            Ok(solution) => values.extend(of_solve(row.precision, &solution)),
            // Numbers that a precision cannot hold are refused.
            Err(error) => values.push(
                Value::new(row.precision, "iterations", "", 0.0)
                    .noting(format!("refused: {error}")),
            ),
        }
    }
    Ok(values)
}
