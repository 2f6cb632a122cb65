//! Isotton: Chronos.

use std::time::Instant;

use vcycle::config::Config;
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::multigrid::Amg;

use super::super::experiment::{Experiment, Paper, Scope};
use super::super::record::Value;
use super::solving::Ready;
use crate::common::Result;

const PAPER: Paper = Paper {
    key: "chronos",
    authors: "Isotton 2024",
    title: "Chronos, an algebraic multigrid solver (dissertation)",
    published: include_str!("../../../published/chronos.tsv"),
};

pub(super) static EXPERIMENTS: [Experiment; 2] = [
    Experiment {
        paper: &PAPER,
        item: "table-4.4",
        title: "classical, hybrid and extended+i interpolation",
        problem: "For `poi65m` (3-D flow, 7 entries a row) `poisson7`, for `rtanis44m` (anisotropic porous flow) `aniso7` with a ratio of 100: of \
                  the same kind, and smaller. PMIS, threshold 0.25, adaptive FSAI as the smoother, conjugate gradients to 1e-8.",
        why: "Iterations grow with the size of the problem, operator complexities a little. The order of the three, which is what the table \
              shows, is to be compared. Extended+i keeps four entries a row here, vcycle's default: its operators are smaller than the paper's, and \
              iterations more.",
        chart: ("iterations", false),
        less_is_better: true,
        run: interpolations,
    },
    Experiment {
        paper: &PAPER,
        item: "tables-3.1-3.2",
        title: "R (A P) beside (R A) P",
        problem: "The first level of a problem of elasticity with rigid-body modes, as theirs, and smaller.",
        why: "On a GPU the order matters, since long rows of R A spill out of fast memory. On processors both orders have the same work: \
              the paper says so, too.",
        chart: ("time", true),
        less_is_better: true,
        run: orders,
    },
];

fn interpolations(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let problems = [
        ("poi65m", scope.size("poisson7:32", "poisson7:100")),
        ("rtanis44m", scope.size("aniso7:32,0.01", "aniso7:100,0.01")),
    ];
    let mut values = Vec::new();
    for (name, problem) in problems {
        let ready = Ready::new(problem, &executor)?;
        for interpolation in ["classical", "hybrid", "extended+i"] {
            let text = format!(
                "solver=cg preconditioner=amg coarsening=pmis interpolation={interpolation} smoother=fsai rtol=1e-8"
            );
            let config: Config = text.parse()?;
            let solution = ready.solve(&config)?;
            let row = format!("{name}, {interpolation}");
            if let Some(report) = &solution.multigrid {
                values.push(Value::new(
                    &row,
                    "grid complexity",
                    "",
                    report.grid_complexity(),
                ));
                values.push(Value::new(
                    &row,
                    "operator complexity",
                    "",
                    report.operator_complexity(),
                ));
            }
            values.push(Value::new(
                &row,
                "iterations",
                "",
                solution.outcome.iterations as f64,
            ));
            values.push(Value::new(
                &row,
                "set-up",
                "s",
                solution.setup.as_secs_f64(),
            ));
            values.push(Value::new(
                &row,
                "solve",
                "s",
                solution.solving.as_secs_f64(),
            ));
        }
    }
    Ok(values)
}

fn orders(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.on_processors()?;
    let problem = scope.size("elasticity:16", "elasticity:40");
    let problem = vcycle::gallery::build(problem, &executor)?;
    let near = problem
        .near_nullspace
        .clone()
        .ok_or("elasticity has rigid-body modes")?;
    let a: std::sync::Arc<dyn LinOp<f64>> = std::sync::Arc::new(problem.matrix.clone());
    let mut amg = Amg::default();
    amg.coarsening = "mis2".parse()?;
    let ws = Workspace::new();
    let (setup, _) = amg.setup_with(&a, &near, &ws)?;
    let levels = setup.matrices(&a, &ws)?;
    let (a, way) = (
        &levels[0].a,
        (&levels[0].restriction, &levels[0].prolongation),
    );
    let (Some(r), Some(p)) = way else {
        return Err("there is no second level".into());
    };
    let timed = |work: &dyn Fn() -> vcycle::Result<vcycle::matrix::Csr<f64>>| -> Result<f64> {
        let mut best = f64::INFINITY;
        for _ in 0..scope.size(2, 4) {
            let begin = Instant::now();
            work()?;
            best = best.min(begin.elapsed().as_secs_f64());
        }
        Ok(best)
    };
    let (ap, ra) = (a.multiply(p)?, r.multiply(a)?);
    let times = [
        ("AP", timed(&|| a.multiply(p))?),
        ("R(AP)", timed(&|| r.multiply(&ap))?),
        ("RA", timed(&|| r.multiply(a))?),
        ("(RA)P", timed(&|| ra.multiply(p))?),
    ];
    let mut values: Vec<Value> = times
        .iter()
        .map(|(row, time)| Value::new(*row, "time", "s", *time))
        .collect();
    let ratio = (times[2].1 + times[3].1) / (times[0].1 + times[1].1);
    values.push(Value::new(
        "(RA)P beside R(AP)",
        "both products",
        "x",
        ratio,
    ));
    Ok(values)
}
