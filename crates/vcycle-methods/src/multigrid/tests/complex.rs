//! Hierarchies of complex matrices.

use super::*;
use crate::precond::{Ilu0, Jacobi};
use crate::solver::{Bicgstab, Fgmres, Gmres};
use crate::stop::Stop;

/// The matrix of a problem for vectors of `T`.
fn complex<T: Mixes<T, T>>(spec: &str) -> Arc<dyn LinOp<T>> {
    let problem = gallery::build_complex(spec, &Executor::cpu()).unwrap();
    Arc::new(problem.matrix.convert::<T>().unwrap())
}

fn solved_by<T: Scalar>(
    method: impl Method<T> + 'static,
    amg: &Amg,
    a: &Arc<dyn LinOp<T>>,
) -> Outcome {
    let made = amg.hierarchy(a, &Workspace::new()).unwrap();
    solved(method, a, Arc::new(made))
}

fn amg(coarsening: &str, smoother: &str, precision: &str) -> Amg {
    testing::amg(&format!(
        "coarsening={coarsening}, smoother={smoother}, precision={precision}, coarsest-rows=30"
    ))
}

#[test]
fn hermitian_matrices_take_as_many_iterations_as_real_ones() {
    let (real, field) = (problem("poisson5:40"), complex::<c64>("magnetic:40,0.002"));
    for (coarsening, smoother) in [("auto", "auto"), ("pmis", "l1-jacobi"), ("sa", "jacobi")] {
        for precision in ["dp", "sp", "dp-sp"] {
            let amg = amg(coarsening, smoother, precision);
            let outcome = solved_by(Cg::default(), &amg, &field);
            assert!(outcome.converged(), "{coarsening} {precision}: {outcome}");
            let expected = iterations(&amg, &real);
            assert!(outcome.iterations <= expected + 3, "{outcome} {expected}");
        }
    }
}

#[test]
fn without_imaginary_parts_levels_are_those_of_the_real_matrix() {
    let (real, same) = (problem("poisson5:30"), complex::<c64>("magnetic:30,0"));
    for coarsening in ["pmis", "sa", "rs", "uniform"] {
        let amg = amg(coarsening, "auto", "dp");
        let real = hierarchy(&amg, &real).unwrap();
        let made = amg.hierarchy(&same, &Workspace::new()).unwrap();
        assert_eq!(shape(made.report()), shape(real.report()), "{coarsening}");
        let found = solved_by(Cg::default(), &amg, &same).iterations;
        assert_eq!(found, iterations(&amg, &problem("poisson5:30")));
    }
}

#[test]
fn waves_with_absorption_are_solved_in_both_precisions() {
    let waves = "helmholtz:40,12,0.5";
    for coarsening in ["auto", "sa"] {
        let amg = amg(coarsening, "auto", "sp");
        let double = solved_by(Fgmres::default(), &amg, &complex::<c64>(waves));
        assert!(double.converged() && double.iterations < 30, "{double}");
        let single = complex::<c32>(waves);
        let solver = Solver::new(Fgmres::default(), Arc::clone(&single)).unwrap();
        let solver = solver.stopping(Stop::reduction(1e-4));
        let solver = solver.preconditioned_by(&amg).unwrap();
        let b = Vector::filled(single.executor(), 1600, 1, 1.0).unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        assert!(solver.solve(&b, &mut x).unwrap().converged());
    }
}

#[test]
fn a_hermitian_cycle_is_its_own_adjoint() {
    let a = complex::<c64>("magnetic:20,0.05");
    let vector = |seed: f64| {
        let value = |row: usize| {
            let part = |salt: f64| ((row * row) as f64 * 0.618 + seed + salt).fract() - 0.5;
            c64::new(part(0.0), part(0.3))
        };
        Vector::from_column(a.executor(), (0..400).map(value).collect())
    };
    let dot = |x: &[c64], y: &[c64]| x.iter().zip(y).map(|(x, y)| x.conj() * y).sum::<c64>();
    let (x, y) = (vector(0.1), vector(0.7));
    for smoother in ["l1-jacobi", "gs", "chebyshev"] {
        let made = amg("pmis", smoother, "dp");
        let made = made.hierarchy(&a, &Workspace::new()).unwrap();
        let apply = |x: &Vector<c64>| {
            let mut y = Vector::zeros_like(x).unwrap();
            made.apply(x, &mut y, &Workspace::new()).unwrap();
            y.to_vec()
        };
        let difference = dot(&apply(&x), &y.to_vec()) - dot(&x.to_vec(), &apply(&y));
        assert!(difference.norm() < 1e-12, "{smoother}: {difference}");
    }
}

#[test]
fn stages_for_real_matrices_are_named() {
    let a = complex::<c64>("magnetic:20,0.05");
    for (text, named) in [
        ("precision=sp/hp", "half precision"),
        ("interpolation=bamg, coarsening=pmis", "bamg"),
        ("interpolation=direct, coarsening=pmis", "direct"),
        ("coarsening=pmis-aggressive", "aggressive"),
        ("coarse-filter=0.9", "filtered"),
    ] {
        let refused = testing::amg(text).hierarchy(&a, &Workspace::new());
        let error = refused.unwrap_err().to_string();
        assert!(
            error.contains(named) && error.contains("complex"),
            "{error}"
        );
    }
}

/// Fails unless solutions differ by at most so much of the largest.
fn assert_alike(found: &[c64], expected: &[c64], within: f64, what: &str) {
    let largest = expected.iter().map(|x| x.norm()).fold(0.0, f64::max);
    let pairs = found.iter().zip(expected);
    let off = pairs.map(|(x, y)| (x - y).norm()).fold(0.0, f64::max);
    assert!(off < within * largest, "{what}: {off} {largest}");
}

/// Iterations on an executor, and the solution.
fn solved_on(
    executor: &Executor,
    spec: &str,
    method: impl Method<c64> + 'static,
    factory: &dyn Factory<c64>,
) -> (usize, Vec<c64>) {
    let problem = gallery::build_complex(spec, executor).unwrap();
    let b = Vector::from_column(executor, problem.rhs);
    let solver = Solver::new(method, Arc::new(problem.matrix)).unwrap();
    let solver = solver.preconditioned_by(factory).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert!(outcome.converged(), "{outcome}");
    (outcome.iterations, x.to_vec())
}

#[test]
fn devices_solve_as_the_host_does() {
    let Some(device) = device() else { return };
    let host = Executor::cpu();
    let (field, waves) = ("magnetic:20,0.05", "helmholtz:20,6,0.5");
    let (jacobi, ilu) = (Jacobi::default(), Ilu0::default());
    let [chosen, grouped] = [amg("pmis", "l1-jacobi", "sp"), amg("sa", "chebyshev", "dp")];
    let on = |executor| {
        [
            solved_on(executor, field, Cg::default(), &jacobi),
            solved_on(executor, waves, Gmres::default(), &ilu),
            solved_on(executor, waves, Bicgstab::default(), &jacobi),
            solved_on(executor, waves, Fgmres::default(), &chosen),
            solved_on(executor, field, Cg::default(), &grouped),
        ]
    };
    for ((steps, found), (expected_steps, expected)) in on(&device).into_iter().zip(on(&host)) {
        assert!(
            steps.abs_diff(expected_steps) <= 1,
            "{steps} {expected_steps}"
        );
        assert_alike(&found, &expected, 1e-6, "solution");
    }
}

#[test]
fn devices_set_up_the_levels_that_the_host_does() {
    let Some(device) = device() else { return };
    for (spec, coarsening, interpolation) in [
        ("helmholtz:20,6,0.5", "pmis", "extended+i"),
        ("magnetic:20,0.05", "pmis", "classical"),
        ("magnetic:20,0.05", "mis2", "smoothed"),
        ("magnetic:20,0.05", "pgm", "tentative"),
    ] {
        let amg = amg(coarsening, "l1-jacobi", "dp");
        let options = format!("interpolation={interpolation}, host-rows=20");
        let amg = with(&amg, &options);
        let made = |executor: &Executor| {
            let problem = gallery::build_complex(spec, executor).unwrap();
            let a: Arc<dyn LinOp<c64>> = Arc::new(problem.matrix);
            let made = amg.hierarchy(&a, &Workspace::new()).unwrap();
            let b = Vector::from_column(executor, problem.rhs);
            let mut x = Vector::zeros_like(&b).unwrap();
            made.apply(&b, &mut x, &Workspace::new()).unwrap();
            (shape(made.report()), x.to_vec())
        };
        let (levels, found) = made(&device);
        let (expected_levels, expected) = made(&Executor::cpu());
        assert_eq!(levels, expected_levels, "{spec} {coarsening}");
        assert!(levels.len() > 2);
        assert_alike(&found, &expected, 1e-9, &format!("{spec} {coarsening}"));
    }
}
