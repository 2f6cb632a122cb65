//! Zong et al.: half precision in structured multigrid.

use std::sync::Arc;

use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::structured::StructMg;

use super::super::experiment::{Experiment, Paper, Scope};
use super::super::record::Value;
use super::solving::mean;
use crate::common::Result;
use crate::structured::gains;

const PAPER: Paper = Paper {
    key: "zong",
    authors: "Zong, Yu, Huang, Xue 2024",
    title: "half precision in structured multigrid preconditioners (ICPP)",
    published: include_str!("../../../published/zong.tsv"),
};

/// The problems, with cells in a direction: small ones and large ones.
const PROBLEMS: [(&str, usize, usize); 8] = [
    ("laplace27", 40, 128),
    ("laplace27e8", 40, 128),
    ("rhd", 40, 128),
    ("oil", 32, 96),
    ("weather", 32, 96),
    ("rhd-3T", 24, 64),
    ("oil-4C", 20, 56),
    ("solid-3D", 20, 56),
];

pub(super) static EXPERIMENTS: [Experiment; 2] = [
    Experiment {
        paper: &PAPER,
        item: "table-3",
        title: "grid and operator complexities",
        problem: "Laplace's are the same problems; the six of applications are made by formulas with the stencil and the range of \
                  numbers of theirs.",
        why: "Galerkin products of a stencil with 7 points have 27 points here, and 7 in the paper, which keeps the pattern: operators are larger and \
              iterations fewer. Grid complexities are larger where couplings are anisotropic (oil, weather, rhd-3T): grids are then \
              coarsened in some directions only.",
        chart: ("operator complexity", false),
        less_is_better: true,
        run: complexities,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-8",
        title: "half precision beside double, structured multigrid",
        problem: "As in table 3, on smaller grids.",
        why: "The gain is bounded by the share of the matrix in all bytes that a cycle reads, and by how much of a processor's bandwidth its \
              cores can draw: the paper has 64 cores, which do. End to end counts what storing takes in the set-up.",
        chart: ("end to end", false),
        less_is_better: false,
        run: halves,
    },
];

fn complexities(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.on_processors()?;
    let mut values = Vec::new();
    for (name, small, large) in PROBLEMS {
        // Complexities hardly depend on the size.
        let cells = scope.size(small, large / 2);
        let a = vcycle::gallery::build_stencil(&format!("{name}:{cells}"), &executor)?;
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let report = StructMg::default()
            .generate_with_report(&a, &Workspace::new())?
            .report;
        values.push(Value::new(
            name,
            "grid complexity",
            "",
            report.grid_complexity(),
        ));
        values.push(Value::new(
            name,
            "operator complexity",
            "",
            report.operator_complexity(),
        ));
    }
    Ok(values)
}

fn halves(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut all) = (Vec::new(), [Vec::new(), Vec::new()]);
    for (name, small, large) in PROBLEMS {
        let cells = scope.size(small, large);
        let [_, preconditioner, end_to_end] =
            gains(&format!("{name}:{cells}"), &executor, scope.size(1, 3))?;
        for ((quantity, gain), all) in [
            ("preconditioner", preconditioner),
            ("end to end", end_to_end),
        ]
        .into_iter()
        .zip(&mut all)
        {
            values.push(Value::new(name, quantity, "x", gain));
            all.push(gain);
        }
    }
    values.push(Value::new(
        "geometric mean",
        "preconditioner",
        "x",
        mean(&all[0]),
    ));
    values.push(Value::new(
        "geometric mean",
        "end to end",
        "x",
        mean(&all[1]),
    ));
    Ok(values)
}
