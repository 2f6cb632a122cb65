//! What `auto` tries, in order, and why.

use super::attempt::Attempt;
use super::case::Case;
use super::costs::analysis;
use super::facts::Findings;
use super::rules::{SHORT_FGMRES, combinations, named};
use crate::configuration::{
    Config, MatchingKind, PreconditionerConfig, Preprocessing, SolverConfig, Sort,
};
use crate::executor::Workspace;
use crate::matrix::{Csr, Facts};
use crate::multigrid::{Cycle, NearNullspace};
use crate::registration::{Need, Symmetry};
use crate::scalar::Scalar;

/// What a configuration means for a matrix: the combinations to try, best first.
///
/// Where both are `auto`, they are those of the table in `driver/rules.rs`; over ranks without what needs the rows of all. Where one is given, the other is what the
/// table has beside it. A solver for a preconditioner that was given:
///
/// | matrix | solvers |
/// |---|---|
/// | Hermitian, positive diagonal | `cg`, `minres`, `gmres` |
/// | Hermitian otherwise | `minres`, `gmres` |
/// | any other | `gmres`, `bicgstab`; with multigrid `fgmres`, with `struct-mg` of 20 vectors |
///
/// A preconditioner that varies, such as multigrid with K-cycles, takes `fcg` in place of `cg` and `fgmres` in place
/// of all others.
///
/// A preconditioner whose set-up fails gives way to the next one, and so does multigrid that has not converged after
/// 200 iterations, or what comes before `direct` or `ilut` after 1000. A preconditioner that was given and finds no pivot is set
/// up once more after matching, unless the solver needs its symmetry or `match` is given.
///
/// Without `auto` there is exactly one attempt, and nothing is asked of the matrix.
pub fn attempts<F: Into<Findings>>(
    config: &Config,
    known: Option<&NearNullspace>,
    find: impl FnOnce() -> F,
) -> Vec<Attempt> {
    let found = try_attempts(config, known, || Ok(find().into()));
    found.expect("what is found does not fail")
}

/// The same for a matrix, the order and fill of whose factors are looked for where they may matter.
pub fn attempts_of<T: Scalar>(
    config: &Config,
    known: Option<&NearNullspace>,
    mut found: Findings,
    a: &Csr<T>,
) -> Vec<Attempt> {
    let all = attempts(config, known, || found.clone());
    match analysis(config, known, &mut found, &all[0], a, &Workspace::new()) {
        Some(_) => attempts(config, known, || found),
        None => all,
    }
}

/// The same where finding may fail.
pub(super) fn try_attempts(
    config: &Config,
    known: Option<&NearNullspace>,
    find: impl FnOnce() -> crate::Result<Findings>,
) -> crate::Result<Vec<Attempt>> {
    let (solver, preconditioner) = (&config.solver, &config.preconditioner);
    if !solver.is_auto() && !preconditioner.is_auto() {
        return Ok(vec![chosen(config)]);
    }
    let found = &find()?;
    let case = Case {
        config,
        known,
        found,
    };
    Ok(match (solver.is_auto(), preconditioner.is_auto()) {
        (true, true) => combinations(&case, None),
        (false, _) => combinations(&case, Some(solver)),
        (true, false) => {
            let attempt = |solver| Attempt {
                solver,
                preconditioner: decided(preconditioner, &found.facts),
                ..chosen(config)
            };
            let solvers = solver_chain(&found.facts, config).into_iter();
            solvers
                .map(|solver| attempt(solver).explained(found, "", None))
                .collect()
        }
    })
}

/// A preconditioner that was given, with what it leaves open. What is open of a test space depends on
/// the near-nullspace, too.
fn decided(given: &PreconditionerConfig, facts: &Facts) -> PreconditionerConfig {
    match given.sort() {
        Sort::Amg(amg) if amg.test_space.is_none() => {
            PreconditionerConfig::Amg(amg.decided(|| facts.clone()))
        }
        Sort::Amg(_)
        | Sort::Auto
        | Sort::None
        | Sort::StructMg(_)
        | Sort::Iterations
        | Sort::OfEntries => given.clone(),
    }
}

/// What the user chose, and what to say of it where solver and preconditioner do not fit each other.
fn chosen(config: &Config) -> Attempt {
    Attempt {
        solver: config.solver.clone(),
        preconditioner: config.preconditioner.clone(),
        preprocessing: config.preprocessing(Preprocessing::default()),
        preset: None,
        reason: warning(config),
        seconds: None,
        most_iterations: None,
    }
}

/// Whether it is multigrid whose parameters cost it its symmetry. Its cycles are rounded to single precision: other
/// than GMRES expects, they are no operator.
fn loses_symmetry(preconditioner: &PreconditionerConfig) -> bool {
    matches!(preconditioner.sort(), Sort::Amg(_) | Sort::StructMg(_))
        && preconditioner.symmetry() == Symmetry::OneSided
}

/// Whether the user asks for matching, which costs symmetry.
fn matches(config: &Config) -> bool {
    let kind = config.matching.unwrap_or_default();
    kind != MatchingKind::None
}

fn solver_chain(facts: &Facts, config: &Config) -> Vec<SolverConfig> {
    let preconditioner = &config.preconditioner;
    let definite = facts.hermitian && facts.positive_diagonal();
    // The short recurrences need symmetry, which a one-sided sweep has not.
    let one_sided = preconditioner.symmetry() == Symmetry::OneSided || matches(config);
    let is_multigrid = matches!(preconditioner.sort(), Sort::Amg(_));
    let is_structured = matches!(preconditioner.sort(), Sort::StructMg(_));
    let chain: &[&str] = if preconditioner.symmetry() == Symmetry::Varying {
        match definite {
            true => &["fcg", "fgmres"],
            false => &["fgmres"],
        }
    } else if is_structured && !facts.hermitian {
        // Its cycles are rounded to single precision: other than GMRES expects, they are no operator.
        &[SHORT_FGMRES, "bicgstab"]
    } else if is_multigrid && !facts.hermitian || loses_symmetry(preconditioner) {
        &["fgmres", "bicgstab"]
    } else if one_sided || !facts.hermitian {
        &["gmres", "bicgstab"]
    } else if definite {
        &["cg", "minres", "gmres"]
    } else {
        &["minres", "gmres"]
    };
    chain.iter().map(|name| named(name)).collect()
}

/// A warning where a solver needs a symmetric preconditioner and gets one that is not; empty where they fit.
fn warning(config: &Config) -> String {
    let (solver, preconditioner) = (&config.solver, &config.preconditioner);
    let is_matched = matches(config);
    let one_sided = preconditioner.symmetry() == Symmetry::OneSided || is_matched;
    if !one_sided || !solver.has_need(Need::SymmetricPreconditioner) {
        return String::new();
    }
    format!(
        "warning: {} needs a symmetric preconditioner, which {}{} is not, and may not converge; fgmres and gmres do \
         not need one",
        solver.name(),
        preconditioner.name(),
        match is_matched {
            true => " of a matched matrix",
            false => cause(preconditioner),
        }
    )
}

/// What costs multigrid its symmetry.
fn cause(preconditioner: &PreconditionerConfig) -> &'static str {
    let of_cycle = |cycle: Cycle| match cycle {
        Cycle::F => " with F-cycles",
        Cycle::Full => " with full multigrid cycles",
        Cycle::V | Cycle::W | Cycle::K => " with other sweeps before the correction than after it",
    };
    match preconditioner.sort() {
        Sort::Amg(amg) if amg.coarse_filter < 1.0 => " with filtered coarse matrices",
        Sort::Amg(amg) => of_cycle(amg.cycle),
        Sort::StructMg(structured) => of_cycle(structured.cycle),
        Sort::Auto | Sort::None | Sort::Iterations | Sort::OfEntries => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_has, config};
    use super::*;
    use crate::executor::Executor;
    use crate::matrix::Csr;

    /// The facts of a diagonal matrix of many rows, altered.
    fn facts(alter: impl FnOnce(&mut Facts)) -> Facts {
        let mut facts = Csr::diagonal_matrix(&Executor::reference(), vec![1.0, 2.0]).facts();
        (facts.rows, facts.strongly_dominant_rows) = (100_000, 0.0);
        alter(&mut facts);
        facts
    }

    /// The attempts for it, as `solver+preconditioner`.
    fn chain(options: &str, alter: impl FnOnce(&mut Facts)) -> Vec<String> {
        let all = attempts(&config(options), None, || facts(alter)).into_iter();
        all.map(|a| format!("{}+{}", a.solver.name(), a.preconditioner.name()))
            .collect()
    }

    /// What is chosen where nothing is open.
    fn given(options: &str) -> Attempt {
        let found = || -> Facts { unreachable!("all is chosen") };
        attempts(&config(options), None, found).swap_remove(0)
    }

    /// Fails unless the attempts for a matrix of so many rows begin so.
    fn check(rows: usize, alter: fn(&mut Facts), expected: &str) {
        let alter = |facts: &mut Facts| {
            facts.rows = rows;
            alter(facts);
        };
        let found = chain("", alter).join(" ");
        assert!(found.starts_with(expected), "{expected}: {found}");
    }

    #[test]
    fn the_matrix_decides() {
        let rows = 100_000;
        check(rows, |_| {}, "cg+amg cg+amg cg+amg cg+ic0");
        check(
            rows,
            |facts| facts.negative_diagonal = 1,
            "minres+l1-jacobi ",
        );
        check(
            rows,
            |facts| facts.hermitian = false,
            "fgmres+amg gmres+ilu0 ",
        );
        let loose = |facts: &mut Facts| (facts.hermitian, facts.dominant_rows) = (false, 0.5);
        check(rows, loose, "gmres+ilu0 ");
        let saddle = |facts: &mut Facts| (facts.hermitian, facts.zero_diagonal) = (false, 3);
        check(rows, saddle, "gmres+ilut gmres+none ");
        let strong = |facts: &mut Facts| facts.strongly_dominant_rows = 1.0;
        check(rows, strong, "cg+jacobi cg+amg ");
    }

    #[cfg(feature = "direct")]
    #[test]
    fn small_and_ill_conditioned_systems_are_factorised_and_large_ones_are_not() {
        let loose = |facts: &mut Facts| facts.dominant_rows = 0.5;
        check(100, |_| {}, "direct+none ");
        check(9_000, loose, "direct+none ");
        check(9_000, |facts| facts.smallest = 1e-9, "direct+none ");
        check(9_000, |_| {}, "cg+amg ");
        check(10_000, |_| {}, "cg+amg direct+none cg+amg ");
        check(30_000, loose, "cg+amg ");
        assert!(!chain("", |_| {}).contains(&"direct+none".to_owned()));
    }

    #[test]
    fn what_is_known_of_the_unknowns_names_the_preset() {
        let presets = |known: Option<&NearNullspace>, dominant_rows: f64| -> Vec<String> {
            let facts = || facts(|facts| facts.dominant_rows = dominant_rows);
            let tries = attempts(&Config::default(), known, facts);
            let amg = tries.iter().filter(|t| t.preconditioner.name() == "amg");
            let preset = |t: &Attempt| {
                let found = t.reason.split_once("preset ");
                found.map_or(String::new(), |(_, name)| name.to_owned())
            };
            amg.take_while(|t| t.solver.name() == "cg")
                .map(preset)
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
        let tries = chain("solver=gmres", |_| {});
        assert!(tries.iter().all(|t| t.starts_with("gmres+")));
        let tries = chain("preconditioner=sor", |_| {});
        assert_eq!(tries, ["gmres+sor", "bicgstab+sor"]);
    }

    #[test]
    fn cycles_that_are_no_fixed_operator_take_a_flexible_solver() {
        for name in ["amg", "struct-mg"] {
            let cycles = ["v", "w", "f", "k", "full"];
            for (cycle, solver) in cycles
                .into_iter()
                .zip(["cg", "cg", "fgmres", "fcg", "fgmres"])
            {
                let tries = chain(&format!("preconditioner={name}:cycle={cycle}"), |_| {});
                assert_eq!(tries[0], format!("{solver}+{name}"), "{cycle}");
            }
            let options = format!("preconditioner={name}:cycle=k");
            let general = chain(&options, |facts| facts.hermitian = false);
            assert_eq!(general, [format!("fgmres+{name}")]);
            let check = |solver: &str, cycle: &str| {
                let options = format!("solver={solver} preconditioner={name}:cycle={cycle}");
                given(&options).check()
            };
            assert!(check("cg", "v").is_ok() && check("fcg", "k").is_ok());
            assert_has(check("cg", "k").unwrap_err(), "use fcg");
        }
        let structured = config("preconditioner=struct-mg");
        let general = || facts(|facts| facts.hermitian = false);
        let first = &attempts(&structured, None, general)[0];
        assert_eq!(first.solver, named(SHORT_FGMRES));
    }

    #[test]
    fn filtered_coarse_matrices_take_a_solver_without_symmetry() {
        for (solver, expected) in [("cg", "cg"), ("fcg", "fcg"), ("auto", "fgmres")] {
            let options = format!("solver={solver} preconditioner=amg:coarse-filter=0.9");
            assert_eq!(chain(&options, |_| {})[0], format!("{expected}+amg"));
        }
        let filtered = given("solver=cg preconditioner=amg:coarse-filter=0.9");
        assert_has(filtered.reason, "warning: cg needs");
    }

    #[test]
    fn a_preconditioner_without_symmetry_is_reported() {
        let message = |solver: &str, preconditioner: &str| {
            let options = format!("solver={solver} preconditioner={preconditioner}");
            warning(&config(&options))
        };
        let one_sided = "sor isai multicolour-gs amg:cycle=f amg:cycle=full amg:coarse-filter=0.9 amg:post-sweeps=2 \
                         amg:post-smoother=jacobi struct-mg:cycle=f struct-mg:pre-sweeps=1";
        let symmetric = "ssor ilu0 isai:spd amg amg:smoother=gs struct-mg";
        for solver in ["cg", "fcg", "pipecg", "minres", "chebyshev"] {
            let warning = format!("warning: {solver} needs a symmetric preconditioner");
            for preconditioner in one_sided.split_whitespace() {
                assert_has(message(solver, preconditioner), &warning);
            }
            for preconditioner in symmetric.split_whitespace() {
                assert_eq!(message(solver, preconditioner), "", "{preconditioner}");
            }
        }
        assert_eq!(message("gmres", "sor"), "");
        assert_has(message("cg", "ic0 match=mc64"), "ic0 of a matched matrix");
        let filtered = message("cg", "amg:coarse-filter=0.9");
        assert_has(filtered, "amg with filtered coarse matrices");
    }
}
