//! Interpolation of rigid-body modes.

use super::*;
use crate::config::{Config, PreconditionerConfig};
use crate::error::Error;
use crate::multigrid::strength::{Strength, Symmetric};
use crate::solver::Gmres;

#[test]
fn filtered_coarse_matrices_are_smaller_and_do_the_same_to_rigid_bodies() {
    let built = gallery::build("elasticity:12x6x6", &Executor::cpu()).unwrap();
    let (a, modes): (Matrix, _) = (Arc::new(built.matrix), built.near_nullspace.unwrap());
    let with = |coarse_filter, energy_steps| {
        let amg = Amg {
            coarse_filter,
            energy_steps,
            ..Amg::default()
        };
        let made = amg.hierarchy_with(&a, &modes, &Workspace::new()).unwrap();
        let complexity = made.report().operator_complexity();
        assert_eq!(made.report().notes.len(), usize::from(coarse_filter < 1.0));
        let solver = Solver::new(Gmres::default(), Arc::clone(&a)).unwrap();
        let solver = solver.with_preconditioner(Arc::new(made)).unwrap();
        let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
        let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
        let outcome = outcome.unwrap();
        assert!(outcome.converged(), "{outcome}");
        (complexity, outcome.iterations)
    };
    let (all, filtered, minimised) = (with(1.0, 0), with(0.95, 0), with(1.0, 2));
    eprintln!("all {all:?}, filtered {filtered:?}, energy minimised {minimised:?}");
    assert!(filtered.0 < all.0 && filtered.1 <= all.1 + 5);
    assert!((minimised.0 - all.0).abs() < 0.01 && minimised.1 < all.1);
    for coarse_filter in [0.0, 1.5, f64::NAN] {
        let amg = Amg {
            coarse_filter,
            ..Amg::default()
        };
        let error = hierarchy(&amg, &a).unwrap_err().to_string();
        assert!(error.starts_with("coarse-filter: "), "{error}");
    }
}

#[test]
fn rigid_bodies_are_worth_being_interpolated() {
    let built = gallery::build("elasticity:16x6x6", &Executor::cpu()).unwrap();
    let (a, modes): (Matrix, _) = (Arc::new(built.matrix), built.near_nullspace.unwrap());
    let constants = NearNullspace::components(3).unwrap();
    let with = |interpolation| Amg {
        strength: Strength::Symmetric(Symmetric::default()),
        coarsening: Coarsening::Pmis,
        interpolation,
        smoother: "fsai".parse().unwrap(),
        precision: "dp".parse().unwrap(),
        ..Amg::default()
    };
    let count = |interpolation, near: &NearNullspace| {
        let made = with(interpolation).hierarchy_with(&a, near, &Workspace::new());
        let made = made.unwrap();
        assert!(made.report().levels.len() > 1, "{made}");
        assert!(made.report().operator_complexity() < 2.0, "{made}");
        let solver = Solver::new(Cg::default(), Arc::clone(&a)).unwrap();
        let solver = solver.with_preconditioner(Arc::new(made)).unwrap();
        let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
        let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
        let outcome = outcome.unwrap();
        assert!(outcome.converged(), "{interpolation}: {outcome}");
        outcome.iterations
    };
    let without = count(Interpolation::Bamg, &constants);
    let plain = count(Interpolation::Bamg, &modes);
    let smoothed = count(Interpolation::SmoothedBamg, &modes);
    let filtered = count(Interpolation::FilteredBamg, &modes);
    eprintln!("constants {without}, modes {plain}, smoothed {smoothed}, filtered {filtered}");
    assert!(plain < without && smoothed <= plain);
    assert!(4 * filtered <= 5 * smoothed + 4);
    let nodes = Amg {
        systems: Systems::Node,
        ..with(Interpolation::Bamg)
    };
    let refused = nodes.hierarchy_with(&a, &modes, &Workspace::new());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("systems: "), "{refused}");
}

#[test]
fn what_mechanics_may_be_given_wrong_is_named_or_cured() {
    let built = gallery::build("elasticity:6x3x3", &Executor::cpu()).unwrap();
    let (a, modes): (Matrix, _) = (Arc::new(built.matrix), built.near_nullspace.unwrap());
    let config = Config::preset("bamg-fsai").unwrap();
    let PreconditionerConfig::Amg(amg) = config.preconditioner else {
        panic!("bamg-fsai is multigrid");
    };
    let amg = Amg {
        coarsest_rows: 20,
        ..amg
    };
    let plain = Amg {
        test_space: None,
        ..amg.clone()
    };
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
    assert!(matches!(
        broken.unwrap_err(),
        Error::NonFiniteVector {
            row: 7,
            column: 1,
            ..
        }
    ));

    let short = NearNullspace::new(3, vec![vec![1.0; 9]]).unwrap();
    assert!(matches!(
        set_up(&plain, &short).unwrap_err(),
        Error::SizeMismatch { .. }
    ));

    let alone = Amg {
        strength: Strength::Symmetric(Symmetric {
            threshold: 2.0,
            ..Symmetric::default()
        }),
        ..plain.clone()
    };
    let made = set_up(&alone, &modes).unwrap();
    let stalled = made.report().stalled.clone().unwrap();
    assert!(
        stalled.ends_with("0 of 288 unknowns are coarse"),
        "{stalled}"
    );

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
    let built = gallery::build("elasticity:6x3x3", &Executor::cpu()).unwrap();
    let (a, modes): (Matrix, _) = (Arc::new(built.matrix), built.near_nullspace.unwrap());
    let config = Config::preset("mechanics").unwrap();
    let PreconditionerConfig::Amg(amg) = config.preconditioner else {
        panic!("mechanics is multigrid");
    };
    let chosen = |near: &NearNullspace| {
        let made = amg.hierarchy_with(&a, near, &Workspace::new()).unwrap();
        let amg = made.amg().clone();
        (amg.coarsening, amg.smoother, amg.precision.to_string())
    };
    let cheap = (
        Coarsening::Greedy,
        "chebyshev:2".parse().unwrap(),
        "sp".to_owned(),
    );
    assert_eq!(chosen(&modes), cheap);
    let found = (
        Coarsening::Pmis,
        "fsai:20".parse().unwrap(),
        "dp".to_owned(),
    );
    assert_eq!(chosen(&NearNullspace::components(3).unwrap()), found);
}
