//! Least squares of several right-hand sides.

use num_traits::Float;

use super::norm;
use crate::scalar::{Field, Real};

/// Least squares `min |S - H Y|` of several right-hand sides, column by column of `H`, by Householder's reflections. Rows are added
/// together with columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockLeastSquares<A> {
    /// Those of the triangle.
    columns: Vec<Vec<A>>,
    /// Of column `k`: a vector that begins in row `k`, and 2 over the square of its norm.
    reflections: Vec<(Vec<A>, A)>,
    sides: Vec<Vec<A>>,
}

impl<A: Field> BlockLeastSquares<A> {
    /// Begins with right-hand sides.
    pub(crate) fn new(sides: Vec<Vec<A>>) -> Self {
        Self {
            columns: Vec::new(),
            reflections: Vec::new(),
            sides,
        }
    }

    /// Adds a column; what it has more rows than the sides is zero in these.
    pub(crate) fn push(&mut self, mut column: Vec<A>) {
        let place = self.columns.len();
        for (first, (v, factor)) in self.reflections.iter().enumerate() {
            reflect(v, *factor, &mut column[first..]);
        }
        let (v, factor) = reflection(&column[place..]);
        reflect(&v, factor, &mut column[place..]);
        for side in &mut self.sides {
            side.resize(side.len().max(column.len()), A::zero());
            reflect(&v, factor, &mut side[place..]);
        }
        self.columns.push(column);
        self.reflections.push((v, factor));
    }

    /// The norm of what is left of a right-hand side by the [`solution`](Self::solve).
    pub(crate) fn residual(&self, side: usize) -> f64 {
        norm(&self.sides[side][self.dimension()..])
    }

    fn pivot(&self, row: usize) -> f64 {
        self.columns[row][row].modulus().to_f64()
    }

    /// The columns that count: those before the first that depends on others, as far as rounding tells.
    fn dimension(&self) -> usize {
        let n = self.columns.len();
        let largest = (0..n).map(|row| self.pivot(row)).fold(0.0, f64::max);
        let least = largest * 8.0 * A::Real::epsilon().to_f64();
        let dependent = (0..n).find(|&row| self.pivot(row) <= least);
        dependent.unwrap_or(n)
    }

    /// The solution, row after row with one number a side. For columns that do not count it is zero.
    pub(crate) fn solve(&self) -> Vec<A> {
        let (n, count) = (self.dimension(), self.sides.len());
        let mut x = vec![A::zero(); self.columns.len() * count];
        for row in (0..n).rev() {
            for side in 0..count {
                let known: A = (row + 1..n)
                    .map(|k| self.columns[k][row] * x[k * count + side])
                    .sum();
                x[row * count + side] = (self.sides[side][row] - known) / self.columns[row][row];
            }
        }
        x
    }
}

/// The reflection that makes all but the first entry zero.
fn reflection<A: Field>(x: &[A]) -> (Vec<A>, A) {
    let (mut v, length) = (x.to_vec(), norm(x));
    if length == 0.0 {
        return (v, A::zero());
    }
    let size = x[0].modulus().to_f64();
    let phase = match size > 0.0 {
        true => x[0] / A::from_f64(size),
        false => A::one(),
    };
    v[0] += phase * A::from_f64(length);
    let square = norm(&v).powi(2);
    (v, A::from_f64(2.0 / square))
}

fn reflect<A: Field>(v: &[A], factor: A, x: &mut [A]) {
    let product: A = v.iter().zip(&*x).map(|(v, x)| v.conj() * *x).sum();
    for (x, v) in x.iter_mut().zip(v) {
        *x -= factor * product * *v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::c64;

    #[test]
    fn least_squares_of_two_sides() {
        let i = c64::new(0.0, 1.0);
        let one = c64::new(1.0, 0.0);
        let mut squares = BlockLeastSquares::new(vec![vec![one * 2.0], vec![i]]);
        squares.push(vec![one, i]);
        // The residual of (2, 0) is what (1, i) leaves of it.
        assert!((squares.residual(0) - 2.0_f64.sqrt()).abs() < 1e-14);
        let solution = squares.solve();
        assert!((solution[0] - one).norm() < 1e-14);
        assert!((solution[1] - i * 0.5).norm() < 1e-14);
    }
}
