//! What `auto` tries, in order, and why.

use std::sync::Arc;

#[cfg(feature = "direct")]
use crate::registration::PreconditionerComponent;

use crate::configuration::{Config, ConfigError, NoParameters, PreconditionerConfig, SolverConfig};
use crate::linop::Factory;
use crate::matrix::Facts;
use crate::multigrid::{Amg, NearNullspace};
use crate::registration::{Need, Symmetry};
use crate::scalar::Mixes;
use crate::solver::Fgmres;

/// This part of the rows has to be diagonally dominant for multigrid without symmetry.
const DOMINANT: f64 = 0.9;
/// Up to this many rows a factorisation is quicker than thinking about it.
const DIRECT_FIRST: usize = 2_000;
/// Up to this many rows a factorisation is worth its memory when the first choice has failed.
const DIRECT_SECOND: usize = 50_000;
/// Vectors that GMRES keeps where a cycle of its preconditioner takes less time than making one of fifty orthogonal.
const SHORT_RESTART: usize = 20;

/// Presets for what multigrid fails on without knowing more of it: for several unknowns a node, for
/// one where rows are diagonally dominant, and for any other matrix.
const MECHANICS: &str = "mechanics";
const FLOW: &str = "flow";
const THOROUGH: &str = "bamg-fsai";

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
    /// Fails where the preconditioner varies and the solver takes it for a fixed operator.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let varies = self.preconditioner.symmetry() == Symmetry::Varying;
        if !varies || !self.solver.has_need(Need::FixedPreconditioner) {
            return Ok(());
        }
        Err(ConfigError::Conflict(format!(
            "solver `{}` needs a preconditioner that does not vary, and `{}` is an iteration; use fcg, \
             fgmres or gcr",
            self.solver.name(),
            self.preconditioner.name()
        )))
    }

    /// What makes the preconditioner; for the direct solver that is the factorisation.
    pub(super) fn preconditioner_factory<T: Mixes<T, T>>(
        &self,
    ) -> Result<Option<Arc<dyn Factory<T>>>, ConfigError> {
        match (&self.solver, &self.preconditioner) {
            #[cfg(feature = "direct")]
            (SolverConfig::Direct(p), PreconditionerConfig::None(_)) => Ok(Some(p.factory())),
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
/// | Hermitian, positive diagonal | `cg`, `minres`, `gmres` |
/// | Hermitian otherwise | `minres`, `gmres` |
/// | any other | `gmres`, with `struct-mg` `fgmres` with 20 vectors; `bicgstab` |
///
/// A preconditioner that varies, such as multigrid with K-cycles, takes `fcg` in place of `cg` and `fgmres` in place
/// of all others.
///
/// Preconditioners, by what the solver bears: `amg`, `amg` as [presets](crate::config::Preset) have it, `ic0`,
/// `ssor`, `jacobi` for `cg` and its kin;
/// `l1-jacobi`, none for `minres`; `amg` if nearly all rows are diagonally dominant, `ilu0`,
/// `jacobi`, none for all others; none of those that divide by the diagonal where it has zeros, or,
/// for `cg` and its kin, negative entries. A preconditioner whose set-up fails gives way to the
/// next one, and so does multigrid that has not converged after 200 iterations, or what comes before
/// `direct` after 1000.
///
/// The first multigrid is that of the preset `mechanics` where all motions of a rigid body are known
/// (coordinates, or a near-nullspace of as many vectors). Where several unknowns a node are all that
/// is known, `mechanics` comes second; for one unknown a node `flow` if nearly all rows are diagonally
/// dominant, then `bamg-fsai`.
///
/// Where solver and preconditioner are free, `direct` comes first up to 2000 rows and second up to
/// 50,000.
///
/// Without `auto` there is exactly one attempt, and the facts are not asked for.
pub fn attempts(
    config: &Config,
    known: Option<&NearNullspace>,
    facts: impl FnOnce() -> Facts,
) -> Vec<Attempt> {
    let (solver, preconditioner) = (&config.solver, &config.preconditioner);
    if !solver.is_auto() && !preconditioner.is_auto() {
        return vec![chosen(solver, preconditioner)];
    }
    let facts = facts();
    let solvers = match solver.is_auto() {
        true => solver_chain(&facts, preconditioner),
        false => vec![solver.clone()],
    };
    let pairs = solvers.into_iter().flat_map(|solver| {
        let chain = preconditioner_chain(&solver, config, known, &facts);
        chain
            .into_iter()
            .map(move |choice| (solver.clone(), choice))
    });
    let mut pairs: Vec<_> = pairs.collect();
    if solver.is_auto() && preconditioner.is_auto() && cfg!(feature = "direct") {
        insert_direct(facts.rows, &mut pairs);
    }
    pairs
        .into_iter()
        .map(|(solver, choice)| Attempt {
            reason: reason(&facts, &solver, &choice),
            solver,
            preconditioner: choice.preconditioner,
        })
        .collect()
}

/// What the user chose, with a solver that bears it.
fn chosen(solver: &SolverConfig, preconditioner: &PreconditionerConfig) -> Attempt {
    let symmetric = solver.has_need(Need::SymmetricPreconditioner);
    let changed = symmetric && loses_symmetry(preconditioner);
    Attempt {
        solver: if changed {
            named_solver("gmres")
        } else {
            solver.clone()
        },
        preconditioner: preconditioner.clone(),
        reason: match changed {
            false => String::new(),
            true => format!(
                "filtered coarse matrices are not symmetric: gmres in place of {}",
                solver.name()
            ),
        },
    }
}

/// Whether the filtering of coarse matrices costs multigrid its symmetry.
fn loses_symmetry(preconditioner: &PreconditionerConfig) -> bool {
    matches!(preconditioner, PreconditionerConfig::Amg(amg) if amg.coarse_filter < 1.0)
}

fn solver_chain(facts: &Facts, preconditioner: &PreconditionerConfig) -> Vec<SolverConfig> {
    let definite = facts.hermitian && facts.positive_diagonal();
    // The short recurrences need symmetry, which a one-sided sweep has not.
    let one_sided = preconditioner.symmetry() == Symmetry::OneSided;
    if preconditioner.symmetry() == Symmetry::Varying {
        let names: &[&str] = if definite {
            &["fcg", "fgmres"]
        } else {
            &["fgmres"]
        };
        return names.iter().map(|name| named_solver(name)).collect();
    }
    if preconditioner.name() == "struct-mg" && !facts.hermitian {
        // Its cycles are rounded to single precision: other than GMRES expects, they are no operator.
        let mut flexible = Fgmres::default();
        flexible.restart = SHORT_RESTART;
        return vec![SolverConfig::Fgmres(flexible), named_solver("bicgstab")];
    }
    let names: &[&str] = if one_sided || !facts.hermitian {
        &["gmres", "bicgstab"]
    } else if definite {
        &["cg", "minres", "gmres"]
    } else {
        &["minres", "gmres"]
    };
    names.iter().map(|name| named_solver(name)).collect()
}

/// A preconditioner, and the preset it is from.
#[derive(Clone)]
struct Choice {
    preconditioner: PreconditionerConfig,
    preset: Option<&'static str>,
}

impl Choice {
    fn of(preconditioner: PreconditionerConfig) -> Self {
        Self {
            preconditioner,
            preset: None,
        }
    }
}

fn insert_direct(rows: usize, pairs: &mut Vec<(SolverConfig, Choice)>) {
    if rows > DIRECT_SECOND {
        return;
    }
    let place = usize::from(rows > DIRECT_FIRST);
    let none = Choice::of(named_preconditioner("none"));
    pairs.insert(place, (named_solver("direct"), none));
}

fn preconditioner_chain(
    solver: &SolverConfig,
    config: &Config,
    known: Option<&NearNullspace>,
    facts: &Facts,
) -> Vec<Choice> {
    match &config.preconditioner {
        PreconditionerConfig::Auto(_) => {}
        // What is open depends on the near-nullspace, too.
        PreconditionerConfig::Amg(amg) if amg.test_space.is_none() => {
            let decided = amg.decided(|| facts.clone());
            return vec![Choice::of(PreconditionerConfig::Amg(decided))];
        }
        given => return vec![Choice::of(given.clone())],
    }
    let names: &[&str] = match solver.name() {
        "direct" => &["none"],
        "cg" | "fcg" | "pipecg" if facts.positive_diagonal() && !facts.complex => {
            let multigrids = multigrids(config, known, facts).into_iter();
            let others = ["ic0", "ssor", "jacobi"].map(named_preconditioner);
            return multigrids.chain(others.map(Choice::of)).collect();
        }
        "cg" | "fcg" | "pipecg" if facts.positive_diagonal() => &["ic0", "ssor", "jacobi"],
        "minres" => &["l1-jacobi", "none"],
        "cg" | "fcg" | "pipecg" => &["none"],
        "chebyshev" => &["jacobi", "none"],
        _ if facts.full_diagonal() && is_dominant(facts) => &["amg", "ilu0", "jacobi", "none"],
        _ if facts.full_diagonal() => &["ilu0", "jacobi", "none"],
        _ => &["none"],
    };
    let choice = |name: &&str| match *name {
        "amg" => multigrid(config, facts),
        other => named_preconditioner(other),
    };
    names.iter().map(choice).map(Choice::of).collect()
}

fn is_dominant(facts: &Facts) -> bool {
    !facts.complex && facts.symmetric_pattern && facts.dominant_rows >= DOMINANT
}

/// Multigrid for positive definite matrices, by what is known of their unknowns.
fn multigrids(config: &Config, known: Option<&NearNullspace>, facts: &Facts) -> Vec<Choice> {
    let first = |preset| Choice {
        preconditioner: multigrid(config, facts),
        preset,
    };
    let of_preset = |name| preset(config, name);
    match known {
        Some(known) if known.has_rigid_bodies() => {
            vec![first(Some(MECHANICS)), of_preset(THOROUGH)]
        }
        Some(known) if known.block_size() > 1 => vec![first(None), of_preset(MECHANICS)],
        _ if is_dominant(facts) => vec![first(None), of_preset(FLOW), of_preset(THOROUGH)],
        _ => vec![first(None), of_preset(THOROUGH)],
    }
}

fn multigrid(config: &Config, facts: &Facts) -> PreconditionerConfig {
    let mut amg = Amg::default();
    amg.precision = config.precision.map_or_else(Default::default, Into::into);
    PreconditionerConfig::Amg(amg.decided(|| facts.clone()))
}

fn preset(config: &Config, name: &'static str) -> Choice {
    let preset = Config::preset(name).expect("the preset can be read");
    let mut preconditioner = preset.preconditioner;
    if let (PreconditionerConfig::Amg(amg), Some(precision)) =
        (&mut preconditioner, config.precision)
    {
        amg.precision = precision.into();
    }
    Choice {
        preconditioner,
        preset: Some(name),
    }
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

fn reason(facts: &Facts, solver: &SolverConfig, choice: &Choice) -> String {
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
    let with = match &choice.preconditioner {
        PreconditionerConfig::None(_) => String::new(),
        PreconditionerConfig::Amg(amg) => format!(
            " with amg: {} coarsening, {} smoother, cycles in {}",
            amg.coarsening, amg.smoother, amg.precision
        ),
        other => format!(" with {}", other.name()),
    };
    let preset = choice.preset;
    let preset = preset.map_or(String::new(), |name| format!(" (preset {name})"));
    format!(
        "auto: {} rows, {symmetry}, {diagonal} → {}{with}{preset}",
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
        attempts(config, None, || facts)
            .iter()
            .map(|a| format!("{}+{}", a.solver.name(), a.preconditioner.name()))
            .collect()
    }

    #[test]
    fn the_matrix_decides() {
        let auto = Config::default();
        let definite = chain(&auto, |_| {});
        assert_eq!(definite[..4], ["cg+amg", "cg+amg", "cg+amg", "cg+ic0"]);
        let indefinite = chain(&auto, |facts| facts.negative_diagonal = 1);
        assert_eq!(indefinite[0], "minres+l1-jacobi");
        let general = chain(&auto, |facts| facts.hermitian = false);
        assert_eq!(general[..2], ["gmres+amg", "gmres+ilu0"]);
        let loose = chain(&auto, |facts| {
            (facts.hermitian, facts.dominant_rows) = (false, 0.5);
        });
        assert_eq!(loose[0], "gmres+ilu0");
        let saddle = chain(&auto, |facts| {
            (facts.hermitian, facts.zero_diagonal) = (false, 3);
        });
        assert_eq!(saddle[0], "gmres+none");
    }

    #[test]
    fn structured_multigrid_has_a_flexible_solver_of_few_vectors() {
        let config = Config::from_toml(r#"preconditioner = "struct-mg""#).unwrap();
        let a = Csr::diagonal_matrix(&Executor::reference(), vec![1.0, 2.0]);
        let mut facts = a.facts();
        facts.hermitian = false;
        let first = &attempts(&config, None, || facts)[0];
        let mut few = Fgmres::default();
        few.restart = SHORT_RESTART;
        assert_eq!(first.solver, SolverConfig::Fgmres(few));
    }

    #[cfg(feature = "direct")]
    #[test]
    fn small_systems_are_factorised_and_large_ones_are_not() {
        let auto = Config::default();
        assert_eq!(chain(&auto, |facts| facts.rows = 100)[0], "direct+none");
        let medium = chain(&auto, |facts| facts.rows = 10_000);
        assert_eq!(medium[..3], ["cg+amg", "direct+none", "cg+amg"]);
        assert!(!chain(&auto, |_| {}).contains(&"direct+none".to_owned()));
    }

    #[test]
    fn what_is_known_of_the_unknowns_names_the_preset() {
        let presets = |known: Option<&NearNullspace>, dominant_rows: f64| -> Vec<String> {
            let a = Csr::diagonal_matrix(&Executor::reference(), vec![1.0; 12]);
            let mut facts = a.facts();
            (facts.rows, facts.dominant_rows) = (100_000, dominant_rows);
            let tries = attempts(&Config::default(), known, || facts);
            let amg = tries.iter().filter(|t| t.preconditioner.name() == "amg");
            let preset = |t: &Attempt| {
                t.reason
                    .split_once("preset ")
                    .map(|(_, name)| name.to_owned())
            };
            amg.take_while(|t| t.solver.name() == "cg")
                .map(|t| preset(t).unwrap_or_default())
                .collect()
        };
        let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let modes = NearNullspace::rigid_body_modes(3, &corners).unwrap();
        assert_eq!(presets(Some(&modes), 1.0), ["mechanics)", "bamg-fsai)"]);
        let nodes = NearNullspace::components(3).unwrap();
        assert_eq!(presets(Some(&nodes), 1.0), ["", "mechanics)"]);
        assert_eq!(presets(None, 1.0), ["", "flow)", "bamg-fsai)"]);
        assert_eq!(presets(None, 0.5), ["", "bamg-fsai)"]);
    }

    #[test]
    fn what_the_user_chose_stays() {
        let config = Config::from_toml("solver = \"gmres\"").unwrap();
        let tries = chain(&config, |_| {});
        assert!(tries.iter().all(|t| t.starts_with("gmres+")));
        let config = Config::from_toml("preconditioner = \"sor\"").unwrap();
        assert_eq!(chain(&config, |_| {}), ["gmres+sor", "bicgstab+sor"]);
    }

    #[test]
    fn cycles_that_are_no_fixed_operator_take_a_flexible_solver() {
        for name in ["amg", "struct-mg"] {
            let read = |solver: &str, cycle: &str| {
                Config::from_toml(&format!(
                    "solver = \"{solver}\"\npreconditioner = {{name = \"{name}\", cycle = \"{cycle}\"}}"
                ))
                .unwrap()
            };
            let first = |cycle| chain(&read("auto", cycle), |_| {})[0].clone();
            for (cycle, solver) in [("v", "cg"), ("w", "cg"), ("k", "fcg"), ("full", "gmres")] {
                assert_eq!(first(cycle), format!("{solver}+{name}"), "{cycle}");
            }
            let general = chain(&read("auto", "k"), |facts| facts.hermitian = false);
            assert_eq!(general, [format!("fgmres+{name}")]);
            let check = |solver, cycle| {
                let config = read(solver, cycle);
                attempts(&config, None, || unreachable!("all is chosen"))[0].check()
            };
            assert!(check("cg", "v").is_ok() && check("fcg", "k").is_ok());
            let error = check("cg", "k").unwrap_err().to_string();
            assert!(error.contains("use fcg"), "{error}");
        }
    }

    #[test]
    fn filtered_coarse_matrices_take_a_solver_without_symmetry() {
        let multigrid = "preconditioner = {name = \"amg\", coarse-filter = 0.9}";
        for (solver, expected) in [("cg", "gmres"), ("fcg", "fcg"), ("auto", "gmres")] {
            let config = format!("solver = \"{solver}\"\n{multigrid}");
            let config = Config::from_toml(&config).unwrap();
            assert_eq!(chain(&config, |_| {})[0], format!("{expected}+amg"));
        }
        let config = Config::from_toml(&format!("solver = \"cg\"\n{multigrid}")).unwrap();
        let reason = attempts(&config, None, || unreachable!("all is chosen"))[0]
            .reason
            .clone();
        assert!(reason.ends_with("gmres in place of cg"), "{reason}");
    }
}
