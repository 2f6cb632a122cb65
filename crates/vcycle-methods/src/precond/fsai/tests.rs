use super::*;
use crate::gallery;
use crate::precond::testing::{assemble, laplacian, made, made_of, matrix_of, multiply, to_dense};
use crate::prelude::*;

fn dense(fsai: Fsai, n: usize, a: &[f64]) -> Result<Vec<f64>> {
    Ok(assemble(made_of(&fsai, n, a)?.as_ref(), None))
}

fn steps(steps: usize) -> Fsai {
    Fsai {
        steps,
        ..Fsai::default()
    }
}

/// The determinant by elimination without pivoting, for matrices with positive minors.
fn determinant(n: usize, mut a: Vec<f64>) -> f64 {
    for k in 0..n {
        for row in k + 1..n {
            let factor = a[row * n + k] / a[k * n + k];
            for column in k..n {
                a[row * n + column] -= factor * a[k * n + column];
            }
        }
    }
    (0..n).map(|k| a[k * n + k]).product()
}

/// `trace / n` over the `n`-th root of the determinant of `M A`, which are those of `G A G^T`.
fn kaporin(fsai: Fsai, a: &Csr<f64>) -> f64 {
    let n = a.size().rows;
    let m = matrix_of(&fsai, a);
    let trace: f64 = {
        let product = multiply(n, &m, &to_dense(a));
        (0..n).map(|k| product[k * n + k]).sum()
    };
    let root = |a: Vec<f64>| determinant(n, a).powf(1.0 / n as f64);
    trace / n as f64 / (root(m) * root(to_dense(a)))
}

#[test]
fn the_kaporin_number_falls_with_every_step() {
    let a = gallery::build("aniso5:6,0.01,0.6", &Executor::reference()).unwrap();
    for step_size in [1, 3] {
        let number = |steps: usize| {
            let fsai = Fsai {
                steps,
                step_size,
                tolerance: 0.0,
                ..Fsai::default()
            };
            kaporin(fsai, &a.matrix)
        };
        let numbers: Vec<f64> = (0..8).map(number).collect();
        assert!(
            numbers.is_sorted_by(|before, after| before > after),
            "{numbers:?}"
        );
        assert!(numbers[7] - 1.0 < 0.1 * (numbers[0] - 1.0), "{numbers:?}");
        assert!((number(36) - 1.0).abs() < 1e-10);
    }
}

#[test]
fn an_empty_pattern_is_jacobi() {
    let m = dense(steps(0), 2, &[4.0, 1.0, 1.0, 16.0]).unwrap();
    assert_eq!(m, [0.25, 0.0, 0.0, 0.0625]);
}

#[test]
fn scaling_the_matrix_scales_the_inverse() {
    let n = 36;
    let a = laplacian::<f64>(&Executor::reference(), 6);
    let scale = |row: usize| f64::from(1 << (row * 7919 % 11));
    let scaled: Vec<f64> = to_dense(&a)
        .iter()
        .enumerate()
        .map(|(i, value)| value * scale(i / n) * scale(i % n))
        .collect();
    let m = dense(steps(3), n, &to_dense(&a)).unwrap();
    let of_scaled = dense(steps(3), n, &scaled).unwrap();
    for i in 0..n * n {
        let expected = m[i] / (scale(i / n) * scale(i % n));
        assert!((of_scaled[i] - expected).abs() <= 1e-14 * expected.abs());
    }
}

#[test]
fn the_threshold_removes_weak_couplings_from_the_pattern() {
    // Couplings of -1 and -0.01.
    let a = gallery::build("aniso5:6,0.01,0", &Executor::reference()).unwrap();
    let with = |threshold| Fsai {
        threshold,
        ..Fsai::of_power(1)
    };
    let count = |threshold| {
        let factor = with(threshold).rows_of_factor(&a.matrix, 0..36);
        factor.unwrap().nonzeros()
    };
    assert_eq!(count(0.0), 96);
    assert_eq!(count(0.1), 66);
    assert_eq!(count(2.0), 36);
}

#[test]
fn what_the_filter_leaves_has_a_unit_diagonal_still() {
    let n = 25;
    let a = laplacian::<f64>(&Executor::reference(), 5);
    let m = |filter| {
        let fsai = Fsai {
            filter,
            ..Fsai::default()
        };
        made(&fsai, &a).unwrap()
    };
    let (all, some) = (m(0.0), m(0.2));
    assert!(some.footprint().held < all.footprint().held);
    // The trace of `M A` is that of `G A G^T`.
    let product = multiply(n, &assemble(some.as_ref(), None), &to_dense(&a));
    let trace: f64 = (0..n).map(|k| product[k * n + k]).sum();
    assert!((trace - n as f64).abs() < 1e-12);
}

#[test]
fn a_set_up_in_single_precision_is_nearly_the_same() {
    let a = laplacian::<f64>(&Executor::reference(), 5);
    // On a fixed pattern: growth may break ties in another way.
    let double = Fsai::of_power(2);
    let single = Fsai {
        setup: FsaiSetup::Single,
        ..double
    };
    let double = dense(double, 25, &to_dense(&a)).unwrap();
    let single = dense(single, 25, &to_dense(&a)).unwrap();
    let pairs = double.iter().zip(&single);
    let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst > 0.0 && worst < 1e-6, "{worst}");
}

#[test]
fn what_single_precision_cannot_hold_is_done_in_double() {
    let single = Fsai {
        setup: FsaiSetup::Single,
        ..Fsai::default()
    };
    let m = dense(single, 2, &[1e60, 1e59, 1e59, 1e60]).unwrap();
    let expected = dense(Fsai::default(), 2, &[1e60, 1e59, 1e59, 1e60]).unwrap();
    assert_eq!(m, expected);
}

#[test]
fn a_singular_matrix_stops_the_growth() {
    let a = [1.0, -1.0, 0.0, -1.0, 2.0, -1.0, 0.0, -1.0, 1.0];
    let m = dense(steps(5), 3, &a).unwrap();
    assert!(
        m.iter()
            .all(|value| value.is_finite() && value.abs() < 10.0)
    );
}
