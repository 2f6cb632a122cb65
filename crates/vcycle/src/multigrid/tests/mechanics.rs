//! Interpolation of rigid-body modes.

use super::*;
use crate::multigrid::strength::{Strength, Symmetric};

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
