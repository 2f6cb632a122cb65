//! Every kind of matrix, on the host and on devices, and those that have no inverse.

use super::super::Numbers;
use super::*;
use crate::executor::Executor;
use crate::gallery;
use crate::linop::{LinOp, Size, Transpose};
use crate::matrix::Duplicates;
use crate::operations::HostStages;
use crate::scalar::{Mixes, Real, c32, f16};
use crate::solver::testing;
use crate::solver::{Ir, Solver};
use crate::stop::Stop;
use crate::vector::{Coefficient, Vector};
use vcycle_core::testing::device;

fn host() -> Executor {
    Executor::reference()
}

fn factorise<T: Mixes<T, T>>(a: &Csr<T>) -> Result<Arc<dyn LinOp<T>>> {
    let a: Arc<dyn LinOp<T>> = Arc::new(a.clone());
    Direct::default().generate(&a, &Workspace::new())
}

/// The same where singular matrices are errors.
fn refusing<T: Mixes<T, T>>(a: &Csr<T>) -> Result<Arc<dyn LinOp<T>>> {
    let a: Arc<dyn LinOp<T>> = Arc::new(a.clone());
    Direct { singular: false }.generate(&a, &Workspace::new())
}

/// The largest part of a known solution that is not found with the matrix, its transpose and its adjoint, for two columns.
fn error<T: Mixes<T, T>>(inverse: &dyn LinOp<T>, a: &dyn LinOp<T>) -> f64 {
    let (ws, n) = (Workspace::new(), a.size().rows);
    let known = Vector::from_rows(a.executor(), 2, testing::values::<T>(2 * n, 5)).unwrap();
    let mut b = Vector::<T>::zeros_like(&known).unwrap();
    let mut x = Vector::<T>::zeros_like(&known).unwrap();
    let off = |mode: Option<Transpose>| {
        let apply = |op: &dyn LinOp<T>, x: &Vector<T>, y: &mut Vector<T>| match mode {
            None => op.apply(x, y, &ws).unwrap(),
            Some(mode) => op.apply_transposed(mode, x, y, &ws).unwrap(),
        };
        apply(a, &known, &mut b);
        apply(inverse, &b, &mut x);
        x.axpy(Coefficient::real(-1.0), &known).unwrap();
        let norms = |x: &Vector<T>| x.norms().unwrap().into_iter().map(Real::to_f64);
        norms(&x)
            .zip(norms(&known))
            .map(|(x, known)| x / known)
            .fold(0.0, f64::max)
    };
    [None, Some(Transpose::Plain), Some(Transpose::Conjugate)]
        .map(off)
        .into_iter()
        .fold(0.0, f64::max)
}

/// Factorises a matrix, and again with other values; says what the host did for a device.
fn check<T: Mixes<T, T>>(a: &Csr<T>, at: &Executor, tolerance: f64, method: &str) -> Vec<String> {
    let (ws, watch) = (Workspace::new(), HostStages::watch());
    let a = a.copy_to(at).unwrap();
    let setup = Direct::default().setup::<T>(&(Arc::new(a.clone()) as _), &ws);
    let (mut setup, inverse) = setup.unwrap();
    let expected = if at.is_device() { "fronts" } else { method };
    assert!(format!("{inverse:?}").contains(expected), "{inverse:?}");
    let found = error(inverse.as_ref(), &a);
    assert!(found < tolerance, "{inverse:?}: {found}");
    let mut other = a;
    for (value, factor) in other.values_mut().iter_mut().zip((0..5).cycle()) {
        *value = T::from_c64(value.to_c64() * (1.0 + 0.01 * f64::from(factor)));
    }
    let again: Arc<dyn LinOp<T>> = Arc::new(other.clone());
    let inverse = setup.update_values(&again, &ws).unwrap();
    let found = error(inverse.as_ref(), &other);
    assert!(found < tolerance, "again, {inverse:?}: {found}");
    watch.report(ws.log())
}

#[test]
fn every_kind_of_matrix_is_inverted() {
    let two = Executor::cpu_with_threads(2).unwrap();
    let built = |spec| gallery::build(spec, &host()).unwrap().matrix;
    // Every fifth row has zeros in the place of its diagonal.
    let wind = testing::convection_diffusion::<f64>(&host(), 12);
    let gaps = wind.filter(|row, column, _| row != column || row % 5 > 0);
    for at in [host(), Executor::cpu(), two].into_iter().chain(device()) {
        for (a, method) in [
            (built("poisson5:30"), "cholesky"), // fronts of several panels
            (built("elasticity:4x3x3"), "cholesky"),
            (built("convdiff7:6,100"), "lu"),
            ((*testing::indefinite::<f64>(&host(), 30)).clone(), "ldl"),
            (gaps.as_ref().unwrap().clone(), "lu"),
        ] {
            assert!(check(&a, &at, 1e-9, method).is_empty());
        }
        let single = testing::laplacian_2d::<f32>(&host(), 8);
        let shifted = testing::shifted_laplacian::<c64>(&host(), 10);
        let hermitian = testing::hermitian::<c64>(&host(), 20);
        let narrow = testing::hermitian::<c32>(&host(), 40);
        assert!(check(&single, &at, 1e-3, "cholesky").is_empty());
        assert!(check(&shifted, &at, 1e-10, "ldl").is_empty());
        assert!(check(&hermitian, &at, 1e-10, "cholesky").is_empty());
        assert!(check(&narrow, &at, 1e-3, "cholesky").is_empty());
    }
}

#[test]
fn an_analysis_is_factorised_later() {
    let ws = Workspace::new();
    for (a, other) in [
        (testing::indefinite::<f64>(&host(), 30), 3.0),
        (testing::laplacian_2d::<f64>(&host(), 12), -1.0), // no longer definite
        (testing::convection_diffusion::<f64>(&host(), 12), 2.0),
    ] {
        let mut setup = Direct::default().analyse(&*a, &ws).unwrap();
        let cost = setup.cost().unwrap();
        assert!(cost.bytes >= 8 * cost.fill && !setup.may_be_improved());
        for factor in [1.0, other] {
            let a: Arc<dyn LinOp<f64>> = Arc::new(a.scale(factor).unwrap());
            let inverse = setup.update_values(&a, &ws).unwrap();
            assert!(error(inverse.as_ref(), a.as_ref()) < 1e-9);
        }
    }
}

#[test]
fn refinement_polishes_the_solution() {
    let a = testing::convection_diffusion::<f64>(&host(), 20);
    let solver = Solver::<f64>::new(Ir::default(), a).unwrap();
    let solver = solver.preconditioned_by(&Direct::default()).unwrap();
    let solver = solver.stopping(Stop::relative(1e-15));
    let b = Vector::from_column(&host(), testing::values::<f64>(400, 2));
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert!(outcome.converged() && outcome.iterations <= 3, "{outcome}");
}

/// A matrix of these places, with values that look random unless they are given.
fn matrix(n: usize, entries: &[(usize, u32)], values: Option<Vec<f64>>) -> Csr<f64> {
    let offset = |row| entries.partition_point(|entry| entry.0 < row);
    let offsets = (0..=n).map(offset).collect();
    let columns = entries.iter().map(|entry| entry.1).collect();
    let values = values.unwrap_or_else(|| testing::values(entries.len(), 4));
    let size = Size::square(n);
    Csr::from_arrays(&host(), size, offsets, columns, values, Duplicates::Refuse).unwrap()
}

/// The Laplacian of a square without boundary: constants are in its nullspace.
fn neumann(n: usize) -> Csr<f64> {
    let mut a = (*testing::laplacian_2d::<f64>(&host(), n)).clone();
    for row in 0..n * n {
        let own = a.pattern().range(row);
        let sum: f64 = a.values()[own.clone()].iter().sum();
        let place = a.row(row).0.iter().position(|&c| c as usize == row);
        a.values_mut()[own.start + place.unwrap()] -= sum;
    }
    a
}

#[test]
fn singular_systems_with_a_solution_are_solved() {
    let (ws, watch) = (Workspace::new(), HostStages::watch());
    let a = neumann(20);
    let mut values = testing::values::<f64>(400, 3);
    let mean = values.iter().sum::<f64>() / 400.0;
    values.iter_mut().for_each(|value| *value -= mean);
    let b = Vector::from_column(&host(), values);
    let mut x = Vector::zeros_like(&b).unwrap();
    let inverse = factorise(&a).unwrap();
    inverse.apply(&b, &mut x, &ws).unwrap();
    let mut residual = Vector::zeros_like(&b).unwrap();
    LinOp::<f64>::apply(&a, &x, &mut residual, &ws).unwrap();
    residual.axpy(Coefficient::real(-1.0), &b).unwrap();
    assert!(residual.norms().unwrap()[0] < 1e-11);
    let remarks = watch.report(ws.log());
    assert!(remarks[0].contains("1 of its rows depend"), "{remarks:?}");
}

#[test]
fn singular_matrices_are_named() {
    let pairs = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 2)];
    let thin = [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)];
    let two_for_one = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)];
    let dependent = vec![1.0, 2.0, 2.0, 4.0, 1.0, 1.0];
    let singular = [
        ("row 1", matrix(2, &[(0, 0), (0, 1)], None)),
        ("column 1", matrix(2, &[(0, 0), (1, 0)], None)),
        ("column 2", matrix(3, &thin, None)),
        ("", matrix(3, &two_for_one, None)),
        ("", matrix(3, &pairs, Some(dependent))),
        ("", matrix(3, &pairs, Some(vec![1.0; 6]))),
        ("", Csr::diagonal_matrix(&host(), vec![1.0, 0.0])),
        ("", neumann(2)),
        ("", neumann(20)),
    ];
    for at in [host()].into_iter().chain(device()) {
        for (name, a) in &singular {
            let error = refusing(&a.copy_to(&at).unwrap()).unwrap_err();
            assert!(matches!(error, Error::Singular { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains(name) && !text.contains("NaN"), "{text}");
        }
    }
}

#[test]
fn random_patterns_are_solved_or_refused() {
    let mut numbers = Numbers(11);
    for trial in 0..300 {
        let n = 1 + trial % 12;
        let mut entries: Vec<(usize, u32)> = (0..2 * n)
            .map(|_| {
                let mut pick = || ((numbers.next() * 0.5 + 0.5) * n as f64) as usize;
                (pick().min(n - 1), pick().min(n - 1) as u32)
            })
            .collect();
        entries.sort_unstable();
        entries.dedup();
        let result = refusing(&matrix(n, &entries, None));
        assert!(matches!(result, Ok(_) | Err(Error::Singular { .. })));
    }
}

#[test]
fn what_cannot_be_factorised_is_refused() {
    let mut nan = (*testing::laplacian_1d::<f64>(&host(), 4)).clone();
    nan.values_mut()[0] = f64::NAN;
    let refused = factorise(&nan);
    assert!(matches!(
        refused,
        Err(Error::NonFiniteEntry { row: 0, column: 0 })
    ));
    let half = factorise(&testing::laplacian_1d::<f16>(&host(), 4));
    assert!(matches!(half, Err(Error::Unsupported { .. })));
    let (size, offsets, columns) = (Size::new(1, 2), vec![0, 1], vec![0]);
    let wide = Csr::from_arrays(
        &host(),
        size,
        offsets,
        columns,
        vec![1.0],
        Duplicates::Refuse,
    );
    let wide = factorise(&wide.unwrap());
    assert!(matches!(wide, Err(Error::NotSquare { .. })));
    let a: Arc<dyn LinOp<f64>> = testing::laplacian_1d::<f64>(&host(), 8);
    let (mut setup, _) = Direct::default().setup(&a, &Workspace::new()).unwrap();
    let other: Arc<dyn LinOp<f64>> = Arc::new(Csr::<f64>::identity(&host(), 8));
    let refused = setup.update_values(&other, &Workspace::new());
    assert!(matches!(refused, Err(Error::InvalidStructure { .. })));
}

#[test]
fn an_empty_matrix_is_its_own_inverse() {
    let inverse = factorise(&matrix(0, &[], None)).unwrap();
    let b = Vector::<f64>::zeros(&host(), 0, 1).unwrap();
    inverse
        .apply(&b, &mut b.clone(), &Workspace::new())
        .unwrap();
}
