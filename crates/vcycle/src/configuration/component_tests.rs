//! Components by their names and parameters.

use super::components::{PreconditionerConfig, SolverConfig};
use crate::error::ConfigError;

#[test]
fn a_parameter_may_follow_a_colon() {
    let jacobi: PreconditionerConfig = "jacobi:0.9".parse().unwrap();
    let named: PreconditionerConfig = "jacobi:weight=0.9".parse().unwrap();
    assert_eq!(jacobi, named);
    let PreconditionerConfig::Jacobi(parameters) = jacobi else {
        panic!("jacobi expected");
    };
    assert_eq!(parameters.weight, 0.9);
}

#[test]
fn parameters_of_parameters_follow_a_dot() {
    let text = "amg:hmis,smoother=jacobi:0.5,truncation.max-elements=6";
    let PreconditionerConfig::Amg(amg) = text.parse().unwrap() else {
        panic!("amg expected");
    };
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
        assert_eq!(
            given.brief().parse::<PreconditionerConfig>().unwrap(),
            given
        );
        given.brief()
    };
    assert_eq!(brief("amg"), "amg");
    assert_eq!(brief("none"), "none");
    assert_eq!(brief("jacobi:0.9"), "jacobi:weight=0.9");
    assert_eq!(
        brief("amg:hmis,truncation.max-elements=6"),
        "amg:coarsening=hmis,truncation.max-elements=6"
    );
}

#[test]
fn every_default_survives_its_own_serialisation() {
    for solver in SolverConfig::all() {
        let value = serde_json::to_value(&solver).unwrap();
        assert_eq!(SolverConfig::from_value(value).unwrap(), solver);
        assert_eq!(solver.to_string().parse::<SolverConfig>().unwrap(), solver);
    }
    for preconditioner in PreconditionerConfig::all() {
        let value = serde_json::to_value(&preconditioner).unwrap();
        let read = PreconditionerConfig::from_value(value).unwrap();
        assert_eq!(read, preconditioner);
        let text = preconditioner.to_string();
        assert_eq!(
            text.parse::<PreconditionerConfig>().unwrap(),
            preconditioner
        );
    }
}

#[test]
fn wrong_names_keys_and_values_are_told_apart() {
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
