//! Solves by vcycle within this process.

use std::sync::Arc;

use vcycle::config::{self, Config, Solution, solve_system};
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::multigrid::Report;
use vcycle::vector::Vector;

use super::measurement::{Attempt, Measurement};
use crate::common::Result;
use crate::problem::BenchSystem;

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

    pub(crate) fn solve(&self, config: &Config) -> Attempt {
        let solution = solve_system(config, &self.system, &self.b, &Workspace::new())
            .map_err(|error| format!("failed: {error}"))?;
        self.measured(&solution).map_err(|error| error.to_string())
    }

    fn measured(&self, solution: &Solution<f64>) -> Result<Measurement> {
        let mut r = Vector::zeros_like(&self.b)?;
        let a = self.system.matrix.as_ref();
        a.residual(&self.b, &solution.x, &mut r, &Workspace::new())?;
        Ok(Measurement {
            read: 0.0,
            setup: solution.setup.as_secs_f64(),
            solve: solution.solving.as_secs_f64(),
            iterations: solution.outcome.iterations,
            residual: r.norms()?[0] / self.b.norms()?[0],
            complexity: solution.multigrid.as_ref().map(Report::operator_complexity),
            messages: 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem;

    #[test]
    fn a_solve_is_measured_by_its_true_residual() {
        let system = problem::system(&Executor::reference(), "poisson5:20").unwrap();
        let ours = Ours::new(&system, 1).unwrap();
        let config = Config::from_toml("solver = \"cg\"\npreconditioner = \"amg\"").unwrap();
        assert!(ours.solve(&config).unwrap().converged());
    }
}
