//! Cholesky factors that grow row by row.

use crate::prelude::*;

/// `A = L L^H` and the solution `y` of `L y = b`, to which a row and column of `A` are added at a
/// time: what was factorised before stays. Numbers are formed in the order of `gpu/kernels/fsai.c`.
#[derive(Default)]
pub(crate) struct Cholesky<A> {
    /// The rows of `L` one after another, each up to its diagonal, whose reciprocal is stored.
    factor: Vec<A>,
    y: Vec<A>,
}

impl<A: Field> Cholesky<A> {
    pub(crate) fn clear(&mut self) {
        self.factor.clear();
        self.y.clear();
    }

    /// Rows so far.
    pub(crate) fn order(&self) -> usize {
        self.y.len()
    }

    /// What a row has left of the diagonal, and the reciprocal of that.
    fn row(&self, k: usize) -> (&[A], A) {
        let start = k * (k + 1) / 2;
        (&self.factor[start..start + k], self.factor[start + k])
    }

    /// Turns the entries of a next row of `A` left of its diagonal into those of `L`, and gives
    /// the pivot: what is left of the diagonal.
    pub(crate) fn eliminate(&self, next: &mut [A], diagonal: A::Real) -> A::Real {
        for k in 0..self.order() {
            let (row, inverse) = self.row(k);
            next[k] = without(next[k], &next[..k], row) * inverse;
        }
        next.iter()
            .fold(diagonal, |rest, value| rest - value.modulus_squared())
    }

    /// The next entry of `y` for a row of `L` with the reciprocal of its diagonal, and the next entry of `b`.
    pub(crate) fn forward(&self, next: &[A], inverse: A, rhs: A) -> A {
        let known = next.iter().zip(&self.y);
        known.fold(rhs, |rest, (&l, &y)| rest - l * y) * inverse
    }

    /// Adds a row of `L` with the reciprocal of its diagonal, and the entry of `y`.
    pub(crate) fn push(&mut self, next: &[A], inverse: A, y: A) {
        self.factor.extend_from_slice(next);
        self.factor.push(inverse);
        self.y.push(y);
    }

    /// The solution of `A x = b`.
    pub(crate) fn solve(&self, x: &mut Vec<A>) {
        x.clear();
        x.extend_from_slice(&self.y);
        for k in (0..self.order()).rev() {
            let (row, inverse) = self.row(k);
            x[k] *= inverse;
            let value = x[k];
            for (x, &l) in x.iter_mut().zip(row) {
                *x -= l.conj() * value;
            }
        }
    }
}

/// `value - x y^H`, one product after the other.
#[inline]
fn without<A: Field>(value: A, x: &[A], y: &[A]) -> A {
    let pairs = x.iter().zip(y);
    pairs.fold(value, |rest, (&x, &y)| rest - x * y.conj())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c(re: f64, im: f64) -> c64 {
        c64::new(re, im)
    }

    #[test]
    fn a_hermitian_system_is_solved_as_it_grows() {
        let rows = [
            vec![],
            vec![c(1.0, 0.5)],
            vec![c(-0.5, 0.25), c(0.25, -1.0)],
        ];
        let rhs = [c(1.0, 0.0), c(0.0, 2.0), c(-1.0, 1.0)];
        let mut cholesky = Cholesky::default();
        let mut x = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            let mut next = row.clone();
            let pivot = cholesky.eliminate(&mut next, 4.0);
            let inverse = c(1.0 / pivot.sqrt(), 0.0);
            let y = cholesky.forward(&next, inverse, rhs[n]);
            cholesky.push(&next, inverse, y);
            cholesky.solve(&mut x);
            let entry = |i: usize, j: usize| match i.cmp(&j) {
                std::cmp::Ordering::Equal => c(4.0, 0.0),
                std::cmp::Ordering::Greater => rows[i][j],
                std::cmp::Ordering::Less => rows[j][i].conj(),
            };
            for i in 0..=n {
                let product: c64 = (0..=n).map(|j| entry(i, j) * x[j]).sum();
                assert!((product - rhs[i]).norm() < 1e-14);
            }
        }
    }

    #[test]
    fn the_pivot_of_an_indefinite_matrix_is_negative() {
        let mut cholesky = Cholesky::default();
        cholesky.push(&[], 1.0, 0.0);
        assert_eq!(cholesky.eliminate(&mut [2.0], 1.0), -3.0);
    }
}
