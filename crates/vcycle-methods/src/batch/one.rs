//! One system of a batch, and vectors of it.

use super::matrix::BatchMatrix;
use crate::scalar::Field;

pub(super) use crate::dense::norm;

/// One system of a batch.
pub(super) struct One<'m, A> {
    pub matrix: &'m dyn BatchMatrix<A>,
    pub system: usize,
}

impl<A> Clone for One<'_, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A> Copy for One<'_, A> {}

impl<A: Field> One<'_, A> {
    /// `y = A x`.
    pub fn multiply(&self, x: &[A], y: &mut [A]) {
        self.matrix.multiply(self.system, x, y);
    }

    pub fn visit(&self, mut visit: impl FnMut(usize, usize, A)) {
        self.matrix.visit(self.system, &mut visit);
    }

    /// `r = b - A x`, and its norm.
    pub fn residual(&self, b: &[A], x: &[A], r: &mut [A]) -> f64 {
        self.multiply(x, r);
        for (r, &b) in r.iter_mut().zip(b) {
            *r = b - *r;
        }
        norm(r)
    }

    /// The values of a system in the places of a pattern; zero where it has none.
    pub fn collect(&self, offsets: &[usize], columns: &[u32], values: &mut [A]) {
        values.fill(A::zero());
        self.visit(|row, column, value| {
            let of_row = &columns[offsets[row]..offsets[row + 1]];
            if let Ok(place) = of_row.binary_search(&(column as u32)) {
                values[offsets[row] + place] = value;
            }
        });
    }
}

pub(super) fn dot<A: Field>(x: &[A], y: &[A]) -> A {
    let products = x.iter().zip(y).map(|(&x, &y)| Field::conj(x) * y);
    products.fold(A::zero(), |sum, product| sum + product)
}

/// `y += alpha x`.
pub(super) fn add<A: Field>(alpha: A, x: &[A], y: &mut [A]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += alpha * x;
    }
}
