//! `vcycle-bench factors`: incomplete factorisations by sweeps on a device beside those of the host, and complete ones.

mod direct;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use vcycle::executor::{Executor, Workspace};
use vcycle::linop::{Factory, LinOp};
use vcycle::log::{Log, Profile};
use vcycle::precond::{ParIc, ParIct, ParIlu, ParIlut};
use vcycle::vector::Vector;

use crate::common::{Result, table, write};
use crate::problem::matrix;

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
    /// Turns; the best of each is told
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
        true => direct::report(&places, &arguments.problems, arguments.rounds)?,
        false => report(&places, arguments)?,
    };
    say!("{report}");
    match &arguments.output {
        Some(path) => write(path, &format!("{report}\n")),
        None => Ok(()),
    }
}

fn report(places: &[(&str, Executor)], arguments: &FactorsArgs) -> Result<String> {
    let mut table = table(&[
        "problem",
        "rows",
        "method",
        "where",
        "factors ms",
        "times the host",
        "whole set-up ms",
        "times the host",
        "apart",
    ]);
    for problem in &arguments.problems {
        for method in &arguments.methods {
            let made = compared(places, problem, method, arguments.rounds)?;
            let host = &made[0];
            for ((place, _), here) in places.iter().zip(&made) {
                table.add_row([
                    problem.clone(),
                    here.applied.len().to_string(),
                    method.clone(),
                    (*place).to_owned(),
                    format!("{:.2}", here.factors),
                    format!("{:.2}", host.factors / here.factors),
                    format!("{:.2}", here.whole),
                    format!("{:.2}", host.whole / here.whole),
                    format!("{:.1e}", apart(&host.applied, &here.applied)),
                ]);
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
struct Made {
    factors: f64,
    whole: f64,
    applied: Vec<f64>,
}

/// One method in all places, which take turns.
fn compared(
    places: &[(&str, Executor)],
    problem: &str,
    method: &str,
    rounds: usize,
) -> Result<Vec<Made>> {
    let factory = factory(method)?;
    let mut matrices: Vec<Arc<dyn LinOp<f64>>> = Vec::new();
    for (_, executor) in places {
        matrices.push(Arc::new(matrix(executor, problem)?));
    }
    let mut made = Vec::new();
    for turn in 0..=rounds {
        for (place, a) in matrices.iter().enumerate() {
            let (times, applied) = once(factory.as_ref(), a)?;
            match turn {
                // Compiles kernels, brings the matrix to the device, and is not timed.
                0 => made.push(Made {
                    factors: f64::INFINITY,
                    whole: f64::INFINITY,
                    applied,
                }),
                _ => {
                    let best: &mut Made = &mut made[place];
                    best.factors = best.factors.min(times[0]);
                    best.whole = best.whole.min(times[1]);
                }
            }
        }
    }
    Ok(made)
}

/// Milliseconds of the factors and of the whole set-up, and what the preconditioner makes of ones.
fn once(factory: &dyn Factory<f64>, a: &Arc<dyn LinOp<f64>>) -> Result<([f64; 2], Vec<f64>)> {
    let profile = Rc::new(RefCell::new(Profile::default()));
    let ws = Workspace::with_log(Log::new().with(Rc::clone(&profile)));
    a.executor().synchronize()?;
    let begin = Instant::now();
    let m = factory.generate(a, &ws)?;
    let whole = begin.elapsed().as_secs_f64() * 1e3;
    let profile = profile.borrow();
    let stages = profile.rows();
    let stage = stages.iter().find(|(_, stage)| stage.name == "factors");
    let factors = stage.map_or(f64::NAN, |(_, stage)| stage.seconds * 1e3);
    let ones = Vector::filled(a.executor(), a.size().rows, 1, 1.0)?;
    let mut applied = Vector::zeros_like(&ones)?;
    m.apply(&ones, &mut applied, &Workspace::new())?;
    Ok(([factors, whole], applied.to_vec()))
}

fn factory(method: &str) -> Result<Box<dyn Factory<f64>>> {
    Ok(match method {
        "parilu" => Box::new(ParIlu::default()),
        "paric" => Box::new(ParIc::default()),
        "parilut" => Box::new(ParIlut::default()),
        "parict" => Box::new(ParIct::default()),
        _ => {
            return Err(format!("{method}: parilu, paric, parilut and parict are measured").into());
        }
    })
}

fn apart(x: &[f64], y: &[f64]) -> f64 {
    let largest = x.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let pairs = x.iter().zip(y).map(|(x, y)| (x - y).abs());
    pairs.fold(0.0, f64::max) / largest
}
