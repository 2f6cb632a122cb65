//! Cycles and smoothers.

use super::*;
use crate::solver::{Fcg, Ir};

#[test]
fn two_levels_and_many_are_alike() {
    let a = problem("poisson5:64");
    let two = with(&classical(), "max-levels=2, coarsest=dense");
    let many = with(&classical(), "coarsest-rows=10");
    assert_eq!(hierarchy(&two, &a).unwrap().report().levels.len(), 2);
    assert!(hierarchy(&many, &a).unwrap().report().levels.len() >= 4);
    let (two, many) = (iterations(&two, &a), iterations(&many, &a));
    assert!(two <= many && many <= two + 3, "{two} {many}");
}

#[test]
fn cycles_are_symmetric() {
    let a = problem("poisson5:40");
    let (x, y) = (irregular(a.as_ref(), 0.1), irregular(a.as_ref(), 0.7));
    let check = |options: &str| {
        let m = hierarchy(&with(&classical(), options), &a).unwrap();
        let (left, right) = (dot(&apply(&m, &x), &y), dot(&x, &apply(&m, &y)));
        let scale = dot(&apply(&m, &x), &x);
        assert!((left - right).abs() < 1e-12 * scale, "{options}");
    };
    let smoothers = "l1-jacobi jacobi gs sgs hgs:100 hsgs:100 mcgs mcsgs chebyshev:3 chebyshev-l1:2 \
                     ilu0 block-jacobi fsai";
    for smoother in smoothers.split_whitespace() {
        for cycle in [Cycle::V, Cycle::W] {
            let sweeps = "pre-sweeps=2, post-sweeps=2";
            check(&format!("smoother={smoother}, {sweeps}, cycle={cycle}"));
        }
    }
    // Where coarse levels sweep one way, too.
    check(r#"levels=[{"below-rows":1000,"smoother":"mcgs"}], coarsest-rows=20"#);
}

#[test]
fn more_visits_need_no_more_iterations() {
    let a = problem("poisson5:64");
    let with = |cycle| with(&classical(), &format!("cycle={cycle}, coarsest-rows=20"));
    let v = iterations(&with(Cycle::V), &a);
    for cycle in [Cycle::W, Cycle::F, Cycle::K] {
        let outcome = solve_with(Fcg::default(), &with(cycle), &a);
        assert!(outcome.converged() && outcome.iterations <= v, "{cycle}");
    }
}

#[test]
fn full_multigrid_starts_close_to_the_solution() {
    let a = problem("poisson5:100");
    let with = |cycle| with(&classical(), &format!("cycle={cycle}, coarsest-rows=20"));
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
    let mut exact = Vector::zeros_like(&b).unwrap();
    let solver = Solver::new(Cg::default(), Arc::clone(&a)).unwrap();
    let solver = solver.preconditioned_by(&classical()).unwrap();
    assert!(solver.solve(&b, &mut exact).unwrap().converged());
    let error = |cycle| {
        let mut e = apply(&hierarchy(&with(cycle), &a).unwrap(), &b);
        e.axpy(Coefficient::real(-1.0), &exact).unwrap();
        (dot(&e, &apply(a.as_ref(), &e)) / dot(&exact, &b)).sqrt()
    };
    let (v, full) = (error(Cycle::V), error(Cycle::Full));
    assert!(full < 0.5 * v, "{full} {v}");
    let [v, full] = [Cycle::V, Cycle::Full].map(|cycle| {
        let outcome = solve_with(Ir::default(), &with(cycle), &a);
        assert!(outcome.converged(), "{cycle}: {outcome}");
        outcome.iterations
    });
    assert!(full <= v, "{full} {v}");
}

#[test]
fn every_smoother_converges() {
    let a = problem("poisson5:64");
    for name in Smoother::entries().iter().flat_map(|one| one.names) {
        let amg = with(&classical(), &format!("smoother={name}"));
        let count = iterations(&amg, &a);
        assert!(count <= 16, "{name}: {count}");
    }
}

#[test]
fn levels_and_sides_may_be_smoothed_differently() {
    let a = problem("poisson5:64");
    let sides = "smoother=chebyshev:2, post-smoother=hgs:512, coarsest-rows=20";
    let sides = with(&classical(), sides);
    let with = |coarse: &str| with(&sides, &format!("levels=[{{\"from\":1,{coarse}}}]"));
    let coarse = with(r#""smoother":"gs""#);
    let made = hierarchy(&coarse, &a).unwrap();
    let levels = &made.report().levels;
    assert_eq!(levels[0].smoother, "chebyshev:2 1, hgs:512 1");
    assert_eq!(levels[1].smoother, "gs 1+1");
    let outcome = solve_with(Fcg::default(), &coarse, &a);
    assert!(outcome.converged() && outcome.iterations <= 16, "{outcome}");
    let none = with(r#""pre-sweeps":0,"post-sweeps":0"#);
    let error = hierarchy(&none, &a).unwrap_err().to_string();
    assert!(error.contains("needs a sweep, before or after"), "{error}");
}

#[test]
fn two_threads_get_the_bits_of_one() {
    let a = problem("poisson5:64");
    let made = hierarchy(&classical(), &a).unwrap();
    let rhs = [irregular(a.as_ref(), 0.2), irregular(a.as_ref(), 0.9)];
    let alone = [0, 1].map(|k| apply(&made, &rhs[k]).to_vec());
    let together = std::thread::scope(|scope| {
        let threads = [0, 1].map(|k| {
            let (made, b) = (&made, &rhs[k]);
            scope.spawn(move || (0..5).map(|_| apply(made, b).to_vec()).collect::<Vec<_>>())
        });
        threads.map(|thread| thread.join().unwrap())
    });
    for (alone, together) in alone.iter().zip(together) {
        assert!(together.iter().all(|one| one == alone));
    }
}

#[test]
fn columns_are_solved_as_if_alone() {
    let a = problem("poisson5:40");
    let made = hierarchy(&classical(), &a).unwrap();
    let (x, y) = (irregular(a.as_ref(), 0.3), irregular(a.as_ref(), 0.8));
    let pairs = x.to_vec().into_iter().zip(y.to_vec());
    let both = pairs.flat_map(|(x, y)| [x, y]).collect();
    let both = Vector::from_rows(a.executor(), 2, both).unwrap();
    let (mx, my) = (apply(&made, &x).to_vec(), apply(&made, &y).to_vec());
    let together = apply(&made, &both).to_vec();
    for (row, pair) in together.chunks(2).enumerate() {
        assert!((pair[0] - mx[row]).abs() < 1e-13 && (pair[1] - my[row]).abs() < 1e-13);
    }
}
