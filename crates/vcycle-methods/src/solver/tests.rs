//! Requirements of every method, and tests of the driver around them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use num_traits::Zero;

use super::testing::{
    self, BreaksAfter, Methods, SHARED, all, definite, general, gmres, symmetric,
};
use super::*;
use crate::log::{IterationEvent, Log, Observer};
use crate::matrix::Csr;
use crate::precond::Jacobi;
use crate::scalar::{Mixes, c32, c64};
use crate::stop::Part;
use crate::vector::Storage;

fn executors() -> [Executor; 2] {
    [Executor::reference(), Executor::cpu()]
}

/// Solves for two columns whose solutions are known, without preconditioner and with Jacobi.
fn check<T: Mixes<T, T>>(methods: &Methods<T>, a: &Arc<Csr<T>>, tolerance: f64) {
    let n = a.size().rows;
    let known = Vector::from_rows(a.executor(), 2, testing::values::<T>(2 * n, 5)).unwrap();
    let mut b = Vector::zeros_like(&known).unwrap();
    LinOp::<T>::apply(a.as_ref(), &known, &mut b, &Workspace::new()).unwrap();
    for method in methods {
        let plain = Solver::from_shared(method.clone(), a.clone())
            .unwrap()
            .stopping(Stop::relative(tolerance));
        let jacobi = Solver::from_shared(method.clone(), a.clone())
            .unwrap()
            .preconditioned_by(&Jacobi::default())
            .unwrap()
            .stopping(Stop::relative(tolerance));
        for solver in [plain, jacobi] {
            let mut x = Vector::zeros_like(&b).unwrap();
            let outcome = solver.solve(&b, &mut x).unwrap();
            assert!(outcome.converged(), "{method:?}: {outcome}");
            assert_eq!(outcome.history.len(), outcome.iterations + 1, "{method:?}");
            x.axpy(Coefficient::real(-1.0), &known).unwrap();
            for error in x.norms().unwrap() {
                let error = error.to_f64();
                assert!(error < 1e3 * tolerance, "{method:?}: error {error}");
            }
        }
    }
}

#[test]
fn definite_systems_are_solved() {
    for executor in executors() {
        check::<f64>(&definite(), &testing::laplacian_2d(&executor, 7), 1e-10);
        check::<f64>(&symmetric(), &testing::laplacian_2d(&executor, 7), 1e-10);
        check::<f64>(&general(), &testing::laplacian_2d(&executor, 7), 1e-10);
        check::<f32>(&definite(), &testing::laplacian_2d(&executor, 7), 1e-4);
        check::<c64>(&definite(), &testing::hermitian(&executor, 20), 1e-10);
        check::<c32>(&definite(), &testing::hermitian(&executor, 20), 1e-4);
    }
}

#[test]
fn nonsymmetric_systems_are_solved() {
    for executor in executors() {
        check::<f64>(
            &general(),
            &testing::convection_diffusion(&executor, 7),
            1e-10,
        );
        check::<f32>(
            &general(),
            &testing::convection_diffusion(&executor, 7),
            1e-4,
        );
        check::<c64>(&general(), &testing::shifted_laplacian(&executor, 5), 1e-10);
        check::<c32>(&general(), &testing::shifted_laplacian(&executor, 5), 1e-4);
    }
}

#[test]
fn symmetric_indefinite_systems_are_solved() {
    for executor in executors() {
        check::<f64>(&symmetric(), &testing::indefinite(&executor, 30), 1e-10);
        check::<c64>(&symmetric(), &testing::hermitian(&executor, 30), 1e-10);
        check::<c32>(&symmetric(), &testing::hermitian(&executor, 10), 1e-4);
        let gmres: Methods<f64> = vec![Arc::new(Gmres::default()), Arc::new(Gcr::default())];
        check::<f64>(&gmres, &testing::indefinite(&executor, 30), 1e-10);
    }
}

#[test]
fn half_precision_is_solved_to_its_accuracy() {
    use crate::scalar::bf16;
    let host = Executor::reference();
    let a = testing::laplacian_1d::<bf16>(&host, 4);
    let b = Vector::<bf16>::filled(&host, 4, 1, 1.0).unwrap();
    for method in [
        Arc::new(Cg::default()) as Arc<dyn Method<bf16>>,
        Arc::new(Gmres::default()),
    ] {
        let solver = Solver::from_shared(method, a.clone()).unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        let stop = Stop::relative(0.1);
        let outcome = solver
            .solve_in(&b, &mut x, &stop, &Workspace::new())
            .unwrap();
        assert!(outcome.converged(), "{outcome}");
    }
}

#[test]
fn columns_end_on_their_own_and_keep_their_solution() {
    let host = Executor::reference();
    let a = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 1.1, 1.2, 1.5]));
    // The first column is an eigenvector: one iteration solves it.
    let rows = vec![1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0];
    let b = Vector::from_rows(&host, 2, rows).unwrap();
    for method in all::<f64>() {
        let solver = Solver::from_shared(method.clone(), a.clone()).unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = solver.solve(&b, &mut x).unwrap();
        assert!(outcome.converged(), "{method:?}: {outcome}");
        let (first, second) = (outcome.columns[0], outcome.columns[1]);
        if !["ir", "chebyshev", "idr"].contains(&method.name()) {
            assert_eq!(first.iterations, 1, "{method:?}");
            assert!(second.iterations > 1, "{method:?}");
            assert!((x.to_vec()[0] - 1.0).abs() < 1e-14, "{method:?}");
        }
    }
}

#[test]
fn one_column_is_solved_as_among_many() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f64>(&host, 6);
    let column = testing::values::<f64>(36, 9);
    let pairs = column.iter().flat_map(|&value| [1.0, value]).collect();
    let many = Vector::from_rows(&host, 2, pairs).unwrap();
    let one = Vector::from_column(&host, column);
    let shares = |method: &Arc<dyn Method<f64>>| SHARED.contains(&method.name());
    for method in all::<f64>().into_iter().filter(|method| !shares(method)) {
        let solver = Solver::from_shared(method.clone(), a.clone()).unwrap();
        let (mut x, mut y) = (
            Vector::zeros_like(&many).unwrap(),
            Vector::zeros_like(&one).unwrap(),
        );
        let among = solver.solve(&many, &mut x).unwrap();
        let alone = solver.solve(&one, &mut y).unwrap();
        assert_eq!(among.columns[1].iterations, alone.iterations, "{method:?}");
        let second: Vec<f64> = x.to_vec().into_iter().skip(1).step_by(2).collect();
        assert_eq!(second, y.to_vec(), "{method:?}");
    }
}

#[test]
fn a_solver_preconditions_another() {
    for executor in executors() {
        let a = testing::convection_diffusion::<f64>(&executor, 8);
        let b = Vector::<f64>::filled(&executor, 64, 2, 1.0).unwrap();
        let inner = Solver::<f64>::new(gmres(5), a.clone())
            .unwrap()
            .stopping(Stop::fixed(5));
        let outer = Solver::<f64>::new(Fgmres::default(), a)
            .unwrap()
            .with_preconditioner(Arc::new(inner))
            .unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = outer.solve(&b, &mut x).unwrap();
        assert!(outcome.converged() && outcome.iterations < 12, "{outcome}");

        let a = testing::laplacian_2d::<f64>(&executor, 8);
        let inner = Solver::<f64>::new(Cg::default(), a.clone())
            .unwrap()
            .stopping(Stop::relative(0.1));
        let outer = Solver::<f64>::new(Ir::default(), a)
            .unwrap()
            .with_preconditioner(Arc::new(inner))
            .unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = outer.solve(&b, &mut x).unwrap();
        assert!(outcome.converged() && outcome.iterations < 12, "{outcome}");
    }
}

#[test]
fn a_zero_right_hand_side_has_a_zero_solution_whatever_the_guess() {
    let host = Executor::reference();
    let a = testing::laplacian_1d::<f64>(&host, 5);
    let b = Vector::from_rows(&host, 2, [0.0, 1.0].repeat(5)).unwrap();
    for method in definite::<f64>().into_iter().chain(general()) {
        let solver = Solver::from_shared(method.clone(), a.clone()).unwrap();
        let mut x = Vector::<f64>::filled(&host, 5, 2, 3.0).unwrap();
        let outcome = solver.solve(&b, &mut x).unwrap();
        assert!(outcome.converged(), "{method:?}: {outcome}");
        assert_eq!(outcome.columns[0].iterations, 0, "{method:?}");
        assert!(
            x.to_vec().iter().step_by(2).all(Zero::is_zero),
            "{method:?}"
        );
    }
}

#[test]
fn a_good_guess_saves_iterations() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f64>(&host, 6);
    let b = Vector::<f64>::filled(&host, 36, 1, 1.0).unwrap();
    for method in all::<f64>() {
        let solver = Solver::from_shared(method.clone(), a.clone()).unwrap();
        let mut x = Vector::zeros_like(&b).unwrap();
        let first = solver.solve(&b, &mut x).unwrap();
        let again = solver.solve(&b, &mut x).unwrap();
        assert!(first.iterations > 1 && again.iterations == 0, "{method:?}");
    }
}

#[test]
fn a_preconditioner_that_gives_nan_ends_as_non_finite() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f64>(&host, 6);
    let b = Vector::<f64>::filled(&host, 36, 1, 1.0).unwrap();
    for applications in [0, 3] {
        for method in all::<f64>() {
            let solver = Solver::from_shared(method.clone(), a.clone())
                .unwrap()
                .with_preconditioner(Arc::new(BreaksAfter::new(&a, applications)))
                .unwrap();
            let mut x = Vector::zeros_like(&b).unwrap();
            let outcome = solver.solve(&b, &mut x).unwrap();
            assert_eq!(outcome.status, Status::NonFinite, "{method:?}: {outcome}");
        }
    }
}

#[test]
fn a_failing_inner_solver_is_noticed_outside() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f64>(&host, 6);
    let inner = Solver::<f64>::new(Cg::default(), a.clone())
        .unwrap()
        .with_preconditioner(Arc::new(BreaksAfter::new(&a, 2)))
        .unwrap();
    let outer = testing::solve_with(Arc::new(Fgmres::default()), &a, Some(Arc::new(inner)));
    assert_eq!(outer.status, Status::NonFinite);
}

#[test]
fn singular_systems_are_never_called_solved() {
    let host = Executor::reference();
    let a = Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 2.0, 3.0, 0.0]));
    let b = Vector::<f64>::filled(&host, 4, 1, 1.0).unwrap();
    for method in all::<f64>() {
        let solver = Solver::from_shared(method.clone(), a.clone())
            .unwrap()
            .stopping(Stop::relative(1e-8).max_iterations(200));
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = solver.solve(&b, &mut x).unwrap();
        assert!(!outcome.converged(), "{method:?}: {outcome}");
        assert!(outcome.iterations <= 200, "{method:?}");
    }
}

#[test]
fn limits_hold() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f64>(&host, 12);
    let b = Vector::<f64>::filled(&host, 144, 1, 1.0).unwrap();
    let ws = Workspace::new();
    for method in all::<f64>() {
        let solver = Solver::from_shared(method.clone(), a.clone()).unwrap();
        let solve = |stop: &Stop| {
            let mut x = Vector::zeros_like(&b).unwrap();
            solver.solve_in(&b, &mut x, stop, &ws).unwrap()
        };
        let outcome = solve(&Stop::relative(1e-10).max_iterations(3));
        assert_eq!(outcome.status, Status::IterationLimit, "{method:?}");
        assert_eq!(
            (outcome.iterations, outcome.history.len()),
            (3, 4),
            "{method:?}"
        );
        let outcome = solve(&Stop::relative(1e-10).max_time(Duration::ZERO));
        assert_eq!(outcome.status, Status::TimeLimit, "{method:?}");
        let loose = solve(&Stop::relative(1e-1));
        let tight = solve(&Stop::relative(1e-9));
        assert!(loose.converged() && tight.converged(), "{method:?}");
        assert!(loose.iterations < tight.iterations, "{method:?}");
    }
}

/// Wants an end after the second iteration.
struct Impatient(usize);

impl Observer for Impatient {
    fn iteration(&mut self, event: &IterationEvent<'_>) {
        self.0 = event.iteration;
    }
    fn wants_stop(&self) -> bool {
        self.0 >= 2
    }
}

#[test]
fn observers_may_end_a_solve() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f64>(&host, 12);
    let b = Vector::<f64>::filled(&host, 144, 2, 1.0).unwrap();
    for method in all::<f64>() {
        let solver = Solver::from_shared(method.clone(), a.clone()).unwrap();
        let ws = Workspace::with_log(Log::new().with(Impatient(0)));
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = solver.solve_in(&b, &mut x, &Stop::default(), &ws).unwrap();
        assert_eq!(outcome.status, Status::Interrupted, "{method:?}");
        assert_eq!(outcome.iterations, 2, "{method:?}");
    }
}

#[test]
fn stagnation_is_noticed() {
    // One vector at a time cannot make progress against a rotation.
    let a = testing::rotation(&Executor::reference(), 6);
    let solver = Solver::<f64>::new(gmres(1), a)
        .unwrap()
        .stopping(Stop::relative(1e-8).stagnating_after(20));
    let b = Vector::<f64>::filled(&Executor::reference(), 6, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert_eq!(outcome.status, Status::Stagnated, "{outcome}");
}

#[test]
fn a_tolerance_out_of_reach_ends_at_the_limit_of_accuracy() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f32>(&host, 12);
    let b = Vector::from_column(&host, testing::values::<f32>(144, 3));
    for method in definite::<f32>().into_iter().chain(general()) {
        let solver = Solver::from_shared(method.clone(), a.clone())
            .unwrap()
            .stopping(Stop::relative(1e-12).stagnating_after(100));
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = solver.solve(&b, &mut x).unwrap();
        assert_eq!(
            outcome.status,
            Status::AccuracyLimit,
            "{method:?}: {outcome}"
        );
        assert!(outcome.backward_error < 2e-6, "{method:?}: {outcome}");
        assert!(outcome.iterations < 200, "{method:?}: {outcome}");
        assert_eq!(outcome.history.len(), outcome.iterations + 1, "{method:?}");
    }
}

/// `D A D` with `D` between 1 and 1e5, for the Laplacian in two dimensions.
#[cfg(feature = "direct")]
fn badly_scaled(executor: &Executor) -> Arc<Csr<f64>> {
    let a = testing::laplacian_2d::<f64>(executor, 10);
    let scale = |i: usize| 10f64.powf((i * 37 % 100) as f64 / 20.0);
    let mut values = a.values().to_vec();
    for row in 0..100 {
        for place in a.offsets()[row]..a.offsets()[row + 1] {
            values[place] *= scale(row) * scale(a.columns()[place] as usize);
        }
    }
    let (offsets, columns) = (a.offsets().to_vec(), a.columns().to_vec());
    let kept = crate::matrix::Duplicates::Refuse;
    Arc::new(Csr::from_arrays(executor, Size::square(100), offsets, columns, values, kept).unwrap())
}

#[test]
fn no_tolerance_at_all_ends_at_the_limit_of_accuracy() {
    for executor in executors()
        .into_iter()
        .chain(vcycle_core::testing::device())
    {
        let host = testing::laplacian_2d::<f64>(&Executor::reference(), 5);
        let a = Arc::new(host.copy_to(&executor).unwrap());
        let b = Vector::<f64>::filled(&executor, 25, 1, 1.0).unwrap();
        for method in all::<f64>() {
            let solver = Solver::from_shared(method.clone(), a.clone())
                .unwrap()
                .preconditioned_by(&Jacobi::default())
                .unwrap()
                .stopping(Stop::relative(0.0));
            let mut x = Vector::zeros_like(&b).unwrap();
            let outcome = solver.solve(&b, &mut x).unwrap();
            assert_eq!(
                outcome.status,
                Status::AccuracyLimit,
                "{method:?}: {outcome}"
            );
            assert!(outcome.backward_error < 3e-15, "{method:?}: {outcome}");
            assert!(outcome.iterations < 5000, "{method:?}: {outcome}");
        }
    }
}

#[cfg(feature = "direct")]
#[test]
fn factors_of_an_ill_conditioned_matrix_end_after_few_corrections_with_every_row_solved() {
    let a = badly_scaled(&Executor::reference());
    let b = Vector::<f64>::filled(&Executor::reference(), 100, 1, 1.0).unwrap();
    let solver = Solver::<f64>::new(Ir::of_factors(), a.clone())
        .unwrap()
        .preconditioned_by(&Direct::default())
        .unwrap()
        .stopping(Stop::relative(1e-14));
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert_eq!(outcome.status, Status::AccuracyLimit, "{outcome}");
    assert!(outcome.iterations <= 3, "{outcome}");
    assert!(outcome.condition > 1e4, "{outcome}");
    let told = outcome.to_string();
    assert!(
        told.contains("backward error") && told.contains("condition number at least"),
        "{told}"
    );
    let x = x.to_vec();
    for row in 0..100 {
        let (columns, values) = a.row(row);
        let terms: Vec<f64> = columns
            .iter()
            .zip(values)
            .map(|(&j, v)| v * x[j as usize])
            .collect();
        let residual = 1.0 - terms.iter().sum::<f64>();
        let level = 1.0 + terms.iter().map(|term| term.abs()).sum::<f64>();
        assert!(residual.abs() < 1e-15 * level, "row {row}");
    }
}

/// An iteration that announces residuals a thousand times smaller than they are.
#[derive(Debug)]
struct Liar;

impl Method<f64> for Liar {
    fn name(&self) -> &'static str {
        "liar"
    }
    fn iterate(&self, run: &mut Run<'_, f64>) -> Result<()> {
        let [mut r] = run.vectors()?;
        let [mut norm] = run.scalars()?;
        let mut ended = run.start(&mut r, &mut norm)?;
        let mut lie = 1.0;
        while !ended {
            run.x
                .axpy(Coefficient::real(0.5).times(run.monitor.active()), &r)?;
            run.residual(&mut r)?;
            r.norm(&mut norm)?;
            lie *= 0.1;
            norm.host_mut()?.iter_mut().for_each(|norm| *norm *= lie);
            ended = run.done(&norm)?;
        }
        Ok(())
    }
}

#[test]
fn a_recurrence_that_lied_is_restarted_within_the_limits() {
    let host = Executor::reference();
    let a = Arc::new(Csr::<f64>::identity(&host, 2));
    let b = Vector::<f64>::filled(&host, 2, 1, 1.0).unwrap();
    let solver = Solver::<f64>::new(Liar, a).unwrap();
    let ws = Workspace::new();
    let solve = |stop: Stop| {
        let mut x = Vector::zeros_like(&b).unwrap();
        solver.solve_in(&b, &mut x, &stop, &ws).unwrap()
    };
    let outcome = solve(Stop::relative(1e-4));
    assert!(outcome.converged() && outcome.relative_residual <= 1e-4);
    // Halving each time: 14 iterations reach 1e-4, and the lies are corrected at restarts.
    assert_eq!((outcome.iterations, outcome.history.len()), (14, 15));
    let limited = solve(Stop::relative(1e-4).max_iterations(7));
    assert_eq!(
        (limited.status, limited.iterations),
        (Status::IterationLimit, 7)
    );
    assert_eq!(limited.relative_residual, 0.5_f64.powi(7));
}

#[test]
fn a_trusted_recurrence_is_not_corrected_and_both_residuals_are_told() {
    let host = Executor::reference();
    let a = Arc::new(Csr::<f64>::identity(&host, 2));
    let b = Vector::<f64>::filled(&host, 2, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let stop = Stop::reduction(1e-4).trusting_recurrence();
    let solver = Solver::<f64>::new(Liar, a).unwrap().stopping(stop);
    let outcome = solver.solve(&b, &mut x).unwrap();
    // Each iteration halves the residual and claims a twentieth.
    assert_eq!((outcome.status, outcome.iterations), (Status::Converged, 4));
    assert_eq!(outcome.relative_residual, 0.5_f64.powi(4));
    assert!(outcome.recurrence_residual <= 1e-4 && outcome.recurrence_differs());
    assert!(
        outcome.to_string().contains("of the recurrence"),
        "{outcome}"
    );
}

#[test]
fn bad_vectors_are_named() {
    let host = Executor::reference();
    let solver = Solver::<f64>::new(Cg::default(), testing::laplacian_1d::<f64>(&host, 3)).unwrap();
    let good = Vector::<f64>::filled(&host, 3, 1, 1.0).unwrap();
    let bad = Vector::from_column(&host, vec![1.0, f64::NAN, 1.0]);
    let result = solver.solve(&bad, &mut good.clone());
    let named = |what: &str, result: Result<Outcome>| match result {
        Err(Error::NonFiniteVector {
            what: found, row, ..
        }) => found == what && row == 1,
        _ => false,
    };
    assert!(named("right-hand side", result));
    assert!(named(
        "initial guess",
        solver.solve(&good, &mut bad.clone())
    ));
}

#[derive(Default)]
struct Counter(Vec<usize>);

impl Observer for Counter {
    fn iteration(&mut self, event: &IterationEvent<'_>) {
        self.0.push(event.iteration);
    }
}

#[test]
fn only_the_outer_solve_announces_its_iterations() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f64>(&host, 6);
    let inner = Solver::<f64>::new(Cg::default(), a.clone())
        .unwrap()
        .stopping(Stop::fixed(3));
    let outer = Solver::<f64>::new(Fcg::default(), a)
        .unwrap()
        .with_preconditioner(Arc::new(inner))
        .unwrap();
    let counter = Rc::new(RefCell::new(Counter::default()));
    let ws = Workspace::with_log(Log::new().with(counter.clone()));
    let b = Vector::<f64>::filled(&host, 36, 1, 1.0).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = outer.solve_in(&b, &mut x, outer.stop(), &ws).unwrap();
    assert_eq!(
        counter.borrow().0,
        (0..=outcome.iterations).collect::<Vec<_>>()
    );
}

#[test]
fn an_indefinite_matrix_is_named_by_cg_and_its_kin() {
    let a = testing::indefinite::<f64>(&Executor::reference(), 30);
    for method in definite::<f64>() {
        let outcome = testing::solve_with(method.clone(), &a, None);
        assert_eq!(
            outcome.status,
            Status::Indefinite(Part::Operator),
            "{method:?}"
        );
    }
}

#[test]
fn parameters_are_read_and_unknown_ones_refused() {
    let gmres: Gmres = serde_json::from_str(r#"{"restart": 7}"#).unwrap();
    assert_eq!((gmres.restart, gmres.basis), (7, Storage::Working));
    let chebyshev: Chebyshev = serde_json::from_str(r#"{"estimation-steps": 3}"#).unwrap();
    assert_eq!((chebyshev.lower, chebyshev.estimation_steps), (None, 3));
    assert!(serde_json::from_str::<Cg>(r#"{"restart": 7}"#).is_err());
    assert_eq!(serde_json::from_str::<Idr>("{}").unwrap(), Idr::default());
}
