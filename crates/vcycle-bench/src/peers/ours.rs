//! The same solves by vcycle.

use std::path::PathBuf;
use std::sync::Arc;

use vcycle::config::{self, Config, PreconditionerConfig, Solution, Unit, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::multigrid::{Amg, LevelPrecisions, Report};
use vcycle::vector::Vector;

use super::measurement::{Attempt, Measurement, TOLERANCE};
use crate::common::Result;
use crate::problem::BenchSystem;

/// What vcycle is to do, its own defaults unless told.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Choices {
    /// Configuration of vcycle, TOML or JSON; its own defaults unless given
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Preconditioner of vcycle
    #[arg(long, value_name = "NAME[:PARAMETER]")]
    precond: Option<String>,
    /// Precision of vcycle: sp, dp/sp, or by level of multigrid, dp-sp/dp-sp-hp
    #[arg(long, value_name = "SPEC")]
    precision: Option<String>,
}

impl Choices {
    pub(crate) fn config(&self) -> Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::read(path)?,
            None => Config::default(),
        };
        if let Some(text) = &self.precond {
            config.preconditioner = text.parse()?;
        }
        match &self.precision {
            Some(text) if text.contains('-') || is_structured(&config) => {
                set_levels(&mut config.preconditioner, text.parse()?)?
            }
            Some(text) => config.precision = Some(text.parse()?),
            None => {}
        }
        config.stop.rtol = Some(TOLERANCE);
        Ok(config)
    }
}

fn is_structured(config: &Config) -> bool {
    matches!(config.preconditioner, PreconditionerConfig::StructMg(_))
}

/// Precisions by level make an undecided preconditioner multigrid.
fn set_levels(preconditioner: &mut PreconditionerConfig, levels: LevelPrecisions) -> Result<()> {
    let mut amg = match preconditioner {
        PreconditionerConfig::StructMg(parameters) => {
            parameters.precision = Some(levels);
            return Ok(());
        }
        PreconditionerConfig::Amg(amg) => amg.clone(),
        PreconditionerConfig::Auto(_) => Amg::default(),
        other => return Err(format!("--precision by level, but --precond is `{other}`").into()),
    };
    amg.precision = levels;
    *preconditioner = PreconditionerConfig::Amg(amg);
    Ok(())
}

/// A decided configuration with everything in double precision; `None` if it is that already.
pub(crate) fn in_double(config: &Config) -> Option<Config> {
    let mut double = config.clone();
    double.precision = Default::default();
    if let PreconditionerConfig::Amg(amg) = &mut double.preconditioner {
        amg.precision = LevelPrecisions::uniform(Unit::Double);
    }
    if let PreconditionerConfig::StructMg(parameters) = &mut double.preconditioner {
        parameters.precision = Some(LevelPrecisions::uniform(Unit::Double));
    }
    (double != *config).then_some(double)
}

/// A system in the memory of an executor.
pub(crate) struct Ours {
    system: config::System<f64>,
    b: Vector<f64>,
}

impl Ours {
    pub(crate) fn new(system: &BenchSystem, threads: usize) -> Result<Self> {
        let executor = Executor::cpu_with_threads(threads)?;
        let matrix = Arc::new(system.matrix.copy_to(&executor)?);
        let known = config::System::new(matrix);
        Ok(Self {
            system: match system.near_nullspace.clone() {
                Some(modes) => known.with_near_nullspace(modes),
                None => known,
            },
            b: Vector::from_column(&executor, system.rhs.clone()),
        })
    }

    /// A solve, and the configuration that was decided on.
    pub(crate) fn solve(&self, config: &Config) -> (Attempt, Option<Config>) {
        match solve_system(config, &self.system, &self.b, &Workspace::new()) {
            Ok(solution) => (
                self.measured(&solution).map_err(|error| error.to_string()),
                Some(solution.config),
            ),
            Err(error) => (Err(format!("failed: {error}")), None),
        }
    }

    fn measured(&self, solution: &Solution<f64>) -> Result<Measurement> {
        let mut r = Vector::zeros_like(&self.b)?;
        let a = self.system.matrix.as_ref();
        a.residual(&self.b, &solution.x, &mut r, &Workspace::new())?;
        Ok(Measurement {
            setup: solution.setup.as_secs_f64(),
            solve: solution.solving.as_secs_f64(),
            iterations: solution.outcome.iterations,
            residual: r.norms()?[0] / self.b.norms()?[0],
            complexity: solution.multigrid.as_ref().map(Report::operator_complexity),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem;

    fn choices(precond: &str, precision: &str) -> Choices {
        Choices {
            config: None,
            precond: Some(precond.to_owned()),
            precision: Some(precision.to_owned()),
        }
    }

    #[test]
    fn a_solve_is_measured_by_its_true_residual() {
        let system = problem::system(&Executor::reference(), "poisson5:20").unwrap();
        let ours = Ours::new(&system, 1).unwrap();
        let config = choices("amg", "dp-sp").config().unwrap();
        let (attempt, decided) = ours.solve(&config);
        assert!(attempt.unwrap().converged());
        let double = in_double(&decided.unwrap()).unwrap();
        assert_eq!(in_double(&double), None);
        assert!(ours.solve(&double).0.unwrap().converged());
    }

    #[test]
    fn precisions_by_level_need_multigrid() {
        assert!(choices("auto", "dp-sp").config().is_ok());
        assert!(choices("jacobi", "sp").config().is_ok());
        let error = choices("jacobi", "dp-sp").config().unwrap_err();
        assert!(error.to_string().contains("jacobi"));
    }
}
