//! All eigenpairs of a small symmetric matrix.

/// Rotations by all pairs of rows; far more than are ever needed.
const SWEEPS: usize = 60;

/// The eigenvalues of a symmetric matrix of order `n`, stored row by row, from the smallest on,
/// and their vectors one after another: Jacobi's method.
pub(super) fn eigenpairs(n: usize, mut a: Vec<f64>) -> (Vec<f64>, Vec<Vec<f64>>) {
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
    let theta = (aqq - app) / (2.0 * apq);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
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
}
