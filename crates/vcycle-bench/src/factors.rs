//! `vcycle-bench factors`: incomplete factorisations by sweeps on a device beside those of the host, and complete ones.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use vcycle::config::PreconditionerConfig;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::{Factory, LinOp};
use vcycle::log::{Log, Profile};
use vcycle::solver::Direct;
use vcycle::vector::{Coefficient, Vector};

use crate::common::{Result, Table, write};
use crate::problem::matrix;
use crate::timing::shortest;

/// Options of `factors`.
#[derive(Clone, Debug, clap::Args)]
pub struct FactorsArgs {
    /// Problems of the gallery, or files
    #[arg(default_values_t = ["poisson7:100".to_owned(), "convdiff7:100,10".to_owned()])]
    problems: Vec<String>,
    /// The device beside the host, such as cuda:0; the host alone without
    #[arg(long)]
    device: Option<String>,
    /// Methods: parilu, paric, parilut, parict
    #[arg(long, value_delimiter = ',', default_values_t = ["parilu".to_owned(), "parilut".to_owned()])]
    methods: Vec<String>,
    /// Complete factorisations instead, by the direct solver: factors, factors of other values, solves
    #[arg(long, conflicts_with = "methods")]
    direct: bool,
    /// Turns; the best of each is reported
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Write the report to this file, too
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &FactorsArgs) -> Result<()> {
    let mut places = vec![("cpu", Executor::cpu())];
    if let Some(device) = &arguments.device {
        places.push((device, Executor::gpu(device)?));
    }
    let report = match arguments.direct {
        true => complete(&places, arguments)?,
        false => incomplete(&places, arguments)?,
    };
    say!("{report}");
    match &arguments.output {
        Some(path) => write(path, &format!("{report}\n")),
        None => Ok(()),
    }
}

fn incomplete(places: &[(&str, Executor)], arguments: &FactorsArgs) -> Result<String> {
    let mut table = Table::new(
        "problem | rows | method | where | factors ms | times the host | whole set-up ms | times the host | apart",
    );
    for problem in &arguments.problems {
        for method in &arguments.methods {
            let config: PreconditionerConfig = method.parse()?;
            let factory = config.factory()?.ok_or("there are no factors of nothing")?;
            let mut host: Option<Made> = None;
            for (place, executor) in places {
                let a: Arc<dyn LinOp<f64>> = Arc::new(matrix(executor, problem)?);
                let here = Made::new(factory.as_ref(), &a, arguments.rounds)?;
                let host = host.get_or_insert_with(|| here.clone());
                table.row(format!(
                    "{problem} | {} | {method} | {place} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1e}",
                    here.applied.len(),
                    here.factors,
                    host.factors / here.factors,
                    here.whole,
                    host.whole / here.whole,
                    apart(&host.applied, &here.applied),
                ));
            }
        }
    }
    Ok(format!(
        "{table}\nWall clock, best of {} after one that is not timed. Factors: pattern and values of both triangles, back on the host. The whole set-up prepares \
         triangular solves, too. Apart: what the preconditioner makes of ones, the largest difference over the \
         largest number.",
        arguments.rounds
    ))
}

/// Milliseconds of the best turn, and what the preconditioner makes of ones.
#[derive(Clone)]
struct Made {
    factors: f64,
    whole: f64,
    applied: Vec<f64>,
}

impl Made {
    fn new(factory: &dyn Factory<f64>, a: &Arc<dyn LinOp<f64>>, rounds: usize) -> Result<Self> {
        // Compiles kernels, brings the matrix to the device, and is not timed.
        drop(factory.generate(a, &Workspace::new())?);
        let mut factors = f64::INFINITY;
        let (whole, m) = shortest(a.executor(), rounds, &mut || {
            let profile = Rc::new(RefCell::new(Profile::default()));
            let ws = Workspace::with_log(Log::new().with(Rc::clone(&profile)));
            let m = factory.generate(a, &ws)?;
            let profile = profile.borrow();
            let stages = profile.rows();
            let stage = stages.iter().find(|(_, stage)| stage.name == "factors");
            factors = factors.min(stage.map_or(f64::NAN, |(_, stage)| stage.seconds * 1e3));
            Ok(m)
        })?;
        let ones = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
        let mut applied = Vector::zeros_like(&ones)?;
        m.apply(&ones, &mut applied, &Workspace::new())?;
        Ok(Self {
            factors,
            whole: whole * 1e3,
            applied: applied.to_vec(),
        })
    }
}

fn apart(x: &[f64], y: &[f64]) -> f64 {
    let largest = x.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let pairs = x.iter().zip(y).map(|(x, y)| (x - y).abs());
    pairs.fold(0.0, f64::max) / largest
}

fn complete(places: &[(&str, Executor)], arguments: &FactorsArgs) -> Result<String> {
    let mut table = Table::new(
        "problem | rows | where | set-up ms | other values ms | times the host | solve ms | times the host | residual | by",
    );
    for problem in &arguments.problems {
        let mut host = None;
        for (place, executor) in places {
            let a = matrix(executor, problem)?;
            let ([setup, again, solve], facts) = factorised(executor, a, arguments.rounds)?;
            let [host_again, host_solve] = *host.get_or_insert([again, solve]);
            let [rows, residual, how] = facts;
            table.row(format!(
                "{problem} | {rows} | {place} | {setup:.2} | {again:.2} | {:.2} | {solve:.3} | {:.2} | {residual} | {how}",
                host_again / again,
                host_solve / solve,
            ));
        }
    }
    Ok(format!(
        "{table}\nWall clock, best of {} after one that is not timed. The set-up orders the unknowns, finds the fill and factorises; other values in the same \
         places are factorised with what was found. Both end with a solve that is checked. Residual of one solve without refinement, over the right-hand side.",
        arguments.rounds
    ))
}

/// Milliseconds of the best set-up, of other values and of a solve; the rows, the residual and what solves.
fn factorised(
    executor: &Executor,
    a: vcycle::matrix::Csr<f64>,
    rounds: usize,
) -> Result<([f64; 3], [String; 3])> {
    let other: Arc<dyn LinOp<f64>> = Arc::new(a.scale(1.5)?);
    let a: Arc<dyn LinOp<f64>> = Arc::new(a);
    let ws = Workspace::new();
    let b = Vector::filled(executor, a.size().rows, 1, 1.0)?;
    let mut x = Vector::zeros_like(&b)?;
    let mut direct = || Ok(Direct::default().setup(&a, &ws)?);
    // The first one compiles kernels.
    direct()?;
    let (first, (mut setup, inverse)) = shortest(executor, rounds, &mut direct)?;
    let mut update = || Ok(setup.update_values(&other, &ws)?);
    update()?;
    let (again, _) = shortest(executor, rounds, &mut update)?;
    let mut solve = || Ok(inverse.apply(&b, &mut x, &ws)?);
    solve()?;
    let (solve, ()) = shortest(executor, rounds, &mut solve)?;
    let mut residual = b.clone();
    a.apply(&x, &mut residual, &ws)?;
    residual.axpy(Coefficient::real(-1.0), &b)?;
    let residual = residual.norms()?[0] / b.norms()?[0];
    let facts = [
        b.rows().to_string(),
        format!("{residual:.0e}"),
        format!("{inverse:?}"),
    ];
    Ok(([first, again, solve].map(|seconds| seconds * 1e3), facts))
}
