//! Interpolation of rigid-body modes.

use super::*;
use crate::solver::Gmres;

#[test]
fn filtered_coarse_matrices_are_smaller_and_do_the_same_to_rigid_bodies() {
    let (a, modes) = body("elasticity:12x6x6", &Executor::cpu());
    let a: Matrix = Arc::new(a);
    let with = |coarse_filter: f64, energy_steps: usize| {
        let amg = amg(&format!(
            "coarse-filter={coarse_filter:?}, energy-steps={energy_steps}"
        ));
        let made = amg.hierarchy_with(&a, &modes, &Workspace::new()).unwrap();
        let complexity = made.report().operator_complexity();
        assert_eq!(made.report().notes.len(), usize::from(coarse_filter < 1.0));
        let outcome = solved(Gmres::default(), &a, Arc::new(made));
        assert!(outcome.converged(), "{outcome}");
        (complexity, outcome.iterations)
    };
    let (all, filtered, minimised) = (with(1.0, 0), with(0.95, 0), with(1.0, 2));
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
    let (a, modes) = body("elasticity:16x6x6", &Executor::cpu());
    let a: Matrix = Arc::new(a);
    let constants = NearNullspace::components(3).unwrap();
    let with = |interpolation: &str| {
        amg(&format!(
            "strength={{\"kind\":\"symmetric\"}}, coarsening=pmis, smoother=fsai, precision=dp, \
             interpolation={interpolation}"
        ))
    };
    let count = |interpolation, near: &NearNullspace| {
        let made = with(interpolation).hierarchy_with(&a, near, &Workspace::new());
        let made = made.unwrap();
        assert!(made.report().levels.len() > 1, "{made}");
        assert!(made.report().operator_complexity() < 2.0, "{made}");
        iterations_with(&a, made)
    };
    let without = count("bamg", &constants);
    let plain = count("bamg", &modes);
    let smoothed = count("sbamg", &modes);
    let filtered = count("fbamg", &modes);
    assert!(plain < without && smoothed <= plain);
    assert!(4 * filtered <= 5 * smoothed + 4);
    let nodes = testing::with(&with("bamg"), "systems=node");
    let refused = nodes.hierarchy_with(&a, &modes, &Workspace::new());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("systems: "), "{refused}");
}
