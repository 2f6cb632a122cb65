//! All eigenpairs of a symmetric matrix, and all singular values of any: by the rotations of Jacobi and of Hestenes.

use num_traits::Float;

use super::norm;
use crate::prelude::*;

/// Rotations by all pairs of rows; far more than are ever needed.
const SWEEPS: usize = 60;

/// The eigenvalues of a symmetric matrix of order `n`, stored row by row, from the smallest on,
/// and their vectors one after another: Jacobi's method.
pub(crate) fn eigenpairs(n: usize, mut a: Vec<f64>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut vectors: Vec<Vec<f64>> = (0..n)
        .map(|k| (0..n).map(|i| f64::from(u8::from(i == k))).collect())
        .collect();
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                rotated |= rotate(n, &mut a, &mut vectors, p, q);
            }
        }
        if !rotated {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&k| a[k * n + k]).collect();
    let vectors = order.iter().map(|&k| vectors[k].clone()).collect();
    (values, vectors)
}

/// Makes entry `(p, q)` zero; says whether it was not already beside the diagonal.
fn rotate(n: usize, a: &mut [f64], vectors: &mut [Vec<f64>], p: usize, q: usize) -> bool {
    let (app, aqq, apq) = (a[p * n + p], a[q * n + q], a[p * n + q]);
    if apq.abs() <= f64::EPSILON * (app.abs() * aqq.abs()).sqrt().max(f64::MIN_POSITIVE) {
        return false;
    }
    let (c, s) = rotation((aqq - app) / (2.0 * apq));
    for k in 0..n {
        let (akp, akq) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * akp - s * akq, s * akp + c * akq);
    }
    for k in 0..n {
        let (apk, aqk) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * apk - s * aqk, s * apk + c * aqk);
    }
    for k in 0..n {
        let (vp, vq) = (vectors[p][k], vectors[q][k]);
        (vectors[p][k], vectors[q][k]) = (c * vp - s * vq, s * vp + c * vq);
    }
    true
}

/// Cosine and sine of the smaller angle whose double has this cotangent.
fn rotation(cotangent: f64) -> (f64, f64) {
    let t = cotangent.signum() / (cotangent.abs() + cotangent.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    (c, t * c)
}

/// The singular values of a matrix given by its columns, from the smallest on, each with its left and right vector (one-sided
/// Jacobi rotations: Hestenes 1958).
pub(crate) fn singular_triplets<A: Field>(columns: Vec<Vec<A>>) -> Vec<(f64, Vec<A>, Vec<A>)> {
    let n = columns.len();
    let unit = |k: usize| {
        let mut unit = vec![A::zero(); n];
        unit[k] = A::one();
        unit
    };
    let mut pairs: Vec<(Vec<A>, Vec<A>)> = columns
        .into_iter()
        .enumerate()
        .map(|(k, column)| (column, unit(k)))
        .collect();
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for second in 1..n {
            let (before, rest) = pairs.split_at_mut(second);
            for first in before {
                rotated |= orthogonalise(first, &mut rest[0]);
            }
        }
        if !rotated {
            break;
        }
    }
    let mut found: Vec<_> = pairs
        .into_iter()
        .map(|(column, right)| (norm(&column), column, right))
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (value, left, _) in &mut found {
        let over = A::from_f64(if *value > 0.0 { 1.0 / *value } else { 0.0 });
        left.iter_mut().for_each(|entry| *entry *= over);
    }
    found
}

/// Makes two columns orthogonal, with their right vectors; says whether they were not.
fn orthogonalise<A: Field>(first: &mut (Vec<A>, Vec<A>), second: &mut (Vec<A>, Vec<A>)) -> bool {
    let product: A = (first.0.iter().zip(&second.0))
        .map(|(a, b)| a.conj() * *b)
        .sum();
    let (alpha, beta) = (norm(&first.0).powi(2), norm(&second.0).powi(2));
    let size = product.modulus().to_f64();
    let rounding = A::Real::epsilon().to_f64();
    if size <= rounding * (alpha * beta).sqrt() || size == 0.0 {
        return false;
    }
    let (c, s) = rotation((beta - alpha) / (2.0 * size));
    let phase = product / A::from_f64(size);
    let (c, s) = (A::from_f64(c), A::from_f64(s));
    let turn = |x: &mut [A], y: &mut [A]| {
        for (x, y) in x.iter_mut().zip(y) {
            let turned = *y * phase.conj();
            (*x, *y) = (c * *x - s * turned, s * *x + c * turned);
        }
    };
    turn(&mut first.0, &mut second.0);
    turn(&mut first.1, &mut second.1);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spectrum_of_a_line_is_known() {
        let n = 6;
        let entry = |i: usize| match (i / n).abs_diff(i % n) {
            0 => 2.0,
            1 => -1.0,
            _ => 0.0,
        };
        let a: Vec<f64> = (0..n * n).map(entry).collect();
        let (values, vectors) = eigenpairs(n, a.clone());
        for (k, value) in values.iter().enumerate() {
            let angle = std::f64::consts::PI * (k + 1) as f64 / (n + 1) as f64;
            assert!((value - (2.0 - 2.0 * angle.cos())).abs() < 1e-14);
            for row in 0..n {
                let product: f64 = (0..n).map(|j| a[row * n + j] * vectors[k][j]).sum();
                assert!((product - value * vectors[k][row]).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn a_diagonal_matrix_is_sorted() {
        let (values, vectors) = eigenpairs(2, vec![3.0, 0.0, 0.0, -1.0]);
        assert_eq!(values, [-1.0, 3.0]);
        assert_eq!(vectors, [[0.0, 1.0], [1.0, 0.0]]);
    }

    #[test]
    fn singular_values_of_a_complex_matrix() {
        let i = c64::new(0.0, 1.0);
        // A unitary matrix times diag(3, 0.5).
        let root = c64::new(0.5_f64.sqrt(), 0.0);
        let columns = vec![
            vec![root * 3.0, i * root * 3.0],
            vec![i * root * 0.5, root * 0.5],
        ];
        let found = singular_triplets(columns.clone());
        assert!((found[0].0 - 0.5).abs() < 1e-14 && (found[1].0 - 3.0).abs() < 1e-14);
        for (value, left, right) in found {
            for row in 0..2 {
                let image = columns[0][row] * right[0] + columns[1][row] * right[1];
                assert!((image - left[row] * value).norm() < 1e-13);
            }
        }
    }
}
