//! Structured multigrid that is given a stencil, as PFMG is.

use std::sync::Arc;
use std::time::Instant;

use vcycle::config::{Config, PreconditionerConfig};
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::multigrid::Report;
use vcycle::solver::{Cg, Solver};
use vcycle::stop::Stop;
use vcycle::structured::{StencilMatrix, StructMg};
use vcycle::vector::Vector;

use super::measurement::{Attempt, Measurement, TOLERANCE};
use crate::common::Result;
use crate::problem::BenchSystem;

/// A system whose matrix is assembled as a stencil before the clock starts.
pub(super) struct OnGrid {
    a: Arc<dyn LinOp<f64>>,
    b: Vector<f64>,
    parameters: StructMg,
}

impl OnGrid {
    /// None unless structured multigrid preconditions conjugate gradients.
    pub(super) fn new(
        system: &BenchSystem,
        threads: usize,
        config: &Config,
        decided: &Config,
    ) -> Result<Option<Self>> {
        let PreconditionerConfig::StructMg(parameters) = &config.preconditioner else {
            return Ok(None);
        };
        if decided.solver.name() != "cg" {
            return Ok(None);
        }
        let executor = Executor::cpu_with_threads(threads)?;
        let matrix = system.matrix.copy_to(&executor)?;
        Ok(Some(Self {
            a: Arc::new(StencilMatrix::from_csr(&matrix)?),
            b: Vector::from_column(&executor, system.rhs.clone()),
            parameters: parameters.clone(),
        }))
    }

    pub(super) fn solve(&self) -> Attempt {
        self.measured().map_err(|error| format!("failed: {error}"))
    }

    fn measured(&self) -> Result<Measurement> {
        let (ws, begin) = (Workspace::new(), Instant::now());
        let made = self.parameters.generate_with_report(&self.a, &ws)?;
        let products = made.matrix.unwrap_or_else(|| Arc::clone(&self.a));
        let solver = Solver::new(Cg::default(), products)?.with_preconditioner(made.operator)?;
        let solver = solver.stopping(Stop::relative(TOLERANCE));
        let (setup, begin) = (begin.elapsed(), Instant::now());
        let mut x = Vector::zeros_like(&self.b)?;
        let outcome = solver.solve(&self.b, &mut x)?;
        let solve = begin.elapsed().as_secs_f64();
        let mut r = Vector::zeros_like(&self.b)?;
        self.a.residual(&self.b, &x, &mut r, &ws)?;
        Ok(Measurement {
            setup: setup.as_secs_f64(),
            solve,
            iterations: outcome.iterations,
            residual: r.norms()?[0] / self.b.norms()?[0],
            complexity: Some(Report::operator_complexity(&made.report)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem;

    #[test]
    fn stencils_are_solved_with_structured_multigrid_alone() {
        let system = problem::system(&Executor::reference(), "poisson7:12").unwrap();
        let mut config = Config::default();
        config.solver = "cg".parse().unwrap();
        assert!(OnGrid::new(&system, 1, &config, &config).unwrap().is_none());
        config.preconditioner = "struct-mg".parse().unwrap();
        let on_grid = OnGrid::new(&system, 1, &config, &config).unwrap().unwrap();
        assert!(on_grid.solve().unwrap().converged());
    }
}
