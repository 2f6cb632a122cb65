//! Lu et al.: AmgT.

use vcycle::config::Config;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, f16};
use vcycle::vector::Vector;

use super::super::experiment::{Experiment, Paper, Scope};
use super::super::record::Value;
use super::solving::{Ready, mean};
use crate::common::Result;
use crate::timing::Candidate;

const PAPER: Paper = Paper {
    key: "amgt",
    authors: "Lu, Zeng, Wang and others 2024",
    title: "AmgT, algebraic multigrid on tensor cores (SC)",
    published: include_str!("../../../published/amgt.tsv"),
};

/// Classes of the paper's matrices: heat, flow, structures.
fn problems(scope: &Scope) -> [&'static str; 3] {
    scope.size(
        ["poisson5:250", "convdiff7:24,10", "elasticity:12"],
        ["poisson5:725", "convdiff7:60,10", "elasticity:34"],
    )
}

pub(super) static EXPERIMENTS: [Experiment; 2] = [
    Experiment {
        paper: &PAPER,
        item: "figure-7",
        title: "levels in double, single and half precision beside double: set-up and fifty times the time of a cycle",
        problem: "Matrices of three of the paper's classes (heat, flow, structures) in place of its sixteen; PMIS, extended+i, l1-Jacobi, at most \
                  seven levels and 50 cycles, as there.",
        why: "Here mixed precision loses: the finest level, which takes most of the time, stays in double precision, and something between the levels \
              costs more than the bytes they save. What it is was not looked into yet. Levels that are all in single or half precision do gain: see zong/figure-8.",
        chart: ("mixed precision, total", false),
        less_is_better: false,
        run: cycles,
    },
    Experiment {
        paper: &PAPER,
        item: "figure-8",
        title: "products with matrices of half precision beside double",
        problem: "The same three matrices: CSR in double precision and in half precision, vectors in single.",
        why: "The paper's products use tensor cores on blocks of 4 by 4; those of processors gain by reading fewer bytes alone.",
        chart: ("mixed precision, products", false),
        less_is_better: false,
        run: products,
    },
];

fn cycles(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.executor()?;
    let (mut values, mut gains) = (Vec::new(), Vec::new());
    for problem in problems(scope) {
        let ready = Ready::new(problem, &executor)?;
        let mut totals = [0.0; 2];
        for (total, precision) in totals.iter_mut().zip(["dp", "dp-sp-hp"]) {
            let text = format!(
                "solver = \"ir\"\n[preconditioner]\nname = \"amg\"\ncoarsening = \"pmis\"\ninterpolation = \"extended+i\"\n\
                 smoother = \"l1-jacobi\"\nmax-levels = 7\nprecision = \"{precision}\"\n[stop]\nrtol = 0.0\nmax-iterations = 50"
            );
            let config = Config::from_toml(&text)?;
            let solution = ready.solve(&config)?;
            // A solve that can get no further ends before, and sooner in double precision.
            let cycles = solution.outcome.iterations.max(1) as f64;
            *total = solution.setup.as_secs_f64() + 50.0 * solution.solving.as_secs_f64() / cycles;
        }
        let gain = totals[0] / totals[1];
        values.push(Value::new(problem, "mixed precision, total", "x", gain));
        gains.push(gain);
    }
    values.push(Value::new(
        "geometric mean",
        "mixed precision, total",
        "x",
        mean(&gains),
    ));
    Ok(values)
}

fn products(scope: &Scope) -> Result<Vec<Value>> {
    let executor = scope.on_processors()?;
    let (mut values, mut gains) = (Vec::new(), Vec::new());
    for problem in problems(scope) {
        let ready = Ready::new(problem, &executor)?;
        let double = product::<f64, f64>(ready.matrix(), &executor)?;
        let half = product::<f16, f32>(ready.matrix(), &executor)?;
        values.push(Value::new(
            problem,
            "mixed precision, products",
            "x",
            double / half,
        ));
        gains.push(double / half);
    }
    values.push(Value::new(
        "geometric mean",
        "mixed precision, products",
        "x",
        mean(&gains),
    ));
    Ok(values)
}

/// Seconds of a product.
fn product<M: Mixes<V, V>, V: vcycle::scalar::Scalar>(
    a: &Csr<f64>,
    executor: &Executor,
) -> Result<f64> {
    let rows = a.size().rows;
    let ones = Vector::<f64>::filled(executor, rows, 1, 1.0)?;
    let mut x = Vector::<V>::zeros(executor, rows, 1)?;
    x.copy_from(&ones)?;
    let mut y = Vector::<V>::zeros(executor, rows, 1)?;
    let (a, ws) = (a.convert::<M>()?, Workspace::new());
    let mut one = || -> Result<()> { Ok(LinOp::<V, V>::apply(&a, &x, &mut y, &ws)?) };
    one.best_within(0.2)
}
