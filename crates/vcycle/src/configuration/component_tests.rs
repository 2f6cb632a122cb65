//! Components by their names and parameters.

use std::sync::Arc;

use super::components::{PreconditionerConfig, SolverConfig};
use crate::config::{Config, Solution, solve};
use crate::error::ConfigError;
use crate::executor::{Executor, Workspace};
use crate::gallery;
use crate::registration::Symmetry;
use crate::vector::Vector;

#[test]
fn parameters_follow_a_colon_and_those_of_parameters_a_dot() {
    let jacobi: PreconditionerConfig = "jacobi:0.9".parse().unwrap();
    assert_eq!(jacobi, "jacobi:weight=0.9".parse().unwrap());
    let text = "amg:hmis,smoother=jacobi:0.5,truncation.max-elements=6";
    let (PreconditionerConfig::Jacobi(jacobi), PreconditionerConfig::Amg(amg)) =
        (jacobi, text.parse().unwrap())
    else {
        panic!("jacobi and amg expected");
    };
    assert_eq!(jacobi.weight, 0.9);
    assert_eq!(amg.coarsening.name(), "hmis");
    assert_eq!(amg.smoother.to_string(), "jacobi:0.5");
    assert_eq!(amg.truncation.max_elements, 6);
    let error = "amg:cycle=x".parse::<PreconditionerConfig>().unwrap_err();
    assert!(error.to_string().contains("unknown cycle `x`"), "{error}");
}

#[test]
fn the_brief_form_has_what_differs_and_means_the_same() {
    let brief = |text: &str| {
        let given: PreconditionerConfig = text.parse().unwrap();
        let brief = given.brief();
        assert_eq!(brief.parse::<PreconditionerConfig>().unwrap(), given);
        brief
    };
    for (text, expected) in [
        ("amg", "amg"),
        ("none", "none"),
        ("jacobi:0.9", "jacobi:weight=0.9"),
        ("amg:hmis,cycle=w", "amg:coarsening=hmis,cycle=w"),
        (
            "amg:truncation.max-elements=6",
            "amg:truncation.max-elements=6",
        ),
    ] {
        assert_eq!(brief(text), expected);
    }
}

#[test]
fn every_default_survives_its_own_serialisation() {
    for solver in SolverConfig::all() {
        let value = serde_json::to_value(&solver).unwrap();
        assert_eq!(SolverConfig::from_value(value).unwrap(), solver);
        assert_eq!(solver.to_string().parse::<SolverConfig>().unwrap(), solver);
    }
    for one in PreconditionerConfig::all() {
        let value = serde_json::to_value(&one).unwrap();
        assert_eq!(PreconditionerConfig::from_value(value).unwrap(), one);
        assert_eq!(
            one.to_string().parse::<PreconditionerConfig>().unwrap(),
            one
        );
    }
}

#[test]
fn wrong_names_keys_and_values_are_distinguished() {
    let error = |text: &str| text.parse::<PreconditionerConfig>().unwrap_err();
    assert_eq!(
        error("jacobbi").to_string(),
        "unknown preconditioner `jacobbi`; did you mean `jacobi`?"
    );
    assert_eq!(
        error("jacobi:wieght=2").to_string(),
        "unknown key `wieght` in preconditioner jacobi; did you mean `weight`?"
    );
    assert!(matches!(error("jacobi:much"), ConfigError::BadValue { key, .. } if key == "weight"));
    assert!(matches!(error("jacobi:1,2"), ConfigError::BadValue { .. }));
}

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
