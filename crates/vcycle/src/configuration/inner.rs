//! A solver as a preconditioner.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::components::{PreconditionerConfig, SolverConfig};
use super::value::{Table, parameters};
use crate::error::ConfigError;
use crate::linop::Factory;
#[cfg(feature = "direct")]
use crate::registration::PreconditionerComponent;
use crate::registration::{Memory, MemoryOf, Registration, Support, Symmetry};
use crate::scalar::Mixes;
use crate::solver::SolverFactory;
use crate::stop::Stop;

/// Iterations of an inner solver unless they are given.
const ITERATIONS: usize = 10;

/// A solver as a preconditioner: so many iterations, `gmres:10`, or as a table
/// `{ name = "gmres", iterations = 10, restart = 5, preconditioner = "jacobi" }`.
///
/// All but `chebyshev`, `ir` and `direct` are another operator for every vector: the solver around it has
/// to be a flexible one, `fcg`, `fgmres` or `gcr`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InnerSolver {
    /// How many iterations it makes, whatever the residual.
    pub iterations: usize,
    /// Its own preconditioner.
    pub preconditioner: Box<PreconditionerConfig>,
    /// The iteration; its keys stand beside the others.
    #[serde(flatten)]
    pub solver: SolverParameters,
}

/// A solver whose name stands elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverParameters(pub SolverConfig);

impl Serialize for SolverParameters {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut table = match serde_json::to_value(&self.0) {
            Ok(Value::Object(table)) => table,
            _ => Table::new(),
        };
        table.remove("name");
        table.serialize(to)
    }
}

impl InnerSolver {
    /// The solvers that can be inside others.
    pub(super) const NAMES: &[&str] = SolverConfig::NAMES.split_at(1).1;

    pub(super) const REGISTRATION: Registration = Registration {
        name: "solver",
        summary: "So many iterations of a solver.",
        after_colon: &["iterations"],
        needs: &[],
        support: Support::METHOD,
        symmetry: Symmetry::Varying,
        memory: Memory::per(0, 0),
    };

    /// That of the solver.
    pub(super) fn registration(&self) -> Registration {
        self.solver.0.registration()
    }

    pub(super) fn memory(&self, of: MemoryOf) -> Memory {
        let own = self.solver.0.memory(of);
        own.and(self.preconditioner.memory(of))
    }

    pub(super) fn from_table(
        place: &str,
        name: &str,
        mut table: Table,
    ) -> Result<Self, ConfigError> {
        let iterations = match table.remove("iterations") {
            None => ITERATIONS,
            Some(value) => count(place, value)?,
        };
        let preconditioner = match table.remove("preconditioner") {
            None => "none".parse()?,
            Some(value) => PreconditionerConfig::from_value(value)?,
        };
        Ok(Self {
            iterations,
            preconditioner: Box::new(preconditioner),
            solver: SolverParameters(SolverConfig::from_table(name, table)?),
        })
    }

    /// What kind of operator it is for a symmetric matrix.
    pub(super) fn symmetry(&self) -> Symmetry {
        match (self.solver.0.symmetry(), self.preconditioner.symmetry()) {
            (Symmetry::Symmetric, inner) => inner,
            (own, _) => own,
        }
    }

    pub(super) fn factory<T: Mixes<T, T>>(&self) -> Result<Arc<dyn Factory<T>>, ConfigError> {
        #[cfg(feature = "direct")]
        if let SolverConfig::Direct(direct) = &self.solver.0 {
            return Ok(direct.factory());
        }
        #[cfg(not(feature = "direct"))]
        if let SolverConfig::Direct(_) = &self.solver.0 {
            return Err(ConfigError::NotAvailable {
                family: "solver",
                name: "direct".to_owned(),
            });
        }
        let factory = SolverFactory {
            method: self.solver.0.method()?,
            preconditioner: self.preconditioner.factory()?,
            stop: Stop::fixed(self.iterations),
        };
        Ok(factory.shared())
    }
}

/// The number of iterations, at least one.
fn count(place: &str, value: Value) -> Result<usize, ConfigError> {
    #[derive(serde::Deserialize)]
    struct InnerIterations {
        iterations: std::num::NonZeroUsize,
    }
    let table = Table::from_iter([("iterations".to_owned(), value)]);
    parameters(place, table).map(|count: InnerIterations| count.iterations.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Solution, solve};
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::vector::Vector;

    fn solved(config: &str) -> crate::Result<Solution<f64>> {
        let problem = gallery::build("poisson5:20", &Executor::cpu())?;
        let b = Vector::from_column(problem.matrix.executor(), problem.rhs);
        let a = Arc::new(problem.matrix);
        solve(&Config::from_toml(config)?, &a, &b, &Workspace::new())
    }

    #[test]
    fn solvers_are_preconditioners_in_options_and_files() {
        let short: PreconditionerConfig = "gmres:5".parse().unwrap();
        let long: PreconditionerConfig = "gmres:iterations=5,restart=50".parse().unwrap();
        assert_eq!((short.name(), &short), ("gmres", &long));
        assert_eq!(short.brief(), "gmres:iterations=5");
        for text in ["cg", "gmres:5", "chebyshev:3,preconditioner=jacobi"] {
            let given: PreconditionerConfig = text.parse().unwrap();
            let again: PreconditionerConfig = given.to_string().parse().unwrap();
            assert_eq!(again, given);
            let value = serde_json::to_value(&given).unwrap();
            assert_eq!(PreconditionerConfig::from_value(value).unwrap(), given);
        }
        let config = Config {
            preconditioner: short,
            ..Config::default()
        };
        assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
        for wrong in ["cg:0", "cg:x", "gmres:5,6", "gmres:restrt=3"] {
            assert!(wrong.parse::<PreconditionerConfig>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_varying_preconditioner_gets_a_flexible_solver_or_is_refused() {
        let chosen = solved("preconditioner = \"cg:4\"").unwrap();
        assert!(chosen.outcome.converged());
        assert_eq!(chosen.config.solver.name(), "fcg");
        let flexible = solved("solver = \"fgmres\"\npreconditioner = \"gmres:5\"").unwrap();
        assert!(flexible.outcome.converged() && flexible.outcome.iterations < 20);
        let error = solved("solver = \"cg\"\npreconditioner = \"cg:4\"").unwrap_err();
        let told = error.to_string();
        assert!(told.contains("use fcg, fgmres or gcr"), "{told}");
        let fixed = solved("solver = \"cg\"\npreconditioner = \"ir:2,preconditioner=jacobi\"");
        assert!(fixed.unwrap().outcome.converged());
    }

    #[test]
    fn solvers_smooth_and_solve_the_coarsest_level() {
        let multigrid = "preconditioner = { name = \"amg\", coarsest-rows = 20,";
        let smoothed = solved(&format!("{multigrid} smoother = \"cg:2\" }}")).unwrap();
        assert!(smoothed.outcome.converged() && smoothed.outcome.iterations < 20);
        assert_eq!(smoothed.config.solver.name(), "fcg");
        for coarsest in ["cg", "ilu0"] {
            let config = format!("{multigrid} coarsest = \"{coarsest}\" }}");
            let solution = solved(&config).unwrap();
            assert!(solution.outcome.converged() && solution.outcome.iterations < 20);
            assert_eq!(solution.multigrid.unwrap().coarsest, coarsest);
        }
        // Levels of half precision: solver and preconditioner compute in single precision.
        let halves = solved(&format!(
            "{multigrid} precision = \"hp\", smoother = \"cg:2\", coarsest = \"ilu0\" }}"
        ));
        assert!(halves.unwrap().outcome.converged());
        let fixed = solved(&format!(
            "solver = \"cg\"\n{multigrid} smoother = \"cg:2\" }}"
        ));
        assert!(fixed.unwrap_err().to_string().contains("does not vary"));
    }
}
