//! Multigrid as configurations and presets ask for it.

use std::sync::Arc;

use vcycle::config::{Config, PreconditionerConfig};
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::LinOp;
use vcycle::multigrid::strength::{Strength, Symmetric};
use vcycle::multigrid::{Amg, NearNullspace, Smoother};
use vcycle::{Error, gallery};

type Matrix = Arc<dyn LinOp<f64>>;

/// The multigrid of a preset, for a body and its rigid motions.
fn preset(name: &str) -> (Amg, Matrix, NearNullspace) {
    let built = gallery::build("elasticity:6x3x3", &Executor::cpu()).unwrap();
    let config = Config::preset(name).unwrap();
    let PreconditionerConfig::Amg(amg) = config.preconditioner else {
        panic!("{name} is multigrid");
    };
    (amg, Arc::new(built.matrix), built.near_nullspace.unwrap())
}

#[test]
fn what_mechanics_may_be_given_wrong_is_named_or_cured() {
    let (mut amg, a, modes) = preset("bamg-fsai");
    amg.coarsest_rows = 20;
    let mut plain = amg.clone();
    plain.test_space = None;
    let set_up = |amg: &Amg, near: &NearNullspace| amg.hierarchy_with(&a, near, &Workspace::new());

    // A vector that is there twice: an error where spaces are searched, else it counts once.
    let mut twice = modes.vectors().to_vec();
    twice.push(twice[2].clone());
    let twice = NearNullspace::new(3, twice).unwrap();
    let error = set_up(&amg, &twice).unwrap_err();
    assert!(matches!(error, Error::DependentVectors { vector: 6, .. }));
    let levels = |near| set_up(&plain, near).unwrap().report().levels.clone();
    assert_eq!(levels(&twice)[1].rows, levels(&modes)[1].rows);

    let mut broken = modes.vectors().to_vec();
    broken[1][7] = f64::NAN;
    let broken = NearNullspace::new(3, broken).and_then(|near| set_up(&amg, &near));
    let error = broken.unwrap_err();
    assert!(matches!(
        error,
        Error::NonFiniteVector {
            row: 7,
            column: 1,
            ..
        }
    ));

    let short = NearNullspace::new(3, vec![vec![1.0; 9]]).unwrap();
    let error = set_up(&plain, &short).unwrap_err();
    assert!(matches!(error, Error::SizeMismatch { .. }));

    let mut strength = Symmetric::default();
    strength.threshold = 2.0;
    let mut alone = plain.clone();
    alone.strength = Strength::Symmetric(strength);
    let made = set_up(&alone, &modes).unwrap();
    let stalled = made.report().stalled.clone().unwrap();
    let expected = "0 of 288 unknowns are coarse";
    assert!(stalled.ends_with(expected), "{stalled}");

    let mut indefinite = gallery::build("elasticity:6x3x3", &Executor::cpu())
        .unwrap()
        .matrix;
    let row = indefinite.pattern().range(9);
    indefinite.values_mut()[row]
        .iter_mut()
        .for_each(|value| *value = -*value);
    let indefinite: Matrix = Arc::new(indefinite);
    let error = plain.hierarchy_with(&indefinite, &modes, &Workspace::new());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("row 9"), "{error}");
}

#[test]
fn where_too_few_vectors_are_given_they_are_found_and_interpolated() {
    let (amg, a, modes) = preset("mechanics");
    let chosen = |near: &NearNullspace| {
        let made = amg.hierarchy_with(&a, near, &Workspace::new()).unwrap();
        let amg = made.amg().clone();
        format!(
            "{} {} {}",
            amg.coarsening.name(),
            amg.smoother,
            amg.precision
        )
    };
    let of = |coarsening: &str, smoother: &str, precision: &str| {
        let smoother: Smoother = smoother.parse().unwrap();
        format!("{coarsening} {smoother} {precision}")
    };
    assert_eq!(chosen(&modes), of("sa", "chebyshev:2", "sp"));
    let found = chosen(&NearNullspace::components(3).unwrap());
    assert_eq!(found, of("pmis", "fsai:4:5", "dp"));
}

#[test]
fn files_may_name_levels_and_wrong_keys_are_reported() {
    let read = |levels: &str| {
        Config::from_toml(&format!(
            "[preconditioner]\nname = \"amg\"\nlevels = [{levels}]"
        ))
    };
    let config = read("{ from = 2, coarsest = \"direct\" }").unwrap();
    assert_eq!(Config::from_toml(&config.to_toml()).unwrap(), config);
    let error = read("{ form = 2 }").unwrap_err().to_string();
    assert_eq!(
        error,
        "unknown key `form` in preconditioner amg, levels; did you mean `from`?"
    );
}
