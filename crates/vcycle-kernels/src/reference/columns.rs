//! Vectors of several columns taken as matrices: all products of columns, and combinations of columns.

use crate::scalar::{Field, Scalar};

/// `out = X^H Y`, row after row, of `p` columns of `x` and `q` of `y`.
pub fn products<T: Scalar>((x, p): (&[T], usize), (y, q): (&[T], usize), out: &mut [T::Arith]) {
    out.fill(T::Arith::default());
    for (x, y) in x.chunks_exact(p).zip(y.chunks_exact(q)) {
        for (out, x) in out.chunks_exact_mut(q).zip(x) {
            for (out, y) in out.iter_mut().zip(y) {
                *out += x.load().conj() * y.load();
            }
        }
    }
}

/// `Y += X C` with coefficients row after row: one for each of `p` columns of `x` and `q` of `y`. A zero does not touch its column.
pub fn add_combination<T: Scalar>(
    (x, p): (&[T], usize),
    coefficients: &[T::Arith],
    (y, q): (&mut [T], usize),
) {
    for (x, y) in x.chunks_exact(p).zip(y.chunks_exact_mut(q)) {
        for (column, y) in y.iter_mut().enumerate() {
            let mut sum = y.load();
            for (x, coefficients) in x.iter().zip(coefficients.chunks_exact(q)) {
                if !num_traits::Zero::is_zero(&coefficients[column]) {
                    sum += coefficients[column] * x.load();
                }
            }
            *y = T::store(sum);
        }
    }
}
