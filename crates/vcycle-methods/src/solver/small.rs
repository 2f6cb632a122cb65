//! Small dense problems that block methods leave to the host. Matrices are lists of rows, one after the other.

use num_traits::Float;

use crate::scalar::{Field, Real};

/// Of a Hermitian positive semidefinite matrix, the columns that are independent, and the triangle `L` of their rows and columns,
/// `L L^H`, row after row.
pub(super) struct Independent<A> {
    pub columns: Vec<usize>,
    triangle: Vec<A>,
}

impl<A: Field> Independent<A> {
    /// Cholesky's method with pivots. A column counts as dependent where less than `least` of its diagonal entry is left.
    pub(super) fn of(matrix: &[A], size: usize, least: f64) -> Self {
        let mut left: Vec<f64> = (0..size).map(|k| diagonal(matrix, size, k)).collect();
        let mut rows: Vec<Vec<A>> = vec![Vec::new(); size];
        let mut columns = Vec::new();
        let share = |left: &[f64], k: usize| left[k] / diagonal(matrix, size, k);
        loop {
            let open = (0..size).filter(|k| !columns.contains(k));
            let wanted = open.filter(|&k| left[k] > 0.0 && share(&left, k) > least);
            let Some(pivot) = wanted.max_by(|&i, &j| share(&left, i).total_cmp(&share(&left, j)))
            else {
                break;
            };
            let root = A::from_f64(left[pivot].sqrt());
            for k in (0..size).filter(|k| !columns.contains(k)) {
                let known: A = (rows[k].iter().zip(&rows[pivot]))
                    .map(|(a, b)| *a * b.conj())
                    .sum();
                let entry = match k == pivot {
                    true => root,
                    false => (matrix[k * size + pivot] - known) / root,
                };
                rows[k].push(entry);
                left[k] -= entry.modulus_squared().to_f64();
            }
            columns.push(pivot);
        }
        let triangle = columns.iter().flat_map(|&column| {
            let mut row = rows[column].clone();
            row.resize(columns.len(), A::zero());
            row
        });
        Self {
            triangle: triangle.collect(),
            columns,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Solves with the matrix, all of whose columns are independent, for `count` right-hand sides.
    pub(super) fn solve(&self, sides: &mut [A], count: usize) {
        let n = self.len();
        let mut x: Vec<A> = Vec::with_capacity(n * count);
        for &column in &self.columns {
            x.extend(&sides[column * count..(column + 1) * count]);
        }
        for row in 0..n {
            for side in 0..count {
                let known: A = (0..row)
                    .map(|k| self.triangle[row * n + k] * x[k * count + side])
                    .sum();
                x[row * count + side] =
                    (x[row * count + side] - known) / self.triangle[row * n + row];
            }
        }
        self.solve_adjoint(&mut x, count);
        for (place, &column) in self.columns.iter().enumerate() {
            sides[column * count..(column + 1) * count]
                .copy_from_slice(&x[place * count..(place + 1) * count]);
        }
    }

    /// Solves `L^H y = x`.
    fn solve_adjoint(&self, x: &mut [A], count: usize) {
        let n = self.len();
        for row in (0..n).rev() {
            for side in 0..count {
                let known: A = (row + 1..n)
                    .map(|k| self.triangle[k * n + row].conj() * x[k * count + side])
                    .sum();
                x[row * count + side] =
                    (x[row * count + side] - known) / self.triangle[row * n + row].conj();
            }
        }
    }

    /// What makes the independent ones of `size` columns with this matrix of products orthonormal: `size` rows.
    pub(super) fn orthonormalising(&self, size: usize) -> Vec<A> {
        let n = self.len();
        let mut inverse = vec![A::zero(); n * n];
        for k in 0..n {
            inverse[k * n + k] = A::one();
        }
        self.solve_adjoint(&mut inverse, n);
        let mut all = vec![A::zero(); size * n];
        for (place, &column) in self.columns.iter().enumerate() {
            all[column * n..(column + 1) * n].copy_from_slice(&inverse[place * n..(place + 1) * n]);
        }
        all
    }
}

/// An entry of the diagonal, as a positive number.
pub(super) fn diagonal<A: Field>(matrix: &[A], size: usize, k: usize) -> f64 {
    matrix[k * size + k].real().to_f64()
}

/// The singular values of a matrix given by its columns, from the smallest on, each with its left and right vector (one-sided
/// Jacobi rotations: Hestenes 1958).
pub(super) fn singular_triplets<A: Field>(columns: Vec<Vec<A>>) -> Vec<(f64, Vec<A>, Vec<A>)> {
    const SWEEPS: usize = 40;
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
                rotated |= rotate(first, &mut rest[0]);
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

fn norm<A: Field>(x: &[A]) -> f64 {
    let squares = x.iter().map(|x| x.modulus_squared().to_f64());
    squares.sum::<f64>().sqrt()
}

/// Makes two columns orthogonal, with their right vectors; says whether they were not.
fn rotate<A: Field>(first: &mut (Vec<A>, Vec<A>), second: &mut (Vec<A>, Vec<A>)) -> bool {
    let product: A = (first.0.iter().zip(&second.0))
        .map(|(a, b)| a.conj() * *b)
        .sum();
    let (alpha, beta) = (norm(&first.0).powi(2), norm(&second.0).powi(2));
    let size = product.modulus().to_f64();
    let rounding = A::Real::epsilon().to_f64();
    if size <= rounding * (alpha * beta).sqrt() || size == 0.0 {
        return false;
    }
    let zeta = (beta - alpha) / (2.0 * size);
    let t = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let phase = product / A::from_f64(size);
    let (c, s) = (A::from_f64(c), A::from_f64(c * t));
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

/// Least squares `min |S - H Y|` of several right-hand sides, column by column of `H`, by Householder's reflections. Rows are added
/// together with columns.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockLeastSquares<A> {
    /// Those of the triangle.
    columns: Vec<Vec<A>>,
    /// Of column `k`: a vector that begins in row `k`, and 2 over the square of its norm.
    reflections: Vec<(Vec<A>, A)>,
    sides: Vec<Vec<A>>,
}

impl<A: Field> BlockLeastSquares<A> {
    /// Begins with right-hand sides.
    pub(super) fn new(sides: Vec<Vec<A>>) -> Self {
        Self {
            columns: Vec::new(),
            reflections: Vec::new(),
            sides,
        }
    }

    /// Adds a column; what it has more rows than the sides is zero in these.
    pub(super) fn push(&mut self, mut column: Vec<A>) {
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
    pub(super) fn residual(&self, side: usize) -> f64 {
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
    pub(super) fn solve(&self) -> Vec<A> {
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
    fn dependent_columns_are_told_and_the_rest_is_solved_with() {
        // Products of (1, 0), (2, 0) and (1, 1).
        let matrix = [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 2.0];
        let found = Independent::of(&matrix, 3, 1e-12);
        assert_eq!((found.len(), found.columns.contains(&2)), (2, true));
        let regular = [4.0, 2.0, 2.0, 3.0];
        let mut sides = [8.0, 4.0, 8.0, 2.0];
        Independent::of(&regular, 2, 1e-12).solve(&mut sides, 2);
        for (found, known) in sides.iter().zip([1.0, 1.0, 2.0, 0.0]) {
            assert!((found - known).abs() < 1e-14);
        }
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
