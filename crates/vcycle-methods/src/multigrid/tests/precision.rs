//! Precisions of levels.

use super::*;
use crate::stop::Status;

#[test]
fn lower_precisions_need_about_the_same_iterations() {
    let a = problem("poisson5:64");
    let with = |precision: &str| with(&classical(), &format!("precision={precision}"));
    let double = iterations(&with("dp"), &a);
    let precisions = "dp-sp sp dp/hp dp/bf dp-sp/dp-sp-hp dp-sp-hp dp-sp-bf";
    for precision in precisions.split(' ') {
        let count = iterations(&with(precision), &a);
        assert!(count <= double + 3, "{precision}: {count}");
    }
}

#[test]
fn precisions_may_widen_with_the_level() {
    let a = problem("jump7:12,1e4");
    let with = |p: &str| with(&classical(), &format!("precision={p}, coarsest-rows=20"));
    let [single, widening, half] = ["sp/sp", "sp/hp-sp", "sp/hp"].map(|p| iterations(&with(p), &a));
    let between = single.min(half)..=single.max(half);
    assert!(between.contains(&widening), "{single} {widening} {half}");
    let made = hierarchy(&with("sp/hp-sp"), &a).unwrap();
    let levels = made.report().levels.iter();
    let stored: Vec<String> = levels.map(|level| level.precision.to_string()).collect();
    assert!(stored.len() > 2 && stored[0] == "sp/hp", "{stored:?}");
    assert!(stored[1..].iter().all(|one| one == "sp"), "{stored:?}");
    for precision in ["sp-dp", "hp-sp", "bf-dp", "hp-dp/hp"] {
        let count = iterations(&with(precision), &a);
        assert!(count <= single + 4, "{precision}: {count} against {single}");
    }
}

/// `poisson5:64` in other units, which half precision may not reach.
fn out_of_range(factor: f64) -> Matrix {
    let a = gallery::build("poisson5:64", &Executor::cpu()).unwrap();
    Arc::new(a.matrix.scale(factor).unwrap())
}

#[test]
fn levels_out_of_range_are_scaled() {
    let with = |p: &str| with(&classical(), &format!("precision={p}, smoother=jacobi"));
    for factor in [1e9, 1e-9] {
        let a = out_of_range(factor);
        let double = iterations(&with("dp"), &a);
        for precision in ["dp/hp", "dp-sp/hp", "dp-sp-hp", "dp-hp"] {
            let made = hierarchy(&with(precision), &a).unwrap();
            let note = made.report().scaling_note().unwrap();
            assert!(note.contains("(hp)"), "{note}");
            let count = iterations(&with(precision), &a);
            assert!(count <= double + 4, "{factor} {precision}: {count}");
        }
    }
    let made = hierarchy(&with("dp-sp"), &out_of_range(1e9)).unwrap();
    assert_eq!(made.report().scaling_note(), None);
}

#[test]
fn equilibrated_levels_are_the_same_method() {
    let a = problem("poisson5:40");
    let with = |s: &str| {
        let options = format!("precision=sp, smoother=jacobi, scaling={s}");
        hierarchy(&with(&classical(), &options), &a).unwrap()
    };
    let x = irregular(a.as_ref(), 0.4);
    let plain = apply(&with("none"), &x).to_vec();
    let scaled = with("equilibrate");
    assert!(scaled.report().levels.iter().all(|level| level.scaled));
    // Powers of two round nothing: only the order of magnitude differs, and with it nothing.
    let pairs = apply(&scaled, &x).to_vec().into_iter().zip(plain);
    pairs.for_each(|(x, y)| assert!((x - y).abs() < 1e-5));
}

#[test]
fn scaling_that_only_grids_have_is_refused() {
    let amg = with(&classical(), "scaling=scale-then-setup");
    let refused = hierarchy(&amg, &problem("poisson5:8"))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("is for struct-mg"), "{refused}");
}

#[test]
fn overflow_of_vectors_is_an_outcome() {
    let a = out_of_range(1e-4);
    let amg = with(&classical(), "precision=dp-hp, scaling=none");
    let solver = Solver::new(Cg::default(), Arc::clone(&a)).unwrap();
    let solver = solver.preconditioned_by(&amg).unwrap();
    let b = Vector::filled(a.executor(), a.size().rows, 1, 100.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert_eq!(outcome.status, Status::NonFinite, "{outcome}");
}

#[test]
fn precisions_save_bytes() {
    let a = problem("poisson5:40");
    let bytes = |precision: &str| {
        let amg = with(&classical(), &format!("precision={precision}"));
        hierarchy(&amg, &a).unwrap().report().bytes()
    };
    assert!(bytes("dp-sp") < bytes("dp") && bytes("dp/hp") < bytes("dp-sp"));
}
