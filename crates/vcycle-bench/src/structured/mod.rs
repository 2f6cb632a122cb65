//! `vcycle-bench struct`: what storing stencil matrices in fewer bits gains.

mod ablation;
mod args;
mod device;
mod kernels;
mod problem;
mod solves;

use vcycle::executor::Executor;
use vcycle::multigrid::{LevelScaling, Report};
use vcycle::structured::CoarseStencil;

pub(crate) use self::ablation::History;
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

/// The levels that structured multigrid makes with some coarse operators, and the residuals of a solve.
pub(crate) fn with_coarse_stencil(
    problem: &str,
    executor: &Executor,
    coarse_stencil: CoarseStencil,
) -> Result<(Report, Vec<f64>)> {
    let arguments = StructuredArgs::measuring(1, 0.0);
    let problem = Problem::new(&Executor::cpu(), problem)?.on(executor)?;
    let mut parameters = arguments.multigrid("K64P32D16")?;
    parameters.coarse_stencil = coarse_stencil;
    problem.solved(&arguments, &parameters)
}

/// The residuals of solves in some precisions, each with a strategy of scaling.
pub(crate) fn histories(
    problem: &str,
    executor: &Executor,
    ways: &[(&str, LevelScaling)],
) -> Result<Vec<History>> {
    let arguments = StructuredArgs::measuring(1, 0.0);
    let problem = Problem::new(&Executor::cpu(), problem)?.on(executor)?;
    let one = |&(precision, scaling): &(&str, LevelScaling)| {
        ablation::history(&arguments, &problem, precision, scaling)
    };
    Ok(ways.iter().map(one).collect())
}
