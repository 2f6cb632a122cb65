//! `vcycle-bench struct`: what storing stencil matrices in fewer bits gains.

mod ablation;
mod kernels;
mod problem;
mod settings;
mod solves;

use vcycle::executor::Executor;

use self::problem::Problem;
use self::settings::Settings;
use crate::asked::Asked;
use crate::common::{Result, threads};

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let settings = &Settings::new(asked);
    let host = Executor::cpu_with_threads(threads(asked.maybe_count("threads"))?)?;
    let executor = match asked.maybe("device") {
        Some(name) => Executor::gpu(name)?,
        None => host.clone(),
    };
    if let Some(file) = asked.path("ablation") {
        return ablation::run(settings, &host, &file);
    }
    let mut measured = Vec::new();
    for name in asked.list("PROBLEM") {
        let problem = Problem::new(&host, name)?;
        say!("{problem}, {}, {} threads", executor.name(), host.threads());
        if asked.has("kernels") {
            say!("{}", kernels::measure(settings, &problem.a, &executor)?);
            if executor.is_device() {
                say!("{}", kernels::measure_setups(asked, &executor, &problem.a)?);
            }
        }
        measured.push(solves::measure(settings, &problem.on(&executor)?)?);
    }
    say!("{}", solves::summary(asked, &measured));
    Ok(())
}

/// Iterations in double and half precision, and how much faster half precision is: all cycles, and the solve with what
/// storing takes.
pub(crate) struct Gains {
    pub(crate) iterations: [usize; 2],
    pub(crate) preconditioner: f64,
    pub(crate) end_to_end: f64,
}

/// Solves a problem in double and in half precision, for some rounds, cycles for some seconds each.
pub(crate) fn gains(problem: &str, executor: &Executor, measuring: (usize, f64)) -> Result<Gains> {
    let settings = Settings {
        measuring,
        ..Settings::new(&Asked::plain("struct"))
    };
    let problem = Problem::new(&Executor::cpu(), problem)?.on(executor)?;
    let measured = solves::measure(&settings, &problem)?;
    let [_, preconditioner, end_to_end] = measured.gains();
    Ok(Gains {
        iterations: measured.iterations(),
        preconditioner,
        end_to_end,
    })
}
