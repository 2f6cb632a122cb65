//! Vector kernels, as their definitions read. Columns of one row lie side by side.

use num_traits::Zero;

use crate::factor::Factor;
use crate::scalar::{Field, Mixes, Scalar, convert};

/// `y = value` everywhere.
pub fn fill<T: Scalar>(value: T, y: &mut [T]) {
    for y in y {
        *y = value;
    }
}

/// `y = x`, converted.
pub fn copy<S: Scalar, T: Scalar>(x: &[S], y: &mut [T]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = convert(x);
    }
}

/// `y = alpha x + beta y`, column by column.
pub fn axpby<T: Scalar>(
    alpha: Factor<'_, T>,
    x: &[T],
    beta: Factor<'_, T>,
    y: &mut [T],
    cols: usize,
) {
    for column in 0..cols {
        let (a, b) = (alpha.evaluate(column), beta.evaluate(column));
        for (y, x) in y.iter_mut().zip(x).skip(column).step_by(cols) {
            *y = T::store(combine(a, *x, b, *y));
        }
    }
}

/// `a x + b y`; an operand with a zero coefficient does not count, whatever it holds.
pub fn combine<T: Scalar>(a: T::Arith, x: T, b: T::Arith, y: T) -> T::Arith {
    match (a.is_zero(), b.is_zero()) {
        (true, true) => T::Arith::zero(),
        (true, false) => b * y.load(),
        (false, true) => a * x.load(),
        (false, false) => a * x.load() + b * y.load(),
    }
}

/// `y = alpha y`, column by column; where `alpha` is zero `y` does not count, whatever it holds.
pub fn scale<T: Scalar>(alpha: Factor<'_, T>, y: &mut [T], cols: usize) {
    for column in 0..cols {
        let a = alpha.evaluate(column);
        for y in y.iter_mut().skip(column).step_by(cols) {
            *y = T::store(combine(T::Arith::zero(), *y, a, *y));
        }
    }
}

/// `y = s x` with a sign `s` per row that looks random, from row number `first` on.
pub fn flip_signs<T: Scalar>(first: usize, x: &[T], y: &mut [T], cols: usize) {
    for (place, (y, x)) in y.iter_mut().zip(x).enumerate() {
        *y = match is_flipped(first + place / cols) {
            true => T::store(-x.load()),
            false => *x,
        };
    }
}

/// Whether the sign of a row is minus: a bit of a hash of its number, the same on every device.
#[inline]
fn is_flipped(row: usize) -> bool {
    let mut bits = row as u32;
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x7feb_352d);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x846c_a68b);
    (bits ^ (bits >> 16)) & 1 == 1
}

/// `y = d x` with one `d` per row, conjugated where asked.
pub fn scale_rows<D: Mixes<T, T>, T: Scalar>(
    d: &[D],
    conjugate: bool,
    x: &[T],
    y: &mut [T],
    cols: usize,
) {
    for row in 0..d.len() {
        let value = d[row].matrix();
        let value = if conjugate { value.conj() } else { value };
        for entry in row * cols..(row + 1) * cols {
            y[entry] = D::result(value * D::input(x[entry]));
        }
    }
}

/// `y = alpha d x + beta y` with one `d` per row, conjugated where asked.
pub fn combine_rows<D: Mixes<T, T>, T: Scalar>(
    alpha: Factor<'_, T>,
    (d, conjugate): (&[D], bool),
    x: &[T],
    beta: Factor<'_, T>,
    y: &mut [T],
    cols: usize,
) {
    for column in 0..cols {
        let a = D::coefficient(alpha.evaluate(column));
        let b = D::coefficient(beta.evaluate(column));
        for row in 0..d.len() {
            let (value, entry) = (d[row].matrix(), row * cols + column);
            let value = if conjugate { value.conj() } else { value };
            let product = value * D::input(x[entry]);
            y[entry] = D::result(combine(a, product, b, D::output(y[entry])));
        }
    }
}

/// `out = sum of conj(x) y`, column by column.
pub fn dot<T: Scalar>(x: &[T], y: &[T], out: &mut [T::Arith], cols: usize) {
    for (column, out) in out.iter_mut().enumerate() {
        let mut sum = T::Arith::zero();
        for (x, y) in x.iter().zip(y).skip(column).step_by(cols) {
            sum += x.load().conj() * y.load();
        }
        *out = sum;
    }
}
