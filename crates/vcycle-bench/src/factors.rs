//! `vcycle-bench factors`: incomplete factorisations by sweeps on a device beside those of the host, and complete ones.

use std::cell::RefCell;
use std::rc::Rc;

use vcycle::config::PreconditionerConfig;
use vcycle::linop::Factory;
use vcycle::log::{Log, Profile};
use vcycle::solver::Direct;

use crate::prelude::*;
use crate::problem::{matrix, residual};
use crate::timing::warm;

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut places = vec![("cpu", Executor::cpu())];
    if let Some(device) = args.maybe("device") {
        places.push((device, args.executor()?));
    }
    let (name, measure): (_, fn(&[_], &Args, &str) -> _) = match args.has("direct") {
        true => ("complete", complete),
        false => ("incomplete", incomplete),
    };
    let table = measure(&places, args, name)?;
    Report::new(args.path("output")).add(format!("{table}\n{}", args.note(name, &[])))
}

fn incomplete(places: &[(&str, Executor)], args: &Args, table: &str) -> Result<Table> {
    let mut table = args.table(table);
    for problem in args.list("PROBLEM") {
        for method in args.list("methods") {
            let config: PreconditionerConfig = method.parse()?;
            let factory = config.factory()?.ok_or("there are no factors of nothing")?;
            let mut host: Option<Made> = None;
            for (place, executor) in places {
                let a: Arc<dyn LinOp<f64>> = Arc::new(matrix(executor, problem)?);
                let here = Made::new(factory.as_ref(), &a, args.count("rounds"))?;
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
                    difference(&host.applied, &here.applied),
                ]);
            }
        }
    }
    Ok(table)
}

/// Milliseconds of the best turn, and the product of the preconditioner with ones.
#[derive(Clone)]
struct Made {
    factors: f64,
    whole: f64,
    applied: Vec<f64>,
}

impl Made {
    fn new(factory: &dyn Factory<f64>, a: &Arc<dyn LinOp<f64>>, rounds: usize) -> Result<Self> {
        let mut factors = f64::INFINITY;
        let (whole, m) = warm(a.executor(), rounds, &mut || {
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
            whole,
            applied: applied.to_vec(),
        })
    }
}

/// The largest difference, relative to the largest number.
fn difference(x: &[f64], y: &[f64]) -> f64 {
    let largest = x.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    let pairs = x.iter().zip(y).map(|(x, y)| (x - y).abs());
    pairs.fold(0.0, f64::max) / largest
}

fn complete(places: &[(&str, Executor)], args: &Args, table: &str) -> Result<Table> {
    let (rounds, mut table) = (args.count("rounds"), args.table(table));
    for problem in args.list("PROBLEM") {
        let mut host = None;
        for (place, executor) in places {
            let a = matrix(executor, problem)?;
            let (rows, ws) = (a.size().rows, Workspace::new());
            let other: Arc<dyn LinOp<f64>> = Arc::new(a.scale(1.5)?);
            let a: Arc<dyn LinOp<f64>> = Arc::new(a);
            let b = Vector::filled(executor, rows, 1, 1.0)?;
            let mut x = Vector::zeros_like(&b)?;
            let (setup, (mut kept, inverse)) = warm(executor, rounds, &mut || {
                Ok(Direct::default().setup(&a, &ws)?)
            })?;
            let (again, _) = warm(executor, rounds, &mut || {
                Ok(kept.update_values(&other, &ws)?)
            })?;
            let (solve, ()) = warm(
                executor,
                rounds,
                &mut || Ok(inverse.apply(&b, &mut x, &ws)?),
            )?;
            let [host_again, host_solve] = *host.get_or_insert([again, solve]);
            table.row(row![
                problem,
                rows,
                *place,
                setup,
                again,
                host_again / again,
                solve,
                host_solve / solve,
                residual(a.as_ref(), &b, &x)?,
                format!("{inverse:?}"),
            ]);
        }
    }
    Ok(table)
}
