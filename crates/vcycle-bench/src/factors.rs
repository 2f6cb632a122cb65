//! `vcycle-bench factors`: incomplete factorisations by sweeps on a device beside those of the host, and complete ones.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use vcycle::config::PreconditionerConfig;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::{Factory, LinOp};
use vcycle::log::{Log, Profile};
use vcycle::solver::Direct;
use vcycle::vector::{Coefficient, Vector};

use crate::asked::Asked;
use crate::common::Result;
use crate::problem::matrix;
use crate::table::{Report, row};
use crate::timing::shortest;

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let mut places = vec![("cpu", Executor::cpu())];
    if let Some(device) = asked.maybe("device") {
        places.push((device, Executor::gpu(device)?));
    }
    let report = &mut Report::new(asked.path("output"));
    match asked.has("direct") {
        true => complete(&places, asked, report),
        false => incomplete(&places, asked, report),
    }
}

fn incomplete(places: &[(&str, Executor)], asked: &Asked, report: &mut Report) -> Result<()> {
    let mut table = asked.table("incomplete");
    for problem in asked.list("PROBLEM") {
        for method in asked.list("methods") {
            let config: PreconditionerConfig = method.parse()?;
            let factory = config.factory()?.ok_or("there are no factors of nothing")?;
            let mut host: Option<Made> = None;
            for (place, executor) in places {
                let a: Arc<dyn LinOp<f64>> = Arc::new(matrix(executor, problem)?);
                let here = Made::new(factory.as_ref(), &a, asked.count("rounds"))?;
                let host = host.get_or_insert_with(|| here.clone());
                table.row(row![
                    problem,
                    here.applied.len(),
                    method,
                    *place,
                    here.factors,
                    host.factors / here.factors,
                    here.whole,
                    host.whole / here.whole,
                    apart(&host.applied, &here.applied),
                ]);
            }
        }
    }
    report.add(format!("{table}\n{}", asked.note("incomplete", &[])))
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

fn complete(places: &[(&str, Executor)], asked: &Asked, report: &mut Report) -> Result<()> {
    let mut table = asked.table("complete");
    for problem in asked.list("PROBLEM") {
        let mut host = None;
        for (place, executor) in places {
            let a = matrix(executor, problem)?;
            let rows = a.size().rows;
            let ([setup, again, solve], residual, how) =
                factorised(executor, a, asked.count("rounds"))?;
            let [host_again, host_solve] = *host.get_or_insert([again, solve]);
            let times = [host_again / again, host_solve / solve];
            table.row(row![
                problem, rows, *place, setup, again, times[0], solve, times[1], residual, how
            ]);
        }
    }
    report.add(format!("{table}\n{}", asked.note("complete", &[])))
}

/// Milliseconds of the best set-up, of other values and of a solve; the residual and what solves.
fn factorised(
    executor: &Executor,
    a: vcycle::matrix::Csr<f64>,
    rounds: usize,
) -> Result<([f64; 3], f64, String)> {
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
    let milliseconds = [first, again, solve].map(|seconds| seconds * 1e3);
    Ok((milliseconds, residual, format!("{inverse:?}")))
}
