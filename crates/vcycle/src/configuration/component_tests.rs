//! Components by their names and parameters.

use super::components::{PreconditionerConfig, SolverConfig};
use crate::error::ConfigError;

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
