//! The kernels of the processor beside the reference.

use crate::prelude::*;
use crate::scalar::convert;
use crate::simd::testing::at_every_level;

fn wave<T: Scalar>(executor: &Executor, rows: usize, cols: usize, shift: usize) -> Vector<T> {
    let value = |i: usize| c64::new(((i + shift) % 17) as f64 - 8.0, ((i * shift) % 5) as f64);
    let values = (0..rows * cols).map(|i| convert(value(i))).collect();
    Vector::from_rows(executor, cols, values).unwrap()
}

/// Every operation once, from the same start; the vector and the reductions.
fn run<T: Scalar>(executor: &Executor, rows: usize, cols: usize) -> (Vec<T>, Vec<T::Arith>) {
    let scalars = || Scalars::filled(executor, cols, T::Arith::from_f64(0.0)).unwrap();
    let mut coefficients = scalars();
    let values: Vec<_> = (0..cols)
        .map(|c| T::Arith::from_f64(0.5 * c as f64))
        .collect();
    coefficients.write(&values).unwrap();
    let x = wave::<T>(executor, rows, cols, 3);
    let mut y = wave::<T>(executor, rows, cols, 7);
    let (mut dot, mut other, mut norm) = (scalars(), scalars(), scalars());
    y.axpby(Coefficient::real(0.25), &x, Coefficient::of(&coefficients))
        .unwrap();
    y.scale(Coefficient::real(0.5)).unwrap();
    let half = y.clone();
    y.flip_signs(&half).unwrap();
    y.axpy_norm(Coefficient::real(0.125), &x, &mut norm)
        .unwrap();
    x.dot2(&y, &x, &mut dot, &mut other).unwrap();
    let mut reductions = norm.host().unwrap().to_vec();
    reductions.extend(dot.host().unwrap());
    reductions.extend(other.host().unwrap());
    (y.to_vec(), reductions)
}

fn check<T: Scalar>(rows: usize, cols: usize) {
    let (expected, sums) = run::<T>(&Executor::reference(), rows, cols);
    let one = run::<T>(&Executor::cpu_with_threads(1).unwrap(), rows, cols);
    let three = run::<T>(&Executor::cpu_with_threads(3).unwrap(), rows, cols);
    assert_eq!(one, three, "the same bits on any number of threads");
    at_every_level(|level| {
        let serial = Executor::cpu_with_threads(1).unwrap();
        let (found, found_sums) = run::<T>(&serial, rows, cols);
        assert_eq!(found, expected, "{level:?}");
        for (sum, expected) in found_sums.iter().zip(&sums) {
            let scale = expected.modulus().to_c64().re.max(rows as f64);
            let error = (*sum - *expected).modulus().to_c64().re;
            assert!(error <= 1e-5 * scale, "{level:?}: {sum} is not {expected}");
        }
    });
}

#[test]
fn operations_are_those_of_the_reference() {
    for (rows, cols) in [(0, 1), (5, 1), (50_001, 1), (3000, 15), (1, 1)] {
        check::<f64>(rows, cols);
        check::<f32>(rows, cols);
        check::<f16>(rows, cols);
        check::<c64>(rows, cols);
        check::<c32>(rows, cols);
    }
}
