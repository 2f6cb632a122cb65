//! What `auto` tries, in order, and why.

use std::sync::Arc;

use super::components::{NoParameters, PreconditionerConfig, SolverConfig};
use super::{Config, ConfigError};
use crate::linop::Factory;
use crate::matrix::Facts;
use crate::scalar::Mixes;

/// Up to this many rows a factorisation is quicker than thinking about it.
const DIRECT_FIRST: usize = 2_000;
/// Up to this many rows a factorisation is worth its memory when the first choice has failed.
const DIRECT_SECOND: usize = 50_000;

/// One combination to try.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// The iteration.
    pub solver: SolverConfig,
    /// Its preconditioner.
    pub preconditioner: PreconditionerConfig,
    /// Why, for a message; empty where the user chose both.
    pub reason: String,
}

impl Attempt {
    /// What makes the preconditioner; for the direct solver that is the factorisation.
    pub(super) fn preconditioner_factory<T: Mixes<T, T>>(
        &self,
    ) -> Result<Option<Arc<dyn Factory<T>>>, ConfigError> {
        match (&self.solver, &self.preconditioner) {
            #[cfg(feature = "direct")]
            (SolverConfig::Direct(p), PreconditionerConfig::None(_)) => {
                Ok(Some(Arc::new(p.to_owned())))
            }
            #[cfg(not(feature = "direct"))]
            (SolverConfig::Direct(_), _) => Err(ConfigError::NotAvailable {
                family: "solver",
                name: "direct".to_owned(),
            }),
            #[cfg(feature = "direct")]
            (SolverConfig::Direct(_), other) => Err(ConfigError::Conflict(format!(
                "solver `direct` takes no preconditioner, but `{}` is given",
                other.name()
            ))),
            (_, preconditioner) => preconditioner.factory(),
        }
    }
}

/// What a configuration means for a matrix: the combinations to try, best first.
///
/// Solvers, by what the matrix looks like:
///
/// | matrix | solvers |
/// |---|---|
/// | at most 2000 rows | `direct`, then as below |
/// | Hermitian, positive diagonal | `cg`, `minres`, `direct`, `gmres` |
/// | Hermitian otherwise | `minres`, `direct`, `gmres` |
/// | any other | `gmres`, `direct`, `bicgstab` |
///
/// `direct` is left out beyond 50,000 rows and where a preconditioner is given.
///
/// Preconditioners, by what the solver bears: `ic0`, `ssor`, `jacobi` for `cg` and its kin;
/// `l1-jacobi`, none for `minres`; `ilu0`, `jacobi`, none for all others; none of those that
/// divide by the diagonal where it has zeros, or, for `cg` and its kin, negative entries. A
/// preconditioner whose set-up fails gives way to the next one.
///
/// Without `auto` there is exactly one attempt, and the facts are not asked for.
pub fn attempts(config: &Config, facts: impl FnOnce() -> Facts) -> Vec<Attempt> {
    let (solver, preconditioner) = (&config.solver, &config.preconditioner);
    if !solver.is_auto() && !preconditioner.is_auto() {
        return vec![Attempt {
            solver: solver.clone(),
            preconditioner: preconditioner.clone(),
            reason: String::new(),
        }];
    }
    let facts = facts();
    let solvers = match solver.is_auto() {
        true => solver_chain(&facts, preconditioner),
        false => vec![solver.clone()],
    };
    let pairs = solvers.into_iter().flat_map(|solver| {
        let chain = preconditioner_chain(&solver, preconditioner, &facts);
        chain.into_iter().map(move |p| (solver.clone(), p))
    });
    pairs
        .map(|(solver, preconditioner)| Attempt {
            reason: reason(&facts, &solver, &preconditioner),
            solver,
            preconditioner,
        })
        .collect()
}

fn solver_chain(facts: &Facts, preconditioner: &PreconditionerConfig) -> Vec<SolverConfig> {
    let definite = facts.hermitian && facts.positive_diagonal();
    // A one-sided sweep is not symmetric, which the short recurrences need.
    let mut names: Vec<&str> = if preconditioner.name() == "sor" || !facts.hermitian {
        vec!["gmres", "bicgstab"]
    } else if definite {
        vec!["cg", "minres", "gmres"]
    } else {
        vec!["minres", "gmres"]
    };
    let direct = cfg!(feature = "direct") && preconditioner.is_auto();
    if direct && facts.rows <= DIRECT_FIRST {
        names.insert(0, "direct");
    } else if direct && facts.rows <= DIRECT_SECOND {
        names.insert(names.len() - 1, "direct");
    }
    names.into_iter().map(named_solver).collect()
}

fn preconditioner_chain(
    solver: &SolverConfig,
    preconditioner: &PreconditionerConfig,
    facts: &Facts,
) -> Vec<PreconditionerConfig> {
    if !preconditioner.is_auto() {
        return vec![preconditioner.clone()];
    }
    let names: &[&str] = match solver.name() {
        "direct" => &["none"],
        "cg" | "fcg" | "pipecg" if facts.positive_diagonal() => &["ic0", "ssor", "jacobi"],
        "minres" => &["l1-jacobi", "none"],
        "cg" | "fcg" | "pipecg" => &["none"],
        "chebyshev" => &["jacobi", "none"],
        _ if facts.full_diagonal() => &["ilu0", "jacobi", "none"],
        _ => &["none"],
    };
    names
        .iter()
        .map(|name| named_preconditioner(name))
        .collect()
}

fn named_solver(name: &str) -> SolverConfig {
    name.parse().expect("auto names solvers that exist")
}

fn named_preconditioner(name: &str) -> PreconditionerConfig {
    match name {
        "none" => PreconditionerConfig::None(NoParameters {}),
        _ => name.parse().expect("auto names preconditioners that exist"),
    }
}

fn reason(facts: &Facts, solver: &SolverConfig, preconditioner: &PreconditionerConfig) -> String {
    let symmetry = match (facts.hermitian, facts.complex, facts.symmetric) {
        (true, true, _) => "Hermitian",
        (true, false, _) => "symmetric",
        (false, true, true) => "complex symmetric",
        _ => "not symmetric",
    };
    let diagonal = if facts.positive_diagonal() {
        "positive diagonal"
    } else if !facts.full_diagonal() {
        "zeros on the diagonal"
    } else {
        "negative entries on the diagonal"
    };
    let with = match preconditioner.name() {
        "none" => String::new(),
        name => format!(" with {name}"),
    };
    format!(
        "auto: {} rows, {symmetry}, {diagonal} → {}{with}",
        facts.rows,
        solver.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::matrix::Csr;

    /// The attempts for a diagonal matrix with altered facts, as `solver+preconditioner`.
    fn chain(config: &Config, alter: impl FnOnce(&mut Facts)) -> Vec<String> {
        let a = Csr::diagonal_matrix(&Executor::reference(), vec![1.0, 2.0]);
        let mut facts = a.facts();
        facts.rows = 100_000;
        alter(&mut facts);
        attempts(config, || facts)
            .iter()
            .map(|a| format!("{}+{}", a.solver.name(), a.preconditioner.name()))
            .collect()
    }

    #[test]
    fn the_matrix_decides() {
        let auto = Config::default();
        let definite = chain(&auto, |_| {});
        assert_eq!(definite[..3], ["cg+ic0", "cg+ssor", "cg+jacobi"]);
        let indefinite = chain(&auto, |facts| facts.negative_diagonal = 1);
        assert_eq!(indefinite[0], "minres+l1-jacobi");
        let general = chain(&auto, |facts| facts.hermitian = false);
        assert_eq!(general[0], "gmres+ilu0");
        let saddle = chain(&auto, |facts| {
            (facts.hermitian, facts.zero_diagonal) = (false, 3);
        });
        assert_eq!(saddle[0], "gmres+none");
    }

    #[cfg(feature = "direct")]
    #[test]
    fn small_systems_are_factorised_and_large_ones_are_not() {
        let auto = Config::default();
        assert_eq!(chain(&auto, |facts| facts.rows = 100)[0], "direct+none");
        let medium = chain(&auto, |facts| facts.rows = 10_000);
        let place = |name: &str| medium.iter().position(|t| t.starts_with(name));
        assert!(place("minres") < place("direct") && place("direct") < place("gmres"));
        assert!(!chain(&auto, |_| {}).contains(&"direct+none".to_owned()));
    }

    #[test]
    fn what_the_user_chose_stays() {
        let config = Config::from_toml("solver = \"gmres\"").unwrap();
        let tries = chain(&config, |_| {});
        assert!(tries.iter().all(|t| t.starts_with("gmres+")));
        let config = Config::from_toml("preconditioner = \"sor\"").unwrap();
        assert_eq!(chain(&config, |_| {}), ["gmres+sor", "bicgstab+sor"]);
    }
}
