//! Every kind of matrix, and those that have no inverse.

use super::super::random::Numbers;
use super::*;
use crate::executor::Executor;
use crate::linop::{LinOp, Size, Transpose};
use crate::matrix::Duplicates;
use crate::scalar::{Mixes, Real, c32, f16};
use crate::solver::testing;
use crate::solver::{Ir, Solver};
use crate::stop::Stop;
use crate::vector::Vector;

fn factorise<T: Mixes<T, T>>(a: &Arc<Csr<T>>) -> Result<Arc<dyn LinOp<T>>> {
    let a: Arc<dyn LinOp<T>> = a.clone();
    Direct::default().generate(&a, &Workspace::new())
}

/// Solves with the matrix, its transpose and its adjoint.
fn check<T: Mixes<T, T>>(a: &Arc<Csr<T>>, tolerance: f64, method: &str) {
    let (ws, n) = (Workspace::new(), a.size().rows);
    let inverse = factorise(a).unwrap();
    assert!(format!("{inverse:?}").contains(method));
    let known = Vector::from_rows(a.executor(), 2, testing::values::<T>(2 * n, 5)).unwrap();
    let mut b = Vector::<T>::zeros_like(&known).unwrap();
    let mut x = Vector::<T>::zeros_like(&known).unwrap();
    for mode in [None, Some(Transpose::Plain), Some(Transpose::Conjugate)] {
        let a: &dyn LinOp<T> = a.as_ref();
        match mode {
            None => {
                a.apply(&known, &mut b, &ws).unwrap();
                inverse.apply(&b, &mut x, &ws).unwrap();
            }
            Some(mode) => {
                a.apply_transposed(mode, &known, &mut b, &ws).unwrap();
                inverse.apply_transposed(mode, &b, &mut x, &ws).unwrap();
            }
        }
        x.axpy(crate::vector::Coefficient::real(-1.0), &known)
            .unwrap();
        for error in x.norms().unwrap() {
            assert!(error.to_f64() < tolerance, "{mode:?}: {error}");
        }
    }
}

#[test]
fn every_kind_of_matrix_is_inverted() {
    let two = Executor::cpu_with_threads(2).unwrap();
    for executor in [Executor::reference(), Executor::cpu(), two] {
        check::<f64>(&testing::laplacian_2d(&executor, 30), 1e-10, "cholesky");
        check::<f32>(&testing::laplacian_2d(&executor, 8), 1e-3, "cholesky");
        check::<c64>(&testing::hermitian(&executor, 20), 1e-10, "cholesky");
        check::<f64>(&testing::indefinite(&executor, 30), 1e-10, "lu");
        check::<f64>(&testing::convection_diffusion(&executor, 30), 1e-10, "lu");
        check::<c64>(&testing::shifted_laplacian(&executor, 10), 1e-10, "lu");
        check::<c32>(&testing::shifted_laplacian(&executor, 5), 1e-3, "lu");
    }
}

#[test]
fn refinement_polishes_the_solution() {
    let host = Executor::reference();
    let a = testing::convection_diffusion::<f64>(&host, 20);
    let solver = Solver::<f64>::new(Ir::default(), a)
        .unwrap()
        .preconditioned_by(&Direct::default())
        .unwrap()
        .stopping(Stop::relative(1e-15));
    let b = Vector::from_column(&host, testing::values::<f64>(400, 2));
    let mut x = Vector::zeros_like(&b).unwrap();
    let outcome = solver.solve(&b, &mut x).unwrap();
    assert!(outcome.converged() && outcome.iterations <= 3, "{outcome}");
}

fn pattern(n: usize, entries: &[(usize, u32)]) -> Arc<Csr<f64>> {
    let offsets = (0..=n)
        .map(|row| entries.partition_point(|entry| entry.0 < row))
        .collect();
    let columns = entries.iter().map(|entry| entry.1).collect();
    let values = testing::values(entries.len(), 4);
    let host = Executor::reference();
    let size = Size::square(n);
    let matrix = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
    Arc::new(matrix.unwrap())
}

#[test]
fn singular_matrices_are_named() {
    let host = Executor::reference();
    let neumann = |n: usize| {
        let mut a = (*testing::laplacian_2d::<f64>(&host, n)).clone();
        for row in 0..n * n {
            let (first, last) = (a.offsets()[row], a.offsets()[row + 1]);
            let sum: f64 = a.values()[first..last].iter().sum();
            let place = a
                .row(row)
                .0
                .iter()
                .position(|&c| c as usize == row)
                .unwrap();
            a.values_mut()[first + place] -= sum;
        }
        Arc::new(a)
    };
    let singular = [
        ("an empty row", pattern(2, &[(0, 0), (0, 1)])),
        ("an empty column", pattern(2, &[(0, 0), (1, 0)])),
        (
            "two rows for one column",
            pattern(3, &[(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)]),
        ),
        (
            "a zero pivot",
            Arc::new(Csr::diagonal_matrix(&host, vec![1.0, 0.0])),
        ),
        ("pure Neumann conditions", neumann(2)),
        ("pure Neumann conditions on more points", neumann(20)),
    ];
    for (name, a) in singular {
        let result = factorise(&a);
        assert!(
            matches!(&result, Err(error @ Error::Singular { .. }) if !error.to_string().contains("NaN")),
            "{name}: {result:?}"
        );
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
        let result = factorise(&pattern(n, &entries));
        assert!(matches!(result, Ok(_) | Err(Error::Singular { .. })));
    }
}

#[test]
fn what_cannot_be_factorised_is_refused() {
    let host = Executor::reference();
    let mut nan = (*testing::laplacian_1d::<f64>(&host, 4)).clone();
    nan.values_mut()[0] = f64::NAN;
    assert!(matches!(
        factorise(&Arc::new(nan)),
        Err(Error::NonFiniteEntry { row: 0, column: 0 })
    ));
    assert!(matches!(
        factorise(&testing::laplacian_1d::<f16>(&host, 4)),
        Err(Error::Unsupported { .. })
    ));
    let (offsets, columns, values) = (vec![0, 1], vec![0], vec![1.0]);
    let size = Size::new(1, 2);
    let wide = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
    assert!(matches!(
        factorise(&Arc::new(wide.unwrap())),
        Err(Error::NotSquare { .. })
    ));
}

#[test]
fn an_empty_matrix_is_its_own_inverse() {
    let host = Executor::reference();
    let inverse = factorise(&pattern(0, &[])).unwrap();
    let b = Vector::<f64>::zeros(&host, 0, 1).unwrap();
    let mut x = b.clone();
    inverse.apply(&b, &mut x, &Workspace::new()).unwrap();
}
