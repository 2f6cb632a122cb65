//! Coarsest levels and their solvers.

use super::*;

#[test]
fn a_scaled_restriction_changes_coarse_matrices_alone() {
    let a = problem("poisson5:64");
    let amg = with(&classical(), "coarsening=pgm, aggregate-size=2");
    let half = with(&amg, "restriction-scaling=0.5");
    let x = irregular(a.as_ref(), 0.6);
    let [one, half] = [amg, half].map(|amg| apply(&hierarchy(&amg, &a).unwrap(), &x).to_vec());
    for (one, half) in one.iter().zip(half) {
        assert!((one - half).abs() < 1e-13);
    }
}

#[test]
fn the_coarsest_level_gets_its_own_sweeps() {
    let a = problem("poisson5:64");
    let two = with(&classical(), "coarsest=smoother, max-levels=2");
    let [few, many] = ["coarsest-sweeps=2", "coarsest-sweeps=20"].map(|sweeps| with(&two, sweeps));
    assert!(iterations(&many, &a) < iterations(&few, &a));
}

#[test]
fn a_diagonal_matrix_is_solved_by_one_level() {
    let values = (1..=2000).map(f64::from).collect();
    let a: Matrix = Arc::new(Csr::diagonal_matrix(&Executor::cpu(), values));
    let made = hierarchy(&classical(), &a).unwrap();
    assert_eq!(made.report().levels.len(), 1);
    assert_eq!(made.report().stalled, None);
    assert_eq!(made.report().coarsest, "diagonal");
    for smoother in ["l1-jacobi", "jacobi:0.5", "chebyshev:2"] {
        let amg = with(&classical(), &format!("smoother={smoother}"));
        assert_eq!(iterations(&amg, &a), 1);
    }
}

#[test]
fn a_small_matrix_is_solved_directly() {
    let a = problem("poisson5:10");
    let made = hierarchy(&classical(), &a).unwrap();
    assert_eq!(made.report().coarsest, "dense");
    assert_eq!(iterations(&classical(), &a), 1);
}
