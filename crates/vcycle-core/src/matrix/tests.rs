//! Every format against the CSR product of the reference executor, on both executors.
//!
//! Entries and vectors are small integers: their sums are exact in every order and precision.

use super::csr::testing::of_rows;
use super::*;
use crate::linop::{LinOp, Transpose};
use crate::prelude::*;
use crate::scalar::convert;

/// Small integers without end, zero among them.
fn integers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |limit| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % limit
    }
}

fn value<T: Scalar>(next: &mut impl FnMut(usize) -> usize) -> T {
    T::from_c64(c64::new(next(5) as f64 - 2.0, next(3) as f64 - 1.0))
}

fn vector<T: Scalar>(executor: &Executor, rows: usize, cols: usize, seed: u64) -> Vector<T> {
    let mut next = integers(seed);
    let values = (0..rows * cols).map(|_| value(&mut next)).collect();
    match cols {
        0 => Vector::zeros(executor, rows, 0).unwrap(),
        _ => Vector::from_rows(executor, cols, values).unwrap(),
    }
}

/// A random matrix with `length(row)` entries, explicit zeros among them.
fn matrix<T: Scalar>(rows: usize, cols: usize, mut length: impl FnMut(usize) -> usize) -> Csr<T> {
    let (host, size, mut next) = (Executor::reference(), Size::new(rows, cols), integers(7));
    of_rows(&host, size, Duplicates::Refuse, |row| {
        let (count, start) = (length(row).min(cols), next(cols.max(1)));
        let mut entry = |i: usize| ((start + i) % cols, value::<T>(&mut next).to_c64());
        (0..count).map(&mut entry).collect()
    })
}

fn cases<T: Scalar>() -> Vec<Csr<T>> {
    let mut next = integers(3);
    vec![
        matrix(0, 0, |_| 0),
        matrix(3, 0, |_| 0),
        matrix(0, 3, |_| 0),
        matrix(1, 1, |_| 1),
        matrix(5, 1, |row| row % 2),
        matrix(1, 300, |_| 300),
        matrix(70, 50, |row| if row < 30 { 0 } else { 4 }),
        matrix(700, 900, |row| if row == 400 { 900 } else { 3 }),
        matrix(20_000, 200, |_| next(8)),
    ]
}

fn sparse_formats<M, X, Y>(a: &Csr<M>) -> Vec<Arc<dyn LinOp<X, Y>>>
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    vec![
        Arc::new(Coo::from_csr(a).unwrap()),
        Arc::new(Ell::from_csr(a).unwrap()),
        Arc::new(SellP::from_csr(a).unwrap()),
        Arc::new(SellP::with_slices(a, 7).unwrap()),
        Arc::new(Hybrid::from_csr(a).unwrap()),
    ]
}

/// What an operator does to the same vectors, wherever it lives.
fn results<X: Scalar, Y: Scalar>(a: &dyn LinOp<X, Y>, cols: usize) -> (Vec<Vec<Y>>, Vec<Vec<X>>) {
    let (host, ws) = (a.executor(), Workspace::new());
    let x = vector::<X>(host, a.size().cols, cols, 1);
    let b = vector::<Y>(host, a.size().rows, cols, 2);
    let mut alpha = Scalars::<Y>::filled(host, cols, convert(2.0)).unwrap();
    if let Some(first) = alpha.host_mut().unwrap().first_mut() {
        *first = convert(0.0);
    }
    let (mut product, mut combined, mut residual) = (b.clone(), b.clone(), b.clone());
    a.apply(&x, &mut product, &ws).unwrap();
    let beta = Coefficient::real(-1.0);
    a.apply_advanced(Coefficient::of(&alpha), &x, beta, &mut combined, &ws)
        .unwrap();
    a.residual(&b, &x, &mut residual, &ws).unwrap();
    let transposed = [Transpose::Plain, Transpose::Conjugate].map(|mode| {
        let mut y = x.clone();
        a.apply_transposed(mode, &b, &mut y, &ws).unwrap();
        y.to_vec()
    });
    let forward = [product, combined, residual].map(|y| y.to_vec());
    (forward.to_vec(), transposed.to_vec())
}

fn check<M: Mixes<X, Y> + Mixes<Y, X>, X: Scalar, Y: Scalar>(a: &Csr<M>, cols: usize) {
    let expected = results::<X, Y>(a, cols);
    let threads = Executor::cpu_with_threads(2).unwrap();
    for executor in [Executor::reference(), threads] {
        let a = a.copy_to(&executor).unwrap();
        let dense: Arc<dyn LinOp<X, Y>> = Arc::new(Dense::from_csr(&a).unwrap());
        for operator in sparse_formats::<M, X, Y>(&a).iter().chain([&dense]) {
            let found = results(operator.as_ref(), cols);
            assert!(found == expected, "{} on {}", a.size(), executor.name());
        }
    }
}

#[test]
fn every_format_adds_in_the_order_of_the_row() {
    for mut a in cases::<f64>() {
        a.values_mut().iter_mut().for_each(|value| *value *= 0.1);
        check::<f64, f64, f64>(&a, 1);
        check::<f64, f64, f64>(&a, 3);
    }
    check::<f64, f64, f64>(&matrix(4, 4, |_| 2), 0);
}

#[test]
fn every_format_multiplies_in_mixed_precision() {
    let lengths = |row: usize| [2, 0, 5][row % 3];
    check::<f16, f16, f16>(&matrix(300, 40, lengths), 1);
    check::<f16, f32, f64>(&matrix(300, 40, lengths), 2);
    check::<bf16, f64, f32>(&matrix(300, 40, lengths), 1);
    check::<f32, c32, c32>(&matrix(300, 40, lengths), 1);
    check::<c64, c64, c64>(&matrix(300, 40, lengths), 2);
    check::<c32, c64, c32>(&matrix(300, 40, lengths), 1);
}

#[test]
fn a_dense_matrix_forgets_stored_zeros() {
    let a = cases::<f64>().swap_remove(6);
    let dense = Dense::from_csr(&a).unwrap();
    assert!(dense.to_csr().nonzeros() < a.nonzeros());
    let again = Dense::from_csr(&dense.to_csr()).unwrap();
    assert_eq!(again.values(), dense.values());
}

#[test]
fn entries_come_in_the_precision_asked_for() {
    let a = Ell::from_csr(&matrix::<f16>(5, 5, |_| 2)).unwrap();
    let wide: std::borrow::Cow<'_, Csr<f64>> = LinOp::<f64, f64>::csr(&a).unwrap();
    assert_eq!(wide.values()[3], a.to_csr().values()[3].to_f64());
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let a = Ell::from_csr(&matrix::<f64>(5, 4, |_| 2)).unwrap();
    let (host, ws) = (Executor::reference(), Workspace::new());
    let mut y = vector::<f64>(&host, 5, 1, 0);
    let too_long = vector::<f64>(&host, 5, 1, 0);
    let elsewhere = vector::<f64>(&Executor::cpu(), 4, 1, 0);
    for x in [too_long, elsewhere] {
        assert!(a.apply(&x, &mut y, &ws).is_err());
    }
}

#[test]
fn bytes_count_the_padding() {
    let a = matrix::<f64>(10, 20, |row| 1 + row % 2);
    let footprint = LinOp::<f64>::footprint(&Ell::from_csr(&a).unwrap());
    assert_eq!(footprint.held, 10 * 2 * 12);
}

#[test]
fn row_lengths_decide_the_format() {
    let choose = |a: Csr<f64>| choose_format(a.pattern());
    assert_eq!(choose(matrix(0, 0, |_| 0)), Format::Csr);
    assert_eq!(choose(matrix(500, 500, |_| 5)), Format::Ell);
    let halves = |row| if row < 320 { 2 } else { 20 };
    assert_eq!(choose(matrix(640, 500, halves)), Format::SellP);
    let tail = |row| if row == 9 { 900 } else { 3 };
    assert_eq!(choose(matrix(2000, 900, tail)), Format::Hybrid);
    let mut next = integers(5);
    assert_eq!(choose(matrix(2000, 900, |_| next(40))), Format::Csr);
    let mostly_empty = |row| if row % 7 == 0 { 1 } else { 0 };
    assert_eq!(choose(matrix(2000, 900, mostly_empty)), Format::Coo);
    assert_eq!(choose(matrix(50, 30, |_| 30)), Format::Dense);
}

#[test]
fn the_chosen_format_is_the_same_operator() {
    for a in cases::<f64>() {
        let chosen = convert_to(&a, choose_format(a.pattern())).unwrap();
        assert!(results(chosen.as_ref(), 1) == results::<f64, f64>(&a, 1));
    }
}
