//! Components inside others: solvers as preconditioners, and preconditioners of the rows of each rank.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::components::{PreconditionerConfig, SolverConfig};
use super::value::{Table, parameters};
use crate::error::ConfigError;
use crate::linop::Factory;
use crate::precond::AdditiveSchwarz;
use crate::registration::{Component, Memory, MemoryOf, Need, Registration, Support, Symmetry};
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
        if let Some(factors) = self.solver.0.factorisation()? {
            return Ok(factors);
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

/// [`AdditiveSchwarz`] by names: `schwarz:ilu0`, `schwarz:ic0,overlap=0`, `schwarz:direct,1,restricted=true`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Schwarz {
    /// The preconditioner of the rows of a rank: `ilu0`, `ic0`, `direct` or any other.
    #[serde(deserialize_with = "local")]
    pub inner: Box<PreconditionerConfig>,
    /// Rings of rows around those of a rank, 0 to 8; with 0 it is block Jacobi.
    pub overlap: usize,
    /// Whether a rank keeps what it finds for own rows alone; not symmetric then.
    pub restricted: bool,
}

impl Default for Schwarz {
    fn default() -> Self {
        Self {
            inner: Box::new(PreconditionerConfig::Ilu0(crate::precond::Ilu0::default())),
            overlap: 1,
            restricted: false,
        }
    }
}

/// A preconditioner that is known before the matrix is.
fn local<'d, D: Deserializer<'d>>(from: D) -> Result<Box<PreconditionerConfig>, D::Error> {
    use serde::de::Error;
    let inner = PreconditionerConfig::from_value(Value::deserialize(from)?);
    match inner.map_err(Error::custom)? {
        PreconditionerConfig::Auto(_) | PreconditionerConfig::None(_) => Err(Error::custom(
            "name a preconditioner for the rows of each rank, `ilu0` say",
        )),
        inner => Ok(Box::new(inner)),
    }
}

impl Component for Schwarz {
    const REGISTRATION: Registration = Registration {
        name: "schwarz",
        summary: "Any preconditioner on the rows of each rank, which may overlap.",
        after_colon: &["inner", "overlap"],
        needs: &[Need::Entries],
        support: Support::METHOD,
        symmetry: Symmetry::Symmetric,
        memory: Memory::per(0, 0),
    };

    fn symmetry(&self) -> Symmetry {
        match (self.restricted, self.inner.symmetry()) {
            (true, Symmetry::Symmetric) => Symmetry::OneSided,
            (_, inner) => inner,
        }
    }

    fn memory(&self, of: MemoryOf) -> Memory {
        self.inner.memory(of)
    }
}

impl Schwarz {
    pub(super) fn factory<T: Mixes<T, T>>(&self) -> Result<Arc<dyn Factory<T>>, ConfigError> {
        let inner = self.inner.factory()?;
        let inner = inner.expect("it is neither `auto` nor `none`");
        Ok(Arc::new(AdditiveSchwarz {
            inner,
            overlap: self.overlap,
            restricted: self.restricted,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Solution, solve};
    use crate::executor::{Executor, Workspace};
    use crate::gallery;
    use crate::vector::Vector;

    fn solved(options: &str) -> crate::Result<Solution<f64>> {
        let problem = gallery::build("poisson5:20", &Executor::cpu())?;
        let b = Vector::from_column(problem.matrix.executor(), problem.rhs);
        solve(
            &options.parse()?,
            &Arc::new(problem.matrix),
            &b,
            &Workspace::new(),
        )
    }

    fn parsed(text: &str) -> PreconditionerConfig {
        text.parse().unwrap()
    }

    #[test]
    fn solvers_are_preconditioners_in_options_and_files() {
        let short = parsed("gmres:5");
        let long = parsed("gmres:iterations=5,restart=50");
        assert_eq!((short.name(), &short), ("gmres", &long));
        assert_eq!(short.brief(), "gmres:iterations=5");
        for text in [
            "cg",
            "gmres:5",
            "chebyshev:3,preconditioner=jacobi",
            "schwarz:ic0,0",
        ] {
            let given = parsed(text);
            assert_eq!(parsed(&given.to_string()), given);
            let value = serde_json::to_value(&given).unwrap();
            assert_eq!(PreconditionerConfig::from_value(value).unwrap(), given);
        }
        let config: Config = "preconditioner=gmres:5".parse().unwrap();
        assert_eq!(config.preconditioner, short);
        assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
        let wrong = "cg:0 cg:x gmres:5,6 gmres:restrt=3 schwarz:auto schwarz:none schwarz:nothing schwarz:ilu0,x";
        for wrong in wrong.split(' ') {
            assert!(wrong.parse::<PreconditionerConfig>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_varying_preconditioner_gets_a_flexible_solver_or_is_refused() {
        let multigrid = "preconditioner=amg:coarsest-rows=20";
        for (options, solver) in [
            ("preconditioner=cg:4", "fcg"),
            ("solver=fgmres preconditioner=gmres:5", "fgmres"),
            ("solver=cg preconditioner=ir:2,preconditioner=jacobi", "cg"),
            (&format!("{multigrid},smoother=cg:2"), "fcg"),
            (&format!("{multigrid},coarsest=cg"), "fcg"),
            (&format!("{multigrid},coarsest=ilu0"), "cg"),
            // Levels of half precision: solver and preconditioner compute in single precision.
            (
                &format!("{multigrid},precision=hp,smoother=cg:2,coarsest=ilu0"),
                "fcg",
            ),
        ] {
            let solution = solved(options).unwrap();
            assert!(
                solution.outcome.converged(),
                "{options}: {}",
                solution.outcome
            );
            assert_eq!(solution.config.solver.name(), solver, "{options}");
            if let Some(report) = solution.multigrid {
                assert!(solution.outcome.iterations < 20, "{options}");
                let named = options.split_once("coarsest=").map(|(_, name)| name);
                assert!(
                    named.is_none_or(|name| report.coarsest == name),
                    "{options}"
                );
            }
        }
        for options in ["preconditioner=cg:4", &format!("{multigrid},smoother=cg:2")] {
            let refused = solved(&format!("solver=cg {options}"))
                .unwrap_err()
                .to_string();
            assert!(
                refused.contains("does not vary") && refused.contains("use fcg, fgmres or gcr"),
                "{refused}"
            );
        }
    }

    #[test]
    fn names_and_tables_say_what_ranks_apply() {
        let PreconditionerConfig::Schwarz(schwarz) = parsed("schwarz:ic0,0") else {
            panic!("schwarz expected");
        };
        assert_eq!((schwarz.inner.name(), schwarz.overlap), ("ic0", 0));
        assert_eq!(parsed("schwarz:ic0,0").symmetry(), Symmetry::Symmetric);
        let one_sided = parsed("schwarz:ic0,restricted=true");
        assert_eq!(one_sided.symmetry(), Symmetry::OneSided);
    }
}
