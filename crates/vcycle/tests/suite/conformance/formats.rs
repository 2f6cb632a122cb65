//! Every format multiplies as CSR does on the reference.

use std::sync::Arc;

use vcycle::Result;
use vcycle::executor::{Executor, Workspace};
use vcycle::linop::{LinOp, Size, Transpose};
use vcycle::matrix::{Bsr, Coo, Csr, Dense, Ell, Hybrid, Mbsr, SellP};
use vcycle::scalar::{Mixes, Scalar, c64, f16};
use vcycle::vector::{Coefficient, Vector};

use super::matrices::{matrix, shapes, vector};

/// The matrix in every format; those that would pad without bounds refuse and are left out.
fn formats<T: Mixes<T, T>>(a: &Csr<T>) -> Vec<(&'static str, Arc<dyn LinOp<T>>)> {
    fn some<T: Scalar, L: LinOp<T> + 'static>(made: Result<L>) -> Option<Arc<dyn LinOp<T>>> {
        made.ok().map(|format| Arc::new(format) as _)
    }
    let mut all = vec![
        ("csr", some(Ok(a.clone()))),
        ("coo", some(Ok(Coo::from_csr(a).unwrap()))),
        ("hybrid", some(Ok(Hybrid::from_csr(a).unwrap()))),
        ("ell", some(Ell::from_csr(a))),
        ("sellp", some(SellP::from_csr(a))),
        ("mbsr", some(Mbsr::from_csr(a))),
    ];
    for block in [Size::square(2), Size::square(3), Size::new(1, 5)] {
        all.push(("bsr", some(Bsr::from_csr(a, block))));
    }
    if a.size().rows * a.size().cols < 100_000 {
        all.push(("dense", some(Ok(Dense::from_csr(a).unwrap()))));
    }
    let made = |(name, format): (_, Option<_>)| Some((name, format?));
    all.into_iter().filter_map(made).collect()
}

/// Two vectors as long as a row and two as long as a column of a matrix, which operations read and overwrite.
struct Vectors<T: Scalar> {
    in_rows: [Vector<T>; 2],
    in_columns: [Vector<T>; 2],
}

impl<T: Scalar> Vectors<T> {
    fn new(executor: &Executor, size: Size, cols: usize) -> Self {
        Self {
            in_rows: [3, 4].map(|seed| vector(executor, size.cols, cols, seed)),
            in_columns: [5, 6].map(|seed| vector(executor, size.rows, cols, seed)),
        }
    }
}

/// `operation` on every format and shape gives the bits of the reference's CSR matrix, for vectors of so many `columns`.
fn compare<T: Mixes<T, T>>(
    executor: &Executor,
    columns: &[usize],
    operation: impl Fn(&dyn LinOp<T>, &Vectors<T>) -> Vector<T>,
) {
    let reference = Executor::reference();
    for (shape, size, lengths) in shapes() {
        let oracle: Csr<T> = matrix(&reference, size, &lengths);
        let formats = formats::<T>(&matrix(executor, size, &lengths));
        for &cols in columns {
            let expected = operation(&oracle, &Vectors::new(&reference, size, cols)).to_vec();
            let vectors = Vectors::new(executor, size, cols);
            for (format, a) in &formats {
                let same = operation(a.as_ref(), &vectors).to_vec() == expected;
                assert!(same, "{format} on {shape}, {cols} columns of {}", T::KIND);
            }
        }
    }
}

fn multiplies<T: Mixes<T, T>>(executor: &Executor, columns: &[usize]) {
    compare::<T>(executor, columns, |a, vectors| {
        let mut y = vectors.in_columns[0].clone();
        a.apply(&vectors.in_rows[0], &mut y, &Workspace::new())
            .unwrap();
        y
    });
}

pub fn every_format_multiplies(executor: &Executor) {
    multiplies::<f64>(executor, &[1, 7]);
    // Kernels differ by types and by whether there is one column: each of these is seen once.
    multiplies::<f32>(executor, &[1]);
    multiplies::<f16>(executor, &[2]);
}

pub fn every_format_multiplies_complex(executor: &Executor) {
    multiplies::<c64>(executor, &[1, 7]);
}

pub fn advanced_and_residual(executor: &Executor) {
    compare::<f64>(executor, &[1, 7], |a, vectors| {
        let ws = Workspace::new();
        let [x, _] = &vectors.in_rows;
        let [b, r] = &vectors.in_columns;
        let (mut y, mut r) = (b.clone(), r.clone());
        let (alpha, beta) = (Coefficient::real(-0.5), Coefficient::real(2.0));
        a.apply_advanced(alpha, x, beta, &mut y, &ws).unwrap();
        a.residual(b, x, &mut r, &ws).unwrap();
        r.axpy(Coefficient::real(64.0), &y).unwrap();
        r
    });
}

fn transposed<T: Mixes<T, T>>(executor: &Executor, columns: &[usize], mode: Transpose) {
    compare::<T>(executor, columns, |a, vectors| {
        let mut y = vectors.in_rows[1].clone();
        let x = &vectors.in_columns[0];
        a.apply_transposed(mode, x, &mut y, &Workspace::new())
            .unwrap();
        y
    });
}

pub fn transposes(executor: &Executor) {
    transposed::<f64>(executor, &[1, 7], Transpose::Plain);
}

pub fn complex_transposes(executor: &Executor) {
    transposed::<c64>(executor, &[1], Transpose::Plain);
    transposed::<c64>(executor, &[7], Transpose::Conjugate);
}

pub fn round_trips(executor: &Executor) {
    for (shape, size, lengths) in shapes() {
        let a: Csr<f64> = matrix(executor, size, &lengths);
        for (format, other) in formats(&a) {
            if ["dense", "bsr"].contains(&format) {
                continue; // zeros that were stored are not told from others
            }
            let back = other.csr().unwrap();
            assert_eq!(back.offsets(), a.offsets(), "{format} of {shape}");
            assert_eq!(back.columns(), a.columns(), "{format} of {shape}");
            assert_eq!(back.values(), a.values(), "{format} of {shape}");
        }
    }
}
