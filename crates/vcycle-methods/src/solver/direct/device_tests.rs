//! Factors of devices beside those of the host.

use vcycle_core::testing::device;

use super::*;
use crate::executor::Executor;
use crate::gallery;
use crate::linop::Transpose;
use crate::matrix::Duplicates;
use crate::operations::HostStages;
use crate::scalar::{Mixes, c32};
use crate::solver::testing;
use crate::vector::{Coefficient, Vector};

/// The largest part of a known solution that is not found, for two columns, also with the transposed matrix.
fn error<T: Mixes<T, T>>(inverse: &dyn LinOp<T>, a: &Csr<T>) -> f64 {
    use crate::scalar::Real;
    let (ws, rows) = (Workspace::new(), a.size().rows);
    let values = testing::values::<T>(2 * rows, 5);
    let known = Vector::from_rows(a.executor(), 2, values).unwrap();
    let mut b = Vector::<T>::zeros_like(&known).unwrap();
    let mut x = Vector::<T>::zeros_like(&known).unwrap();
    let a: &dyn LinOp<T> = a;
    a.apply(&known, &mut b, &ws).unwrap();
    inverse.apply(&b, &mut x, &ws).unwrap();
    let off = |x: &mut Vector<T>| {
        x.axpy(Coefficient::real(-1.0), &known).unwrap();
        let norms = |x: &Vector<T>| x.norms().unwrap()[0].to_f64();
        norms(x) / norms(&known)
    };
    let mut worst = off(&mut x);
    for mode in [Transpose::Plain, Transpose::Conjugate] {
        a.apply_transposed(mode, &known, &mut b, &ws).unwrap();
        inverse.apply_transposed(mode, &b, &mut x, &ws).unwrap();
        worst = worst.max(off(&mut x));
    }
    worst
}

/// Factorises on a device and again with other values; what the host did is told.
fn solved<T: Mixes<T, T>>(a: &Csr<T>, device: &Executor, tolerance: f64) -> Vec<String> {
    let ws = Workspace::new();
    let watch = HostStages::watch();
    let a = a.copy_to(device).unwrap();
    let (mut setup, inverse) = Direct::default()
        .setup::<T>(&(Arc::new(a.clone()) as _), &ws)
        .unwrap();
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
    watch.tell(ws.log())
}

#[test]
fn every_kind_of_matrix_is_inverted() {
    let Some(device) = device() else { return };
    let host = Executor::reference();
    let built = |spec| gallery::build(spec, &host).unwrap().matrix;
    for a in [
        built("poisson5:30"), // fronts of several panels
        built("elasticity:4x3x3"),
        built("convdiff7:6,100"),
        (*testing::indefinite::<f64>(&host, 30)).clone(),
    ] {
        assert!(solved(&a, &device, 1e-9).is_empty());
    }
    let single = testing::laplacian_2d::<f32>(&host, 8);
    assert!(solved(&single, &device, 1e-3).is_empty());
    let shifted = testing::shifted_laplacian::<c64>(&host, 8);
    assert!(solved(&shifted, &device, 1e-10).is_empty());
    let hermitian = testing::hermitian::<c32>(&host, 40);
    assert!(solved(&hermitian, &device, 1e-3).is_empty());
}

/// Every fifth row has zeros in the place of its diagonal.
fn without_diagonal(n: usize) -> Csr<f64> {
    let a = testing::convection_diffusion::<f64>(&Executor::reference(), n);
    a.filter(|row, column, _| row != column || row % 5 > 0)
        .unwrap()
}

#[test]
fn zeros_on_the_diagonal_are_matched_away() {
    let Some(device) = device() else { return };
    let told = solved(&without_diagonal(12), &device, 1e-9);
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn singular_matrices_are_named_and_small_pivots_left_to_the_host() {
    let Some(device) = device() else { return };
    let matrix = |columns: Vec<u32>, values: Vec<f64>| {
        let (size, offsets) = (crate::linop::Size::square(3), vec![0, 2, 4, 6]);
        let host = Executor::reference();
        let a = Csr::from_arrays(&host, size, offsets, columns, values, Duplicates::Refuse);
        a.unwrap().copy_to(&device).unwrap()
    };
    let refused = |a: Csr<f64>| {
        let a: Arc<dyn LinOp<f64>> = Arc::new(a);
        let error = Direct::default().generate(&a, &Workspace::new());
        let error = error.unwrap_err();
        assert!(matches!(error, Error::Singular { .. }), "{error}");
        error.to_string()
    };
    let structural = matrix(vec![0, 1, 0, 1, 0, 2], vec![1.0; 6]);
    let values = vec![1.0, 2.0, 2.0, 4.0, 1.0, 1.0];
    refused(matrix(vec![0, 1, 0, 1, 0, 2], values));
    let pattern = matrix(vec![0, 1, 0, 1, 0, 1], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert!(refused(pattern).contains("column 2"));
    refused(structural);
}

#[test]
fn other_patterns_are_refused() {
    let host = Executor::cpu();
    let a: Arc<dyn LinOp<f64>> = testing::laplacian_1d::<f64>(&host, 8);
    let (mut setup, _) = Direct::default().setup(&a, &Workspace::new()).unwrap();
    let other: Arc<dyn LinOp<f64>> = Arc::new(Csr::<f64>::identity(&host, 8));
    let refused = setup.update_values(&other, &Workspace::new());
    assert!(matches!(refused, Err(Error::InvalidStructure { .. })));
}
