//! Matrices and dense algebra for the tests of preconditioners.

use crate::matrix::Duplicates;
use crate::operations::HostStages;
use crate::prelude::*;
use crate::scalar::convert;
use crate::solver::{Method, Solver};

/// A matrix without the zeros of `dense`, which is given row by row.
pub(super) fn from_dense<T: Scalar>(executor: &Executor, n: usize, dense: &[T]) -> Csr<T> {
    let entries = (0..n * n).filter(|&i| dense[i] != T::default());
    from_entries(executor, n, entries.map(|i| (i / n, i % n, dense[i])))
}

/// The preconditioner of a matrix.
pub(super) fn made<T: Mixes<T, T>>(
    factory: &dyn Factory<T>,
    a: &Csr<T>,
) -> Result<Arc<dyn LinOp<T>>> {
    let a: Arc<dyn LinOp<T>> = Arc::new(a.clone());
    factory.generate(&a, &Workspace::new())
}

/// The same for a dense matrix of the reference.
pub(super) fn made_of(
    factory: &dyn Factory<f64>,
    n: usize,
    dense: &[f64],
) -> Result<Arc<dyn LinOp<f64>>> {
    made(factory, &from_dense(&Executor::reference(), n, dense))
}

/// The preconditioner as a dense matrix.
pub(super) fn matrix_of<T: Mixes<T, T>>(factory: &dyn Factory<T>, a: &Csr<T>) -> Vec<T> {
    assemble(made(factory, a).unwrap().as_ref(), None)
}

/// The entries of a matrix, with its zeros.
pub(super) fn to_dense<T: Scalar>(a: &Csr<T>) -> Vec<T> {
    let n = a.size().rows;
    let entry = |k: usize| a.entry(k / n, k % n).unwrap_or_default();
    (0..n * n).map(entry).collect()
}

/// How far the preconditioner is from the inverse: the largest difference of `M A` from the identity.
pub(super) fn error_of<A: Field + Mixes<A, A>>(factory: &dyn Factory<A>, a: &Csr<A>) -> f64 {
    let n = a.size().rows;
    identity_error(n, &multiply(n, &matrix_of(factory, a), &to_dense(a)))
}

/// The messages while something is done.
pub(super) fn with_messages<R>(work: impl FnOnce() -> R) -> (R, String) {
    let watch = HostStages::watch();
    let done = work();
    (done, watch.report(Workspace::new().log()).concat())
}

/// Symmetric positive definite and far from diagonally dominant: ones, and 0.9 everywhere else.
pub(super) fn far_from_dominant(executor: &Executor, n: usize) -> Csr<f64> {
    let value = |i: usize| if i / n == i % n { 1.0 } else { 0.9 };
    let dense: Vec<f64> = (0..n * n).map(value).collect();
    from_dense(executor, n, &dense)
}

/// A matrix from its entries.
pub(crate) fn from_entries<T: Scalar>(
    executor: &Executor,
    n: usize,
    entries: impl Iterator<Item = (usize, usize, T)>,
) -> Csr<T> {
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (row, column, value) in entries {
        rows.push(row as u32);
        columns.push(column as u32);
        values.push(value);
    }
    let size = Size::square(n);
    Csr::from_triplets(executor, size, rows, columns, values, Duplicates::Refuse).unwrap()
}

/// Five points on a square grid of `side` by `side`, numbered by `number`.
pub(crate) fn five_points<T: Scalar>(
    executor: &Executor,
    side: usize,
    number: impl Fn(usize, usize) -> usize,
    [centre, west, east, south, north]: [c64; 5],
) -> Csr<T> {
    let mut entries = Vec::new();
    for (i, j) in (0..side * side).map(|k| (k % side, k / side)) {
        let row = number(i, j);
        let mut push = |inside: bool, (i, j), value: c64| {
            if inside {
                entries.push((row, number(i, j), T::from_c64(value)));
            }
        };
        push(true, (i, j), centre);
        push(i > 0, (i.wrapping_sub(1), j), west);
        push(i + 1 < side, (i + 1, j), east);
        push(j > 0, (i, j.wrapping_sub(1)), south);
        push(j + 1 < side, (i, j + 1), north);
    }
    from_entries(executor, side * side, entries.into_iter())
}

pub(crate) fn real<const N: usize>(values: [f64; N]) -> [c64; N] {
    values.map(|value| c64::new(value, 0.0))
}

/// The five-point Laplacian.
pub(super) fn laplacian<T: Scalar>(executor: &Executor, side: usize) -> Csr<T> {
    let points = real([4.0, -1.0, -1.0, -1.0, -1.0]);
    five_points(executor, side, |i, j| j * side + i, points)
}

/// A five-point matrix with a wind: neither symmetric nor of constant sign, and complex where `T` is.
pub(super) fn convection<T: Scalar>(executor: &Executor, side: usize) -> Csr<T> {
    let mut points = real([4.0, -1.5, -0.5, -1.25, 0.75]);
    (points[0].im, points[1].im, points[4].im) = (0.5, 0.25, -0.75);
    five_points(executor, side, |i, j| j * side + i, points)
}

/// The Laplacian of an even `side` with its points numbered like a chess board: two wide levels.
pub(super) fn red_black<T: Scalar>(executor: &Executor, side: usize) -> Csr<T> {
    let number = |i: usize, j: usize| {
        let k = (j * side + i) / 2;
        if (i + j).is_multiple_of(2) {
            k
        } else {
            side * side / 2 + k
        }
    };
    let points = real([4.0, -1.0, -1.25, -1.0, -0.75]);
    five_points(executor, side, number, points)
}

/// A Hermitian positive definite tridiagonal matrix with an entry in the corner.
pub(super) fn hermitian<T: Scalar>(executor: &Executor, n: usize) -> Csr<T> {
    let entry = |i: usize| {
        let (row, column) = (i / n, i % n);
        let value = match (row.min(column), row.max(column)) {
            (low, high) if low == high => c64::new(3.0 + 0.1 * low as f64, 0.0),
            (low, high) if low + 1 == high => c64::new(-1.0, 0.5),
            (0, high) if high + 1 == n => c64::new(0.25, -0.25),
            _ => c64::default(),
        };
        T::from_c64(if row > column { value.conj() } else { value })
    };
    from_dense(executor, n, &(0..n * n).map(entry).collect::<Vec<T>>())
}

/// Numbers without a pattern, between -1 and 1.
pub(super) fn values_for<T: Scalar>(count: usize) -> Vec<T> {
    let value = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
    let value = |k| c64::new(value(k), value(3 * k + 1));
    (0..count).map(|k| T::from_c64(value(k))).collect()
}

/// The matrix of an operator or of its transpose, row by row: its products with all unit vectors at once.
pub(super) fn assemble<T: Scalar>(op: &dyn LinOp<T>, mode: Option<Transpose>) -> Vec<T> {
    let n = op.size().rows;
    let one = |i: usize| T::from_c64(c64::from(f64::from(i / n == i % n)));
    let unit = Vector::from_rows(op.executor(), n, (0..n * n).map(one).collect()).unwrap();
    // Old contents must not matter.
    let mut product = Vector::filled(op.executor(), n, n, f64::NAN).unwrap();
    let ws = Workspace::new();
    match mode {
        None => op.apply(&unit, &mut product, &ws).unwrap(),
        Some(mode) => op.apply_transposed(mode, &unit, &mut product, &ws).unwrap(),
    }
    product.to_vec()
}

/// What an operator makes of so many columns of [`values_for`].
pub(super) fn applied<T: Scalar>(op: &dyn LinOp<T>, cols: usize) -> Vec<T> {
    let values = values_for(op.size().rows * cols);
    let x = Vector::from_rows(op.executor(), cols, values).unwrap();
    let mut y = Vector::zeros_like(&x).unwrap();
    op.apply(&x, &mut y, &Workspace::new()).unwrap();
    y.to_vec()
}

/// Iterations of a method for a right-hand side of ones.
pub(super) fn iterations_with(
    method: impl Method<f64> + 'static,
    a: Arc<dyn LinOp<f64>>,
    factory: &dyn Factory<f64>,
) -> usize {
    let b = Vector::filled(a.executor(), a.size().rows, 1, 1.0).unwrap();
    let solver = Solver::new(method, a).unwrap();
    let solver = solver.preconditioned_by(factory).unwrap();
    let outcome = solver.solve(&b, &mut Vector::zeros_like(&b).unwrap());
    let outcome = outcome.unwrap();
    assert!(outcome.converged(), "{factory:?}: {outcome}");
    outcome.iterations
}

/// The same for a matrix.
pub(super) fn iterations_of(
    method: impl Method<f64> + 'static,
    a: &Csr<f64>,
    factory: &dyn Factory<f64>,
) -> usize {
    iterations_with(method, Arc::new(a.clone()), factory)
}

/// A preconditioner by its name and the parameters that differ from the defaults: `ilut fill=0.5`.
pub(super) fn parsed<T: Mixes<T, T>>(text: &str) -> Box<dyn Factory<T>> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap();
    let pairs = words.map(|pair| {
        let (key, value) = pair.split_once('=').unwrap();
        let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        (key.to_owned(), value)
    });
    let keys = serde_json::Value::Object(pairs.collect());
    macro_rules! by_name {
        ($($name:literal $type:ident),*) => {
            match name {
                $($name => Box::new(serde_json::from_value::<super::$type>(keys).unwrap()),)*
                other => panic!("no preconditioner {other}"),
            }
        };
    }
    by_name!(
        "jacobi" Jacobi, "l1-jacobi" L1Jacobi, "block-jacobi" BlockJacobi, "block-direct" BlockDirect, "sor" Sor, "ssor" Ssor,
        "multicolour-gs" MulticolourGs, "hybrid-gs" HybridGs, "ic0" Ic0, "ick" Ick, "ilu0" Ilu0, "iluk" Iluk, "ilut" Ilut,
        "paric" ParIc, "parict" ParIct, "parilu" ParIlu, "parilut" ParIlut, "isai" Isai, "fsai" Fsai, "polynomial" Polynomial,
        "chebyshev" ChebyshevPolynomial
    )
}

/// The product of two dense matrices.
pub(super) fn multiply<A: Field>(n: usize, a: &[A], b: &[A]) -> Vec<A> {
    let entry = |i: usize| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum();
    (0..n * n).map(entry).collect()
}

/// The largest difference from the identity.
pub(super) fn identity_error<A: Field>(n: usize, a: &[A]) -> f64 {
    let one = |i: usize| A::from_f64(f64::from(i / n == i % n));
    let differences = (0..n * n).map(|i| (a[i] - one(i)).modulus().to_f64());
    differences.fold(0.0, f64::max)
}

/// The largest difference of two lists of values.
pub(super) fn largest_difference<T: Scalar>(a: &[T], b: &[T]) -> f64 {
    assert_eq!(a.len(), b.len());
    let differences = a.iter().zip(b).map(|(&a, &b)| {
        let difference: c64 = convert::<T, c64>(a) - convert::<T, c64>(b);
        difference.norm()
    });
    differences.fold(0.0, f64::max)
}
