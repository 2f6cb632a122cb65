//! `vcycle-bench struct`: what storing stencil matrices in fewer bits gains.

mod ablation;
mod args;
mod kernels;
mod problem;
mod solves;

use vcycle::executor::Executor;

pub(crate) use self::args::StructuredArgs;
use self::problem::Problem;
use crate::common::{Result, threads};

pub(crate) fn run(arguments: &StructuredArgs) -> Result<()> {
    let host = Executor::cpu_with_threads(threads(arguments.threads)?)?;
    let executor = match &arguments.device {
        Some(name) => Executor::gpu(name)?,
        None => host.clone(),
    };
    if let Some(file) = &arguments.ablation {
        return ablation::run(arguments, &host, file);
    }
    let mut measured = Vec::new();
    for name in &arguments.problems {
        let problem = Problem::new(&host, name)?;
        say!("{problem}, {}, {} threads", executor.name(), host.threads());
        if arguments.kernels {
            say!("{}", kernels::measure(arguments, &problem.a, &executor)?);
            if executor.is_device() {
                say!("{}", kernels::measure_setups(&executor, &problem.a)?);
            }
        }
        measured.push(solves::measure(arguments, &problem.on(&executor)?)?);
    }
    say!("{}", solves::summary(&measured));
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
pub(crate) fn gains(
    problem: &str,
    executor: &Executor,
    (rounds, seconds): (usize, f64),
) -> Result<Gains> {
    let arguments = StructuredArgs::measuring(rounds, seconds);
    let problem = Problem::new(&Executor::cpu(), problem)?.on(executor)?;
    let measured = solves::measure(&arguments, &problem)?;
    let [_, preconditioner, end_to_end] = measured.gains();
    Ok(Gains {
        iterations: measured.iterations(),
        preconditioner,
        end_to_end,
    })
}
