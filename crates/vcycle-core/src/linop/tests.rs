//! Composed operators against the matrices they stand for.

use super::*;
use crate::linop::Transpose::{Conjugate, Plain};
use crate::matrix::Duplicates;
use crate::matrix::of_rows;
use crate::prelude::*;

/// A dense `rows` by `cols` matrix of small numbers.
fn matrix(executor: &Executor, rows: usize, cols: usize, seed: f64) -> Csr<c64> {
    of_rows(executor, Size::new(rows, cols), Duplicates::Refuse, |row| {
        let number = |k: usize| c64::new((seed + k as f64).sin(), (seed * k as f64).cos());
        (0..cols)
            .map(|column| (column, number(row * cols + column)))
            .collect()
    })
}

fn vector(executor: &Executor, rows: usize) -> Vector<c64> {
    let values = (0..2 * rows).map(|k| c64::new(k as f64, 1.0)).collect();
    Vector::from_rows(executor, 2, values).unwrap()
}

fn assert_close(found: &Vector<c64>, expected: &Vector<c64>) {
    assert_eq!(found.size(), expected.size());
    for (f, e) in found.to_vec().iter().zip(expected.to_vec()) {
        assert!((f - e).norm() < 1e-12 * (1.0 + e.norm()), "{f} not {e}");
    }
}

/// Fails unless `a` acts as its own entries do, in every kind of application.
fn assert_acts_as_entries(a: &dyn LinOp<c64>) {
    let (host, ws) = (a.executor().clone(), Workspace::new());
    let entries = a.csr().expect("entries").into_owned();
    let entries: &dyn LinOp<c64> = &entries;
    assert_eq!(a.size(), entries.size());
    let (x, b) = (vector(&host, a.size().cols), vector(&host, a.size().rows));
    let apply = |op: &dyn LinOp<c64>| {
        let mut y = vector(&host, a.size().rows);
        op.apply(&x, &mut y, &ws).unwrap();
        y
    };
    assert_close(&apply(a), &apply(entries));
    let advanced = |op: &dyn LinOp<c64>| {
        let mut y = b.clone();
        let (alpha, beta) = (Coefficient::real(-2.0), Coefficient::real(0.5));
        op.apply_advanced(alpha, &x, beta, &mut y, &ws).unwrap();
        y
    };
    assert_close(&advanced(a), &advanced(entries));
    for mode in [Plain, Conjugate] {
        let transposed = |op: &dyn LinOp<c64>| {
            let mut y = vector(&host, a.size().cols);
            op.apply_transposed(mode, &b, &mut y, &ws).map(|()| y)
        };
        match transposed(a) {
            Err(Error::Unsupported { .. }) => {}
            found => assert_close(&found.unwrap(), &transposed(entries).unwrap()),
        }
    }
}

#[test]
fn compositions_act_as_their_entries() {
    for host in [Executor::reference(), Executor::cpu()] {
        let a: Arc<dyn LinOp<c64>> = Arc::new(matrix(&host, 3, 4, 1.0));
        let b: Arc<dyn LinOp<c64>> = Arc::new(matrix(&host, 3, 4, 2.0));
        let c: Arc<dyn LinOp<c64>> = Arc::new(matrix(&host, 4, 2, 3.0));
        let alpha = c64::new(0.5, -2.0);
        let sum = Sum::new(vec![
            (alpha, a.clone()),
            (alpha.conj(), b),
            (alpha, a.clone()),
        ]);
        let sum: Arc<dyn LinOp<c64>> = Arc::new(sum.unwrap());
        assert_acts_as_entries(sum.as_ref());
        assert_acts_as_entries(&Sum::scaled(alpha, a.clone()));
        for mode in [Plain, Conjugate] {
            let transposed = Arc::new(Transposed::new(c.clone(), mode));
            assert_acts_as_entries(transposed.as_ref());
            let product = Product::new(vec![sum.clone(), c.clone(), transposed]);
            assert_acts_as_entries(&product.unwrap());
        }
        assert_acts_as_entries(&Product::new(vec![sum, c]).unwrap());
        assert_acts_as_entries(&Product::new(vec![a]).unwrap());
        assert_acts_as_entries(&Identity::new(&host, 3));
    }
}

#[test]
fn transposing_twice_gives_the_operator_back() {
    let host = Executor::reference();
    let (ws, a) = (Workspace::new(), Arc::new(matrix(&host, 3, 2, 1.0)));
    let adjoint = Transposed::<c64>::new(a.clone(), Conjugate);
    let (x, mut y) = (vector(&host, 2), vector(&host, 3));
    adjoint
        .apply_transposed(Conjugate, &x, &mut y, &ws)
        .unwrap();
    let mut expected = vector(&host, 3);
    a.apply(&x, &mut expected, &ws).unwrap();
    assert_close(&y, &expected);
    let conjugated = adjoint.apply_transposed(Plain, &x, &mut y, &ws);
    assert_refused!(conjugated, Unsupported { .. });
}

#[test]
fn operators_that_do_not_fit_are_refused() {
    let host = Executor::reference();
    let a: Arc<dyn LinOp<c64>> = Arc::new(matrix(&host, 3, 4, 1.0));
    let elsewhere: Arc<dyn LinOp<c64>> = Arc::new(matrix(&Executor::cpu(), 4, 4, 1.0));
    let one = c64::new(1.0, 0.0);
    let transposed: Arc<dyn LinOp<c64>> = Arc::new(Transposed::new(a.clone(), Plain));
    let sum = Sum::new(vec![(one, a.clone()), (one, transposed)]);
    assert_refused!(sum, SizeMismatch { .. });
    let product = Product::new(vec![a.clone(), a.clone()]);
    assert_refused!(product, SizeMismatch { .. });
    assert_refused!(Product::new(vec![a, elsewhere]), ExecutorMismatch { .. });
    assert!(Sum::<f64>::new(vec![]).is_err() && Product::<f64>::new(vec![]).is_err());
}

#[test]
fn vectors_that_do_not_fit_are_refused() {
    let (host, ws) = (Executor::reference(), Workspace::new());
    let a: Arc<dyn LinOp<c64>> = Arc::new(matrix(&host, 3, 4, 1.0));
    let (x, mut y) = (vector(&host, 3), vector(&host, 3));
    let one = c64::new(1.0, 0.0);
    let operators: [Box<dyn LinOp<c64>>; 4] = [
        Box::new(Sum::new(vec![(one, a.clone())]).unwrap()),
        Box::new(Product::new(vec![a.clone()]).unwrap()),
        Box::new(Sum::scaled(one, a)),
        Box::new(MatrixFree::new(&host, Size::new(3, 4), |_, _, _| Ok(()))),
    ];
    for operator in operators {
        assert_refused!(operator.apply(&x, &mut y, &ws), SizeMismatch { .. });
    }
}

#[test]
fn closures_are_applied_both_ways() {
    let (host, ws) = (Executor::reference(), Workspace::new());
    let a = Arc::new(matrix(&host, 3, 2, 1.0));
    let (forth, back) = (a.clone(), a.clone());
    let size = LinOp::<c64>::size(a.as_ref());
    let free = MatrixFree::<c64>::new(&host, size, move |x, y, ws| forth.apply(x, y, ws));
    let mut y = vector(&host, 2);
    let none = free.apply_transposed(Plain, &vector(&host, 3), &mut y, &ws);
    assert_refused!(none, Unsupported { .. });
    let free = free.with_transposed(move |mode, x, y, ws| back.apply_transposed(mode, x, y, ws));
    free.apply_transposed(Conjugate, &vector(&host, 3), &mut y, &ws)
        .unwrap();
    let mut expected = vector(&host, 2);
    a.apply_transposed(Conjugate, &vector(&host, 3), &mut expected, &ws)
        .unwrap();
    assert_close(&y, &expected);
}

#[test]
fn conversion_rounds_and_keeps_complex_apart() {
    let (host, ws) = (Executor::reference(), Workspace::new());
    let a = matrix(&host, 3, 4, 1.0);
    let single: Arc<dyn LinOp<c32>> = Arc::new(a.convert::<c32>().unwrap());
    let converted = Converted::<c32, c64>::new(single.clone()).unwrap();
    let (x, mut y, mut expected) = (vector(&host, 4), vector(&host, 3), vector(&host, 3));
    converted.apply(&x, &mut y, &ws).unwrap();
    a.apply(&x, &mut expected, &ws).unwrap();
    for (y, e) in y.to_vec().iter().zip(expected.to_vec()) {
        let error = (y - e).norm();
        assert!(error > 0.0 && error < 1e-4);
    }
    let mut z = vector(&host, 4);
    converted.apply_transposed(Plain, &y, &mut z, &ws).unwrap();
    assert!(matches!(
        Converted::<c32, f64>::new(single),
        Err(Error::Conversion { .. })
    ));
}

#[test]
fn footprints_add_up() {
    let host = Executor::reference();
    let a: Arc<dyn LinOp<c64>> = Arc::new(matrix(&host, 3, 3, 1.0));
    let product = Product::new(vec![a.clone(), a.clone()]).unwrap();
    assert_eq!(product.footprint().held, 2 * a.footprint().held);
    let identity: Arc<dyn LinOp<c64>> = Arc::new(Identity::new(&host, 3));
    let twice = Product::new(vec![identity.clone(), identity]);
    assert!(twice.unwrap().is_identity());
}
