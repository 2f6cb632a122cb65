//! Requirements of every method, and tests of the driver around them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use num_traits::Zero;

use super::testing::{
    self, Methods, SHARED, all, breaks_after, definite, general, gmres, ones, solved, solver,
    symmetric,
};
use super::*;
use crate::log::{IterationEvent, Log, Observer};
use crate::precond::Jacobi;
use crate::stop::Status;
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
        let plain = || solver(method, a.clone()).stopping(Stop::relative(tolerance));
        let jacobi = plain().preconditioned_by(&Jacobi::default()).unwrap();
        for solver in [plain(), jacobi] {
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
fn systems_of_every_kind_are_solved() {
    for executor in executors() {
        let at = &executor;
        for methods in [definite(), symmetric(), general()] {
            check::<f64>(&methods, &testing::laplacian_2d(at, 7), 1e-10);
        }
        check::<f32>(&definite(), &testing::laplacian_2d(at, 7), 1e-4);
        check::<c64>(&definite(), &testing::hermitian(at, 20), 1e-10);
        check::<c32>(&definite(), &testing::hermitian(at, 20), 1e-4);
        check::<f64>(&general(), &testing::convection_diffusion(at, 7), 1e-10);
        check::<f32>(&general(), &testing::convection_diffusion(at, 7), 1e-4);
        check::<c64>(&general(), &testing::shifted_laplacian(at, 5), 1e-10);
        check::<c32>(&general(), &testing::shifted_laplacian(at, 5), 1e-4);
        check::<f64>(&symmetric(), &testing::indefinite(at, 30), 1e-10);
        check::<c64>(&symmetric(), &testing::hermitian(at, 30), 1e-10);
        check::<c32>(&symmetric(), &testing::hermitian(at, 10), 1e-4);
        let residuals: Methods<f64> = vec![Arc::new(Gmres::default()), Arc::new(Gcr::default())];
        check::<f64>(&residuals, &testing::indefinite(at, 30), 1e-10);
    }
}

#[test]
fn half_precision_is_solved_to_its_accuracy() {
    let a = testing::laplacian_1d::<bf16>(&Executor::reference(), 4);
    let methods: Methods<bf16> = vec![Arc::new(Cg::default()), Arc::new(Gmres::default())];
    for method in methods {
        let (outcome, _) = solved(&method, a.clone(), &ones(&a, 1), Stop::relative(0.1));
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
        let (outcome, x) = solved(&method, a.clone(), &b, Stop::default());
        assert!(outcome.converged(), "{method:?}: {outcome}");
        let (first, second) = (outcome.columns[0], outcome.columns[1]);
        if !["ir", "chebyshev", "idr"].contains(&method.name()) {
            assert_eq!(first.iterations, 1, "{method:?}");
            assert!(second.iterations > 1, "{method:?}");
            assert!((x[0] - 1.0).abs() < 1e-14, "{method:?}");
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
        let (among, x) = solved(&method, a.clone(), &many, Stop::default());
        let (alone, y) = solved(&method, a.clone(), &one, Stop::default());
        assert_eq!(among.columns[1].iterations, alone.iterations, "{method:?}");
        let second: Vec<f64> = x.into_iter().skip(1).step_by(2).collect();
        assert_eq!(second, y, "{method:?}");
    }
}

#[test]
fn a_solver_preconditions_another() {
    let few = |inner: Arc<dyn Method<f64>>, outer: Arc<dyn Method<f64>>, a: Arc<Csr<f64>>, stop| {
        let inner = solver(&inner, a.clone()).stopping(stop);
        let outer = solver(&outer, a.clone()).with_preconditioner(Arc::new(inner));
        let b = ones(&a, 2);
        let outcome = outer
            .unwrap()
            .solve(&b, &mut Vector::zeros_like(&b).unwrap());
        let outcome = outcome.unwrap();
        assert!(outcome.converged() && outcome.iterations < 12, "{outcome}");
    };
    for executor in executors() {
        let wind = testing::convection_diffusion(&executor, 8);
        let laplacian = testing::laplacian_2d(&executor, 8);
        let outer = Arc::new(Fgmres::default());
        few(Arc::new(gmres(5)), outer, wind, Stop::fixed(5));
        let (inner, outer) = (Arc::new(Cg::default()), Arc::new(Ir::default()));
        few(inner, outer, laplacian, Stop::relative(0.1));
    }
}

#[test]
fn a_zero_right_hand_side_has_a_zero_solution_whatever_the_guess() {
    let host = Executor::reference();
    let a = testing::laplacian_1d::<f64>(&host, 5);
    let b = Vector::from_rows(&host, 2, [0.0, 1.0].repeat(5)).unwrap();
    for method in definite::<f64>().into_iter().chain(general()) {
        let mut x = Vector::<f64>::filled(&host, 5, 2, 3.0).unwrap();
        let outcome = solver(&method, a.clone()).solve(&b, &mut x).unwrap();
        assert!(outcome.converged(), "{method:?}: {outcome}");
        assert_eq!(outcome.columns[0].iterations, 0, "{method:?}");
        let x = x.to_vec();
        assert!(x.iter().step_by(2).all(Zero::is_zero), "{method:?}");
    }
}

#[test]
fn a_good_guess_saves_iterations() {
    let a = testing::laplacian_2d::<f64>(&Executor::reference(), 6);
    let b = ones(&a, 1);
    for method in all::<f64>() {
        let solver = solver(&method, a.clone());
        let mut x = Vector::zeros_like(&b).unwrap();
        let [first, again] = [0; 2].map(|_| solver.solve(&b, &mut x).unwrap().iterations);
        assert!(first > 1 && again == 0, "{method:?}");
    }
}

#[test]
fn a_preconditioner_that_gives_nan_ends_as_non_finite() {
    let a = testing::laplacian_2d::<f64>(&Executor::reference(), 6);
    for applications in [0, 3] {
        for method in all::<f64>() {
            let breaks = Arc::new(breaks_after(&a, applications));
            let outcome = testing::solve_with(method.clone(), &a, Some(breaks));
            assert_eq!(outcome.status, Status::NonFinite, "{method:?}: {outcome}");
        }
    }
    // Outside of a solver that failed, too.
    let inner = solver(&(Arc::new(Cg::default()) as _), a.clone());
    let inner = inner.with_preconditioner(Arc::new(breaks_after(&a, 2)));
    let inner = Some(Arc::new(inner.unwrap()) as _);
    let outer = testing::solve_with(Arc::new(Fgmres::default()), &a, inner);
    assert_eq!(outer.status, Status::NonFinite);
}

#[test]
fn singular_systems_are_never_called_solved() {
    let diagonal = vec![1.0, 2.0, 3.0, 0.0];
    let a = Arc::new(Csr::diagonal_matrix(&Executor::reference(), diagonal));
    let stop = Stop::relative(1e-8).max_iterations(200);
    for method in all::<f64>() {
        let (outcome, _) = solved(&method, a.clone(), &ones(&a, 1), stop.clone());
        assert!(!outcome.converged(), "{method:?}: {outcome}");
        assert!(outcome.iterations <= 200, "{method:?}");
    }
}

#[test]
fn limits_hold() {
    let a = testing::laplacian_2d::<f64>(&Executor::reference(), 12);
    for method in all::<f64>() {
        let solve = |stop: Stop| solved(&method, a.clone(), &ones(&a, 1), stop).0;
        let outcome = solve(Stop::relative(1e-10).max_iterations(3));
        assert_eq!(outcome.status, Status::IterationLimit, "{method:?}");
        let counts = (outcome.iterations, outcome.history.len());
        assert_eq!(counts, (3, 4), "{method:?}");
        let outcome = solve(Stop::relative(1e-10).max_time(Duration::ZERO));
        assert_eq!(outcome.status, Status::TimeLimit, "{method:?}");
        let (loose, tight) = (solve(Stop::relative(1e-1)), solve(Stop::relative(1e-9)));
        assert!(loose.converged() && tight.converged(), "{method:?}");
        assert!(loose.iterations < tight.iterations, "{method:?}");
    }
}

/// The status and the residual of a solve whose preconditioner ends for want of time alone, or on request.
fn of_endless(stop: &Stop, log: Log) -> (Status, f64) {
    let a = testing::laplacian_2d::<f64>(&Executor::reference(), 4);
    let b = ones(&a, 1);
    let solver = Solver::<f64>::new(Cg::default(), a.clone()).unwrap();
    let endless = Arc::new(testing::Endless(a));
    let solver = solver.with_preconditioner(endless).unwrap();
    let mut x = Vector::zeros_like(&b).unwrap();
    let ws = Workspace::with_log(log);
    let outcome = solver.solve_in(&b, &mut x, stop, &ws).unwrap();
    assert_eq!(outcome.iterations, 0);
    (outcome.status, outcome.relative_residual)
}

#[test]
fn a_limit_of_time_ends_sweeps() {
    let stop = Stop::default().max_time(Duration::from_millis(1));
    assert_eq!(of_endless(&stop, Log::new()), (Status::TimeLimit, 1.0));
}

/// Wants an end when it is asked for the second time.
#[derive(Default)]
struct Hesitant(Cell<bool>);

impl Observer for Hesitant {
    fn wants_stop(&self) -> bool {
        self.0.replace(true)
    }
}

#[test]
fn observers_may_end_sweeps() {
    let log = Log::new().with(Hesitant::default());
    let stop = Stop::default();
    assert_eq!(of_endless(&stop, log), (Status::Interrupted, 1.0));
}

/// Counts iterations, and wants an end after so many.
#[derive(Default)]
struct Watcher {
    seen: Vec<usize>,
    patience: Option<usize>,
}

impl Observer for Watcher {
    fn iteration(&mut self, event: &IterationEvent<'_>) {
        self.seen.push(event.iteration);
    }
    fn wants_stop(&self) -> bool {
        let last = self.seen.last();
        self.patience
            .is_some_and(|most| last.is_some_and(|&seen| seen >= most))
    }
}

#[test]
fn observers_may_end_a_solve() {
    let a = testing::laplacian_2d::<f64>(&Executor::reference(), 12);
    let b = ones(&a, 2);
    for method in all::<f64>() {
        let impatient = Watcher {
            patience: Some(2),
            ..Watcher::default()
        };
        let ws = Workspace::with_log(Log::new().with(impatient));
        let mut x = Vector::zeros_like(&b).unwrap();
        let outcome = solver(&method, a.clone()).solve_in(&b, &mut x, &Stop::default(), &ws);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.status, Status::Interrupted, "{method:?}");
        assert_eq!(outcome.iterations, 2, "{method:?}");
    }
}

#[test]
fn only_the_outer_solve_announces_its_iterations() {
    let a = testing::laplacian_2d::<f64>(&Executor::reference(), 6);
    let inner = Solver::<f64>::new(Cg::default(), a.clone()).unwrap();
    let outer = Solver::<f64>::new(Fcg::default(), a.clone()).unwrap();
    let outer = outer.with_preconditioner(Arc::new(inner.stopping(Stop::fixed(3))));
    let counter = Rc::new(RefCell::new(Watcher::default()));
    let ws = Workspace::with_log(Log::new().with(counter.clone()));
    let b = ones(&a, 1);
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = outer.unwrap().solve_in(&b, &mut x, &Stop::default(), &ws);
    let expected: Vec<usize> = (0..=outcome.unwrap().iterations).collect();
    assert_eq!(counter.borrow().seen, expected);
}

#[test]
fn stagnation_is_noticed() {
    // One vector at a time cannot make progress against a rotation.
    let a = testing::rotation(&Executor::reference(), 6);
    let stop = Stop::relative(1e-8).stagnating_after(20);
    let (outcome, _) = solved(&(Arc::new(gmres(1)) as _), a.clone(), &ones(&a, 1), stop);
    assert_eq!(outcome.status, Status::Stagnated, "{outcome}");
}

#[test]
fn a_tolerance_out_of_reach_ends_at_the_limit_of_accuracy() {
    let host = Executor::reference();
    let a = testing::laplacian_2d::<f32>(&host, 12);
    let b = Vector::from_column(&host, testing::values::<f32>(144, 3));
    for method in definite::<f32>().into_iter().chain(general()) {
        let stop = Stop::relative(1e-12).stagnating_after(100);
        let (outcome, _) = solved(&method, a.clone(), &b, stop);
        let is_limit = outcome.status == Status::AccuracyLimit;
        assert!(is_limit, "{method:?}: {outcome}");
        assert!(outcome.backward_error < 2e-6, "{method:?}: {outcome}");
        assert!(outcome.iterations < 200, "{method:?}: {outcome}");
        assert_eq!(outcome.history.len(), outcome.iterations + 1, "{method:?}");
    }
}

#[test]
fn no_tolerance_at_all_ends_at_the_limit_of_accuracy() {
    let device = device();
    for executor in executors().into_iter().chain(device) {
        let host = testing::laplacian_2d::<f64>(&Executor::reference(), 5);
        let a = Arc::new(host.copy_to(&executor).unwrap());
        let b = ones(&a, 1);
        for method in all::<f64>() {
            let solver = solver(&method, a.clone()).preconditioned_by(&Jacobi::default());
            let solver = solver.unwrap().stopping(Stop::relative(0.0));
            let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
            let outcome = outcome.unwrap();
            let is_limit = outcome.status == Status::AccuracyLimit;
            assert!(is_limit, "{method:?}: {outcome}");
            assert!(outcome.backward_error < 3e-15, "{method:?}: {outcome}");
            assert!(outcome.iterations < 5000, "{method:?}: {outcome}");
        }
    }
}

#[cfg(feature = "direct")]
#[test]
fn factors_of_an_ill_conditioned_matrix_end_after_few_corrections_with_every_row_solved() {
    // `D A D` with `D` between 1 and 1e5, for the Laplacian in two dimensions.
    let mut a = (*testing::laplacian_2d::<f64>(&Executor::reference(), 10)).clone();
    let scale = |i: usize| 10f64.powf((i * 37 % 100) as f64 / 20.0);
    let columns = a.columns().to_vec();
    for row in 0..100 {
        for place in a.pattern().range(row) {
            a.values_mut()[place] *= scale(row) * scale(columns[place] as usize);
        }
    }
    let a = Arc::new(a);
    let solver = Solver::<f64>::new(Ir::of_factors(), a.clone()).unwrap();
    let solver = solver.preconditioned_by(&Direct::default()).unwrap();
    let solver = solver.stopping(Stop::relative(1e-14));
    let (b, mut x) = (ones(&a, 1), Vector::zeros(a.executor(), 100, 1).unwrap());
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert_eq!(outcome.status, Status::AccuracyLimit, "{outcome}");
    assert!(outcome.iterations <= 3, "{outcome}");
    assert!(outcome.condition > 1e4, "{outcome}");
    for words in ["backward error", "condition number at least"] {
        assert!(outcome.to_string().contains(words), "{outcome}");
    }
    let x = x.to_vec();
    for row in 0..100 {
        let (columns, values) = a.row(row);
        let terms = columns.iter().zip(values).map(|(&j, v)| v * x[j as usize]);
        let terms: Vec<f64> = terms.collect();
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
            let half = Coefficient::real(0.5).times(run.monitor.active());
            run.x.axpy(half, &r)?;
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
fn a_recurrence_that_lied_is_restarted_within_the_limits_unless_it_is_trusted() {
    let a = Arc::new(Csr::<f64>::identity(&Executor::reference(), 2));
    let liar: Arc<dyn Method<f64>> = Arc::new(Liar);
    let solve = |stop: Stop| solved(&liar, a.clone(), &ones(&a, 1), stop).0;
    let outcome = solve(Stop::relative(1e-4));
    assert!(outcome.converged() && outcome.relative_residual <= 1e-4);
    // Halving each time: 14 iterations reach 1e-4, and the lies are corrected at restarts.
    assert_eq!((outcome.iterations, outcome.history.len()), (14, 15));
    let limited = solve(Stop::relative(1e-4).max_iterations(7));
    let (status, iterations) = (limited.status, limited.iterations);
    assert_eq!((status, iterations), (Status::IterationLimit, 7));
    assert_eq!(limited.relative_residual, 0.5_f64.powi(7));
    let trusted = solve(Stop::reduction(1e-4).trusting_recurrence());
    // Each iteration halves the residual and claims a twentieth.
    let (status, iterations) = (trusted.status, trusted.iterations);
    assert_eq!((status, iterations), (Status::Converged, 4));
    assert_eq!(trusted.relative_residual, 0.5_f64.powi(4));
    assert!(trusted.recurrence_residual <= 1e-4 && trusted.recurrence_differs());
    let text = trusted.to_string();
    assert!(text.contains("of the recurrence"), "{text}");
}

#[test]
fn bad_vectors_are_named() {
    let host = Executor::reference();
    let a = testing::laplacian_1d::<f64>(&host, 3);
    let solver = Solver::<f64>::new(Cg::default(), a.clone()).unwrap();
    let (good, bad) = (
        ones(&a, 1),
        Vector::from_column(&host, vec![1.0, f64::NAN, 1.0]),
    );
    for (name, b, x) in [
        ("right-hand side", &bad, &good),
        ("initial guess", &good, &bad),
    ] {
        match solver.solve(b, &mut x.clone()) {
            Err(Error::NonFiniteVector { what, row: 1, .. }) => assert_eq!(what, name),
            other => panic!("{name}: {other:?}"),
        }
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
