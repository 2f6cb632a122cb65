//! What single methods promise, beside the requirements of all.

use super::testing::{
    self, alternating, definite, in_single, ones, solve_with, solved, solver, without_transpose,
};
use super::*;
use crate::multigrid::Amg;
use crate::precond::{Jacobi, Polynomial};
use crate::stop::{Part, Status};
use crate::structured::StructMg;
use crate::vector::Storage;

type Shared<T> = Arc<dyn Method<T>>;

fn host() -> Executor {
    Executor::reference()
}

fn places() -> Vec<Executor> {
    let host = [Executor::reference(), Executor::cpu()];
    host.into_iter().chain(device()).collect()
}

/// Points along a side of a grid. A core that plays a GPU needs a second for a hundred iterations.
fn side(executor: &Executor) -> usize {
    if executor.is_device() { 9 } else { 16 }
}

fn diagonal(values: &[f64]) -> Arc<Csr<f64>> {
    Arc::new(Csr::diagonal_matrix(&host(), values.to_vec()))
}

fn plain(method: impl Method<f64> + 'static, a: &Arc<Csr<f64>>) -> Outcome {
    solve_with(Arc::new(method), a, None)
}

fn bounded(lower: f64, upper: f64) -> Chebyshev {
    Chebyshev {
        lower: Some(lower),
        upper: Some(upper),
        ..Chebyshev::default()
    }
}

#[test]
fn what_ends_a_method_has_a_name() {
    let (rotation, line) = (
        testing::rotation(&host(), 6),
        testing::laplacian_1d(&host(), 20),
    );
    let singular = diagonal(&[1.0, 2.0, 0.0]);
    for (outcome, expected) in [
        (plain(Bicgstab::default(), &rotation), Status::Breakdown),
        (plain(Cgs::default(), &rotation), Status::Breakdown),
        (plain(Gmres::default(), &singular), Status::Breakdown),
        (plain(BlockGmres::default(), &singular), Status::Breakdown),
        (plain(Ir::default(), &line), Status::Diverged),
        (plain(bounded(0.1, 1.0), &line), Status::Diverged),
        (
            plain(Cg::default(), &diagonal(&[-1.0, -2.0])),
            Status::Indefinite(Part::Operator),
        ),
    ] {
        assert_eq!(outcome.status, expected, "{outcome}");
    }
    assert!(plain(Gmres::default(), &singular).relative_residual < 0.6);
    assert!(plain(BlockGmres::default(), &singular).relative_residual < 0.6);
    let a = testing::indefinite::<f64>(&host(), 30);
    for method in definite::<f64>() {
        let outcome = solve_with(method.clone(), &a, None);
        let expected = Status::Indefinite(Part::Operator);
        assert_eq!(outcome.status, expected, "{method:?}");
    }
}

#[test]
fn minimal_residuals_name_an_indefinite_preconditioner_and_leave_what_is_inconsistent() {
    let method = || Arc::new(Minres::default());
    let negative = diagonal(&[-1.0, -1.0]);
    let outcome = solve_with(method(), &diagonal(&[1.0, 2.0]), Some(negative));
    assert_eq!(outcome.status, Status::Indefinite(Part::Preconditioner));
    let outcome = solve_with(method(), &diagonal(&[1.0, 0.0]), None);
    assert!(!outcome.converged());
    assert!((outcome.relative_residual - 0.5f64.sqrt()).abs() < 1e-12);
}

#[test]
fn conjugate_gradients_take_an_iteration_an_eigenvalue_and_pipelined_ones_the_same() {
    let outcome = plain(Cg::default(), &diagonal(&[1.0, 2.0, 3.0]));
    assert_eq!((outcome.status, outcome.iterations), (Status::Converged, 3));
    assert!(outcome.relative_residual < 1e-12);
    let a = testing::laplacian_2d::<f64>(&host(), 10);
    let (pipelined, plain) = (plain(PipeCg::default(), &a), plain(Cg::default(), &a));
    assert!(pipelined.converged());
    assert!(pipelined.iterations.abs_diff(plain.iterations) <= 1);
}

#[test]
fn a_changing_preconditioner_is_no_obstacle_to_flexible_methods() {
    let a = testing::laplacian_2d::<f64>(&host(), 12);
    let preconditioner = Arc::new(alternating(&a));
    let iterations = |method| solve_with(method, &a, Some(preconditioner.clone())).iterations;
    let flexible = iterations(Arc::new(Fcg::default()));
    let plain = iterations(Arc::new(Cg::default()));
    assert!(3 * flexible < plain, "{flexible} and {plain}");
}

#[test]
fn known_bounds_are_no_worse_than_estimated_ones() {
    let a = testing::laplacian_1d::<f64>(&host(), 20);
    let angle = std::f64::consts::PI / 21.0;
    let known = bounded(2.0 - 2.0 * angle.cos(), 2.0 + 2.0 * angle.cos());
    let (known, estimated) = (plain(known, &a), plain(Chebyshev::default(), &a));
    assert!(known.converged() && estimated.converged());
    assert!(known.iterations <= estimated.iterations);
}

#[test]
fn single_precision_inside_gives_double_precision_outside() {
    let a = testing::laplacian_2d::<f64>(&host(), 8);
    let single = Arc::new(a.convert::<f32>().unwrap());
    let inner = Solver::<f32>::new(Cg::default(), single).unwrap();
    let inner = in_single(inner.stopping(Stop::relative(1e-4)));
    let outer = Solver::<f64>::new(Ir::default(), a.clone()).unwrap();
    let outer = outer.with_preconditioner(Arc::new(inner)).unwrap();
    let b = ones(&a, 1);
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = outer
        .stopping(Stop::relative(1e-13))
        .solve(&b, &mut x)
        .unwrap();
    assert!(outcome.converged() && outcome.iterations < 6, "{outcome}");
}

#[test]
fn more_shadow_vectors_need_fewer_products_and_a_small_system_limits_them() {
    let a = testing::convection_diffusion::<f64>(&host(), 16);
    let products = |s| {
        let outcome = plain(Idr { s, seed: 1 }, &a);
        assert!(outcome.converged(), "{outcome}");
        outcome.iterations
    };
    assert!(products(8) < products(1));
    let outcome = plain(Idr { s: 8, seed: 3 }, &testing::laplacian_1d(&host(), 3));
    assert!(outcome.converged(), "{outcome}");
}

#[test]
fn minimal_residuals_restart_and_conjugate_ones_take_their_iterations() {
    let outcome = plain(Gmres::default(), &testing::rotation(&host(), 6));
    assert!(outcome.converged() && outcome.iterations <= 6, "{outcome}");
    let a = testing::convection_diffusion::<f64>(&host(), 8);
    let full = plain(Gmres::default(), &a);
    let restarted = plain(testing::gmres(5), &a);
    assert!(restarted.converged());
    assert!(restarted.iterations > full.iterations);
    assert_eq!(restarted.history.len(), restarted.iterations + 1);
    let falls = |a: &f64, b: &f64| *b <= a * (1.0 + 1e-12);
    assert!(restarted.history.is_sorted_by(falls));
    let gcr = plain(Gcr::default(), &a);
    assert!(gcr.converged() && gcr.iterations == full.iterations);
    let none = solver(&(Arc::new(Gcr { restart: 0 }) as _), a.clone());
    let refused = none.solve(&ones(&a, 1), &mut ones(&a, 1));
    assert_refused!(refused, BadParameter { .. });
}

#[test]
fn a_basis_in_fewer_bits_spans_almost_the_same_space() {
    for executor in &places()[1..] {
        let a = testing::convection_diffusion::<f64>(executor, 24);
        let restart = 50;
        let outcome = |basis, flexible| match flexible {
            true => plain(Fgmres { restart, basis }, &a),
            false => plain(Gmres { restart, basis }, &a),
        };
        let double = outcome(Storage::Working, false).iterations;
        for (basis, more) in Storage::ALL.into_iter().zip([1.0, 1.1, 2.0, 1.05, 1.6]) {
            // Programs of devices take long to compile, and have a test of their own.
            if executor.is_device() && basis != Storage::Sp {
                continue;
            }
            for packed in [false, true].map(|flexible| outcome(basis, flexible)) {
                assert!(packed.converged(), "{basis:?} on {executor:?}: {packed}");
                let most = (more * double as f64).ceil() as usize;
                assert!(packed.iterations <= most, "{basis:?}: {packed}, {double}");
            }
        }
    }
}

#[test]
fn complex_numbers_are_packed_into_single_ones_alone() {
    let a = testing::shifted_laplacian::<c64>(&Executor::cpu(), 8);
    let b = ones(&a, 2);
    let solve = |basis| {
        let method = Gmres {
            basis,
            ..Gmres::default()
        };
        let solver = Solver::<c64>::new(method, a.clone()).unwrap();
        solver.solve(&b, &mut Vector::zeros_like(&b).unwrap())
    };
    assert!(solve(Storage::Sp).unwrap().converged());
    let refused = solve(Storage::I16).unwrap_err().to_string();
    let names_both = refused.contains("i16") && refused.contains("complex");
    assert!(names_both, "{refused}");
}

#[test]
fn a_shared_space_takes_fewer_iterations_with_dependent_sides_too() {
    for executor in places() {
        let n = side(&executor);
        let laplacian = testing::laplacian_2d::<f64>(&executor, n);
        let wind = testing::convection_diffusion::<f64>(&executor, n);
        // The last of the sides depends on two others.
        let mut values = testing::values::<f64>(n * n * 6, 9);
        values
            .chunks_exact_mut(6)
            .for_each(|row| row[5] = row[0] + row[1]);
        let b = Vector::from_rows(&executor, 6, values).unwrap();
        let pairs: [(Shared<f64>, Shared<f64>, _, _); 2] = [
            (
                Arc::new(BlockCg::default()),
                Arc::new(Cg::default()),
                laplacian,
                3.0 / 4.0,
            ),
            (
                Arc::new(BlockGmres::default()),
                Arc::new(Gmres::default()),
                wind.clone(),
                4.0 / 5.0,
            ),
        ];
        let stop = Stop::relative(1e-10);
        let mut shared = 0;
        for (block, single, a, share) in pairs {
            let (block, _) = solved(&block, a.clone(), &b, stop.clone());
            let (single, _) = solved(&single, a, &b, stop.clone());
            assert!(block.converged(), "{executor:?}: {block}");
            shared = block.iterations;
            let most = share * single.iterations as f64;
            assert!((shared as f64) < most, "{block}, {single}");
        }
        let short: Shared<f64> = Arc::new(BlockGmres { restart: 4 });
        let (short, _) = solved(&short, wind, &b, stop);
        assert!(short.converged() && short.iterations > shared);
    }
}

#[test]
fn a_block_of_one_side_takes_the_iterations_of_gmres() {
    let a = testing::shifted_laplacian::<c64>(&host(), 8);
    let stop = Stop::relative(1e-10);
    let solve = |method: Shared<c64>| solved(&method, a.clone(), &ones(&a, 1), stop.clone()).0;
    let (block, single) = (
        solve(Arc::new(BlockGmres::default())),
        solve(Arc::new(Gmres::default())),
    );
    assert!(block.converged());
    assert_eq!(block.iterations, single.iterations);
}

/// With Jacobi's preconditioner, for a right-hand side of its own.
fn recycled(method: &Shared<f64>, a: Arc<Csr<f64>>, seed: u64) -> Outcome {
    let b = Vector::from_column(a.executor(), testing::values::<f64>(a.size().rows, seed));
    let solver = solver(method, a)
        .preconditioned_by(&Jacobi::default())
        .unwrap();
    let solver = solver.stopping(Stop::relative(1e-10));
    solver
        .solve(&b, &mut Vector::zeros_like(&b).unwrap())
        .unwrap()
}

#[test]
fn later_systems_take_fewer_iterations() {
    for executor in &places()[1..] {
        let a = testing::laplacian_2d::<f64>(executor, side(executor));
        let parameters = GcroDr {
            restart: 20,
            recycle: 8,
        };
        let recycling: Shared<f64> = Arc::new(Recycling::new(parameters));
        let outcomes = [1, 2, 3].map(|seed| recycled(&recycling, a.clone(), seed));
        assert!(outcomes.iter().all(Outcome::converged), "{outcomes:?}");
        let plain = recycled(&(Arc::new(testing::gmres(20)) as _), a.clone(), 3);
        let [first, _, third] = outcomes.map(|outcome| outcome.iterations);
        assert!(first < plain.iterations, "{first} {plain}");
        assert!(4 * third < 3 * first, "{third} {first}");
    }
}

#[test]
fn a_space_of_another_size_is_forgotten() {
    let method: Shared<f64> = Arc::new(Recycling::new(GcroDr::default()));
    for n in [6, 9] {
        let a = testing::convection_diffusion::<f64>(&host(), n);
        assert!(recycled(&method, a, 1).converged());
    }
}

#[test]
fn known_vectors_are_deflated() {
    // The smoothest eigenvectors.
    let n = 60;
    let a = testing::laplacian_1d::<f64>(&host(), n);
    let modes = (0..n).flat_map(|row| {
        let angle = std::f64::consts::PI * (row + 1) as f64 / (n + 1) as f64;
        [angle.sin(), (2.0 * angle).sin(), (3.0 * angle).sin()]
    });
    let known = Vector::from_rows(&host(), 3, modes.collect()).unwrap();
    let parameters = GcroDr {
        restart: 20,
        recycle: 0,
    };
    let with = Recycling::with_known(parameters, known);
    let deflated = recycled(&(Arc::new(with.clone()) as _), a.clone(), 5);
    let plain = recycled(&(Arc::new(Recycling::new(parameters)) as _), a, 5);
    assert!(deflated.converged(), "{deflated}");
    let is_fewer = 2 * deflated.iterations < plain.iterations;
    assert!(is_fewer, "{deflated}, {plain}");
    assert_eq!(with.dimension(), 3);
}

#[test]
fn biconjugate_gradients_refuse_what_has_no_adjoint() {
    let bicg: Shared<f64> = Arc::new(Bicg::default());
    let a = testing::laplacian_1d::<f64>(&host(), 4);
    let solver_of = solver(&bicg, Arc::new(without_transpose(&a)));
    let refused = solver_of.solve(&ones(&a, 1), &mut ones(&a, 1));
    assert_refused!(refused, Unsupported { .. });
    let a = Arc::new(crate::gallery::build("poisson7:8", &host()).unwrap().matrix);
    let preconditioners: [(&str, &dyn Factory<f64>); 3] = [
        ("amg", &Amg::default()),
        ("polynomial", &Polynomial::default()),
        ("struct-mg", &StructMg::default()),
    ];
    for (name, preconditioner) in preconditioners {
        let solver = solver(&bicg, a.clone()).preconditioned_by(preconditioner);
        let refused = solver.unwrap().solve(&ones(&a, 1), &mut ones(&a, 1));
        assert_eq!(
            refused.unwrap_err().to_string(),
            format!(
                "{name} does not support transposed application, which bicg needs; use bicgstab, idr or gmres instead"
            )
        );
    }
}
