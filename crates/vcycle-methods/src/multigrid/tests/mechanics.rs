//! Interpolation of rigid-body modes.

use super::*;
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
