//! `vcycle-bench struct`: what storing stencil matrices in fewer bits gains.

mod ablation;
mod args;
mod device;
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
            let table = match &arguments.device {
                Some(device) => device::measure(device, &problem.a)?,
                None => kernels::measure(arguments, &problem.a)?,
            };
            say!("{table}");
            if let Some(device) = &arguments.device {
                say!("{}", device::measure_setups(device, &problem.a)?);
            }
        }
        measured.push(solves::measure(arguments, &problem.on(&executor)?)?);
    }
    say!("{}", solves::summary(&measured));
    Ok(())
}

/// How much faster half precision is than double: a cycle, all cycles, and the solve with what storing takes.
pub(crate) fn gains(problem: &str, executor: &Executor, rounds: usize) -> Result<[f64; 3]> {
    let arguments = StructuredArgs::measuring(rounds);
    let problem = Problem::new(&Executor::cpu(), problem)?.on(executor)?;
    Ok(solves::measure(&arguments, &problem)?.gains())
}
