//! The kernels against the reference, and against themselves on other numbers of threads.

use super::testing::of_rows;
use crate::linop::{LinOp, Sweep, Transpose};
use crate::matrix::Duplicates;
use crate::prelude::*;
use crate::scalar::convert;
use crate::simd::{Level, testing::at_every_level};

const HOST: Executor = Executor::Reference;

/// Rows of every length from none to more than a piece, in columns without order.
fn matrix(rows: usize, cols: usize, long: usize) -> Csr<f64> {
    of_rows(&HOST, Size::new(rows, cols), Duplicates::Sum, |row| {
        let count = if row == rows / 2 { long } else { row * 7 % 41 };
        let column = |entry| (row * 31 + entry * (cols / 2 + 1)) % cols;
        let entries = 0..count.min(cols);
        entries.map(|e| (column(e), small(row + e))).collect()
    })
}

/// Lines of a grid, each row with `width` entries that move on with it; ends of lines have fewer.
fn grid(points: usize, width: usize) -> Csr<f64> {
    let size = Size::new(3 * points, 3 * points + 2 * width);
    of_rows(&HOST, size, Duplicates::Refuse, |row| {
        let count = if row % points == 0 { width / 2 } else { width };
        let entries = 0..count;
        entries.map(|e| (row + e * 2, small(row * e))).collect()
    })
}

/// One of a few small integers.
fn small(number: usize) -> f64 {
    (number % 9) as f64 - 4.0
}

fn wave<T: Scalar>(executor: &Executor, rows: usize, cols: usize) -> Vector<T> {
    let value = |i: usize| c64::new((i % 13) as f64 - 6.0, (i % 3) as f64);
    let values = (0..rows * cols).map(|i| convert(value(i))).collect();
    Vector::from_rows(executor, cols, values).unwrap()
}

/// The results of all products, one after the other.
fn products<M, X, Y>(a: &Csr<f64>, executor: &Executor, cols: usize) -> Vec<c64>
where
    M: Mixes<X, Y> + Mixes<Y, X>,
    X: Scalar,
    Y: Scalar,
{
    let a: Csr<M> = a.copy_to(executor).unwrap().convert().unwrap();
    let a: &dyn LinOp<X, Y> = &a;
    let ws = Workspace::new();
    let x = wave::<X>(executor, a.size().cols, cols);
    let b = wave::<Y>(executor, a.size().rows, cols);
    let (mut y, mut r, mut z) = (b.clone(), b.clone(), b.clone());
    let mut back = x.clone();
    let (alpha, beta) = (Coefficient::real(0.5), Coefficient::real(-0.25));
    a.apply(&x, &mut y, &ws).unwrap();
    a.residual(&b, &x, &mut r, &ws).unwrap();
    a.apply_advanced(alpha, &x, beta, &mut z, &ws).unwrap();
    a.apply_transposed(Transpose::Conjugate, &b, &mut back, &ws)
        .unwrap();
    let all = [y, r, z]
        .into_iter()
        .flat_map(|v| v.to_vec())
        .map(Scalar::to_c64);
    all.chain(back.to_vec().into_iter().map(Scalar::to_c64))
        .collect()
}

fn check<M: Mixes<X, Y> + Mixes<Y, X>, X: Scalar, Y: Scalar>(a: &Csr<f64>, cols: usize) {
    let expected = products::<M, X, Y>(a, &Executor::reference(), cols);
    let one = products::<M, X, Y>(a, &Executor::cpu_with_threads(1).unwrap(), cols);
    let three = products::<M, X, Y>(a, &Executor::cpu_with_threads(3).unwrap(), cols);
    assert_eq!(one, three, "the same bits on any number of threads");
    at_every_level(|level| {
        let serial = Executor::cpu_with_threads(1).unwrap();
        let found = products::<M, X, Y>(a, &serial, cols);
        assert_close::<M, X, Y>(&found, &expected, level);
    });
}

fn assert_close<M: Scalar, X: Scalar, Y: Scalar>(found: &[c64], expected: &[c64], level: Level) {
    let types = [M::KIND, X::KIND, Y::KIND];
    // Sums of small integers are exact, but for the last rounding to a narrow type.
    let narrow = types[1..].iter().any(|kind| kind.bytes() < 4);
    let tolerance = if narrow { 1e-2 } else { 1e-6 };
    for (place, (value, expected)) in found.iter().zip(expected).enumerate() {
        let error = (value - expected).modulus() / expected.modulus().max(1.0);
        assert!(
            error < tolerance,
            "{types:?}, {level:?}: {value} is not {expected} at {place}"
        );
    }
}

/// Calls `check` for a matrix type with every type of input, and of output with the widest.
macro_rules! real_vectors {
    ($a:expr, $cols:expr, $($m:ty),*) => {$(
        check::<$m, f64, f64>($a, $cols);
        check::<$m, f64, f16>($a, $cols);
        check::<$m, f32, f32>($a, $cols);
        check::<$m, f32, f64>($a, $cols);
        check::<$m, f16, f16>($a, $cols);
        check::<$m, bf16, bf16>($a, $cols);
    )*};
}

#[test]
fn real_combinations_agree_with_the_reference() {
    let a = matrix(301, 97, 60);
    for cols in [1, 3] {
        real_vectors!(&a, cols, f64, f32, f16, bf16);
    }
}

/// Nodes of `size` unknowns, whose rows have `width` columns in common, in groups of `near` neighbours.
fn nodes(count: usize, size: usize, width: usize, near: usize) -> Csr<f64> {
    let dimensions = Size::new(count * size, 3 * count + 2 * width);
    of_rows(&HOST, dimensions, Duplicates::Refuse, |row| {
        let column = |e: usize| row / size * 3 + e / near * 2 * near + e % near;
        let entries = 0..width;
        entries.map(|e| (column(e), small(row * e))).collect()
    })
}

#[test]
fn rows_that_repeat_and_those_of_nodes_agree_with_the_reference() {
    let repeating =
        [(5, 3), (23, 7), (300, 20), (700, 33)].map(|(points, width)| grid(points, width));
    let apart = [(2, 9), (3, 16), (3, 45), (4, 33), (6, 20)];
    let apart = apart.map(|(size, width)| nodes(37, size, width, 1));
    let near = [(2, 10), (3, 45), (3, 210), (4, 36), (6, 24)];
    let near = near.map(|(size, width)| nodes(37, size, width, size));
    for a in repeating.into_iter().chain(apart).chain(near) {
        real_vectors!(&a, 1, f64, f32, f16, bf16);
    }
}

/// Short rows: runs of every length, then lengths that alternate, all in columns without order.
fn short_rows() -> Csr<f64> {
    let runs = (0..9).flat_map(|length| [length; 20]);
    let lengths: Vec<usize> = runs.chain((0..40).map(|row| row * 5 % 9)).collect();
    let size = Size::new(lengths.len(), 97);
    of_rows(&HOST, size, Duplicates::Sum, |row| {
        let entries = 0..lengths[row];
        let column = |e: usize| (row * row + e * 9) % 97;
        entries.map(|e| (column(e), small(row + e))).collect()
    })
}

#[test]
fn short_rows_agree_with_the_reference() {
    let a = short_rows();
    real_vectors!(&a, 1, f64, f32, f16, bf16);
    check::<c64, c64, c64>(&a, 1);
    check::<f32, c32, c32>(&a, 1);
}

#[test]
fn complex_vectors_agree_with_the_reference() {
    let a = matrix(301, 97, 60);
    for cols in [1, 2] {
        check::<f64, c64, c64>(&a, cols);
        check::<c32, c32, c32>(&a, cols);
        check::<c64, c32, c64>(&a, cols);
        check::<f16, c32, c32>(&a, cols);
    }
}

#[test]
fn blocks_of_columns_long_rows_and_nothing_agree_with_the_reference() {
    let a = matrix(150, 80, 60);
    for cols in [2, 4, 8, 15] {
        check::<f64, f64, f64>(&a, cols);
        check::<f16, f32, f32>(&a, cols);
    }
    // A row longer than a piece has a sum of parts.
    let a = matrix(4000, 200_001, 150_000);
    check::<f64, f64, f64>(&a, 1);
    check::<f32, f32, f32>(&a, 1);
    check::<c32, c32, c32>(&a, 1);
    check::<f64, f64, f64>(&matrix(0, 0, 0), 1);
    check::<f64, f64, f64>(&matrix(3, 2, 0), 1);
}

#[test]
fn padding_does_not_read_the_first_value() {
    let cpu = Executor::cpu_with_threads(1).unwrap();
    let rows = [vec![], vec![(1, 1.0)], vec![(1, 2.0), (2, 3.0)]];
    let a: Csr<f64> = of_rows(&cpu, Size::square(3), Duplicates::Refuse, |row| {
        rows[row].clone()
    });
    let x = Vector::from_column(&cpu, vec![f64::NAN, 1.0, 1.0]);
    let mut y = Vector::<f64>::zeros_like(&x).unwrap();
    a.apply(&x, &mut y, &Workspace::new()).unwrap();
    assert_eq!(y.to_vec(), [0.0, 1.0, 5.0]);
}

/// Two sweeps, the first of which must not read what its target held.
fn sweeps<M, X>(a: &Csr<f64>, executor: &Executor, cols: usize) -> Vec<c64>
where
    M: Mixes<X, X>,
    X: Mixes<X, X>,
{
    let a: Csr<M> = a.copy_to(executor).unwrap().convert().unwrap();
    let a: &dyn LinOp<X> = &a;
    let (rows, ws) = (a.size().rows, Workspace::new());
    let (b, d) = (
        wave::<X>(executor, rows, cols),
        wave::<X>(executor, rows, 1),
    );
    let x = Vector::<X>::filled(executor, rows, cols, 0.5).unwrap();
    let mut y = Vector::<X>::filled(executor, rows, cols, f64::NAN).unwrap();
    let sweep = |alpha, beta, gamma| Sweep {
        b: &b,
        d: &d,
        alpha,
        beta,
        gamma,
    };
    a.relax(sweep(0.125, 2.0, 0.0), &x, &mut y, &ws).unwrap();
    a.relax(sweep(0.25, 1.5, -0.5), &x, &mut y, &ws).unwrap();
    y.to_vec().into_iter().map(Scalar::to_c64).collect()
}

fn check_sweeps<M: Mixes<X, X>, X: Mixes<X, X>>(a: &Csr<f64>, cols: usize) {
    let expected = sweeps::<M, X>(a, &Executor::reference(), cols);
    let on = |threads| sweeps::<M, X>(a, &Executor::cpu_with_threads(threads).unwrap(), cols);
    assert_eq!(on(1), on(3), "the same bits on any number of threads");
    at_every_level(|level| assert_close::<M, X, X>(&on(1), &expected, level));
}

#[test]
fn columns_of_nodes_agree_with_the_reference() {
    // Rows of 24 and 36 entries in nodes of three, and of 4 to 6 in none.
    for a in [
        super::testing::nodes(&Executor::reference(), [3, 2, 2]),
        super::testing::seven_points(&Executor::reference(), [4, 3, 2]),
    ] {
        for cols in [24, 40] {
            check::<bf16, bf16, bf16>(&a, cols);
            check::<f16, f32, f32>(&a, cols);
        }
        check::<f16, f16, f16>(&a, 16);
        check::<bf16, f32, f16>(&a, 8);
        check::<f32, f32, f32>(&a, 24);
        check::<f16, f64, f64>(&a, 24);
        check_sweeps::<bf16, bf16>(&a, 16);
        check_sweeps::<f16, f32>(&a, 8);
    }
    for size in [2, 4] {
        // More columns than are converted at a time.
        check::<bf16, f32, f32>(&nodes(4, size, 140, size), 8);
    }
}

/// So that columns may leave a block: those that stay go on as they were.
#[test]
fn columns_have_the_bits_of_narrower_vectors() {
    let a = super::testing::nodes(&Executor::reference(), [3, 2, 2]);
    let cpu = Executor::cpu_with_threads(1).unwrap();
    let thirds = |column: usize, row: usize| 1.0 / (3 + column + row % 7) as f64;
    let apply = |cols: usize| {
        let a: Csr<f16> = a.copy_to(&cpu).unwrap().convert().unwrap();
        let rows = a.size().rows;
        let x = (0..rows * cols).map(|i| thirds(i % cols, i / cols) as f32);
        let x = Vector::from_rows(&cpu, cols, x.collect()).unwrap();
        let mut y = Vector::<f32>::zeros_like(&x).unwrap();
        a.apply(&x, &mut y, &Workspace::new()).unwrap();
        y.to_vec()
    };
    let (wide, narrow) = (apply(24), apply(4));
    for (wide, narrow) in wide.chunks(24).zip(narrow.chunks(4)) {
        assert_eq!(wide[..4], *narrow);
    }
}

#[test]
fn sweeps_agree_with_the_reference() {
    let grid = super::testing::seven_points(&Executor::reference(), [20, 9, 8]);
    for a in [matrix(301, 301, 60), grid] {
        for cols in [1, 3] {
            check_sweeps::<f64, f64>(&a, cols);
            check_sweeps::<f32, f32>(&a, cols);
            check_sweeps::<f16, f32>(&a, cols);
            check_sweeps::<c64, c64>(&a, cols);
        }
    }
}
