//! Hierarchies of other values against fresh ones.

use super::*;
use crate::multigrid::Coarsening;
use crate::multigrid::testing::{self, Matrix, apply, body, irregular, iterations_with};

fn grid(spec: &str) -> Csr<f64> {
    let cpu = Executor::cpu();
    crate::gallery::build(spec, &cpu).unwrap().matrix
}

fn with(coarsening: Coarsening) -> Amg {
    testing::amg(&format!("coarsening={coarsening}, coarsest-rows=20"))
}

fn setup(amg: &Amg, a: &Matrix) -> (Setup, Hierarchy<f64>) {
    amg.setup(a, &Workspace::new()).unwrap()
}

fn update(setup: &Setup, a: &Matrix) -> Hierarchy<f64> {
    setup.update_values(a, &Workspace::new()).unwrap()
}

/// One cycle for a vector without any regularity.
fn cycle(m: &Hierarchy<f64>) -> Vec<f64> {
    apply(m, &irregular(m, 0.0)).to_vec()
}

fn rows(m: &Hierarchy<f64>) -> Vec<usize> {
    m.report().levels.iter().map(|level| level.rows).collect()
}

#[test]
fn the_same_values_give_the_same_bits() {
    let a: Matrix = Arc::new(grid("jump7:14,1e3"));
    for coarsening in Coarsening::ALL {
        for precision in ["dp", "dp-sp/hp"] {
            let options = format!("precision={precision}, scaling=equilibrate");
            let amg = testing::with(&with(coarsening), &options);
            let plain = cycle(&amg.hierarchy(&a, &Workspace::new()).unwrap());
            let (setup, first) = setup(&amg, &a);
            assert!(setup.steps.iter().all(|step| step.product.is_some()));
            assert_eq!(cycle(&first), plain, "{coarsening} {precision}");
            assert_eq!(cycle(&update(&setup, &a)), plain, "{coarsening}");
            let part = setup.keeping(1).unwrap();
            assert_eq!(cycle(&update(&part, &a)), plain, "{coarsening}");
        }
    }
}

#[test]
fn blocks_of_nodes_are_renewed_too() {
    let (matrix, near) = body("elasticity:10x5x5", &Executor::cpu());
    let a: Matrix = Arc::new(matrix.clone());
    let amg = with(Coarsening::Greedy);
    let (setup, first) = amg.setup_with(&a, &near, &Workspace::new()).unwrap();
    assert!(first.report().levels.len() > 2);
    assert!(setup.steps.iter().any(|step| step.product.is_none()));
    assert_eq!(cycle(&update(&setup, &a)), cycle(&first));
    let stiffer: Matrix = Arc::new(matrix.scale(3.0).unwrap());
    let part = setup.clone().keeping(1).unwrap();
    let fresh = amg.hierarchy_with(&stiffer, &near, &Workspace::new());
    let fresh = iterations_with(&stiffer, fresh.unwrap());
    for setup in [setup, part] {
        let renewed = iterations_with(&stiffer, update(&setup, &stiffer));
        assert!(renewed <= fresh + 2, "{renewed} against {fresh}");
    }
}

#[test]
fn a_factor_changes_no_iteration() {
    let (one, two) = (grid("poisson5:64"), grid("poisson5:64").scale(2.0).unwrap());
    let (one, two): (Matrix, Matrix) = (Arc::new(one), Arc::new(two));
    for coarsening in [Coarsening::Pmis, Coarsening::Greedy] {
        let (setup, first) = setup(&with(coarsening), &one);
        let renewed = update(&setup, &two);
        let halves: Vec<f64> = cycle(&first).iter().map(|x| x / 2.0).collect();
        assert_eq!(cycle(&renewed), halves);
        assert_eq!(iterations_with(&two, renewed), iterations_with(&one, first));
    }
}

#[test]
fn slow_changes_need_about_the_iterations_of_a_fresh_hierarchy() {
    let k = grid("jump7:12,1e2");
    let ones = Csr::identity(k.executor(), k.size().rows);
    let shifted = |shift| -> Matrix { Arc::new(k.add(1.0, shift, &ones).unwrap()) };
    for coarsening in [Coarsening::Pmis, Coarsening::Greedy, Coarsening::Pgm] {
        let amg = with(coarsening);
        let (whole, _) = setup(&amg, &shifted(0.0));
        let part = whole.clone().keeping(1).unwrap();
        for step in 1..=3 {
            let a = shifted(0.05 * f64::from(step));
            let fresh = iterations_with(&a, amg.hierarchy(&a, &Workspace::new()).unwrap());
            for setup in [&whole, &part] {
                let renewed = iterations_with(&a, update(setup, &a));
                assert!(renewed <= fresh + 2, "{coarsening}: {renewed} {fresh}");
            }
        }
    }
}

#[test]
fn levels_that_are_not_kept_follow_the_values() {
    // Couplings along one axis alone become strong.
    let (round, flat) = (grid("aniso5:48,1"), grid("aniso5:48,0.001"));
    let (round, flat): (Matrix, Matrix) = (Arc::new(round), Arc::new(flat));
    let amg = with(Coarsening::Pmis);
    let (setup, first) = setup(&amg, &round);
    let whole = update(&setup, &flat);
    assert_eq!(rows(&whole), rows(&first));
    let part = update(&setup.keeping(1).unwrap(), &flat);
    assert_eq!(rows(&part)[..2], rows(&first)[..2]);
    assert_ne!(rows(&part), rows(&first));
}

#[test]
fn a_setup_serves_solvers_of_any_precision() {
    let a = grid("poisson5:40");
    let single: Arc<dyn LinOp<f32>> = Arc::new(a.convert::<f32>().unwrap());
    let (setup, _) = setup(&with(Coarsening::Pmis), &(Arc::new(a) as Matrix));
    let made = setup.update_values(&single, &Workspace::new()).unwrap();
    assert_eq!(made.report().levels[0].precision.to_string(), "sp");
}

#[test]
fn one_level_is_renewed() {
    let a = grid("poisson5:10");
    let (setup, _) = setup(&Amg::default(), &(Arc::new(a.clone()) as Matrix));
    let a: Matrix = Arc::new(a.scale(5.0).unwrap());
    let fresh = Amg::default().hierarchy(&a, &Workspace::new()).unwrap();
    let setup = setup.keeping(3).unwrap();
    assert_eq!(cycle(&update(&setup, &a)), cycle(&fresh));
}

#[test]
fn what_cannot_be_renewed_is_named() {
    let a = grid("poisson5:30");
    let (setup, _) = setup(&Amg::default(), &(Arc::new(a.clone()) as Matrix));
    let refused = |a: Csr<f64>| {
        let a: Matrix = Arc::new(a);
        setup.update_values(&a, &Workspace::new()).unwrap_err()
    };
    let error = refused(grid("poisson5:31"));
    assert!(matches!(error, Error::SizeMismatch { .. }), "{error}");
    let holed = a.filter(|row, column, _| (row, column) != (7, 8)).unwrap();
    let told = "update of values: row 7 has not the pattern of the matrix that was set up";
    assert_eq!(refused(holed).to_string(), told);
    let error = refused(a.copy_to(&Executor::reference()).unwrap());
    assert!(matches!(error, Error::ExecutorMismatch { .. }), "{error}");
    let mut infinite = a.clone();
    infinite.values_mut()[3] = f64::INFINITY;
    assert!(matches!(refused(infinite), Error::NonFiniteEntry { .. }));
    let complex: Arc<dyn LinOp<c64>> = Arc::new(a.convert::<c64>().unwrap());
    let error = setup.update_values(&complex, &Workspace::new());
    assert!(matches!(error.unwrap_err(), Error::Unsupported { .. }));
    let error = setup.keeping(0).unwrap_err();
    assert_eq!(error.to_string(), "levels: at least one is kept");
}
