//! Which columns of a Hermitian matrix are independent.

use crate::prelude::*;

/// Of a Hermitian positive semidefinite matrix, the columns that are independent, and the triangle `L` of their rows and columns,
/// `L L^H`, row after row.
pub(crate) struct Independent<A> {
    pub columns: Vec<usize>,
    triangle: Vec<A>,
}

impl<A: Field> Independent<A> {
    /// Cholesky's method with pivots. A column counts as dependent where less than `least` of its diagonal entry is left.
    pub(crate) fn of(matrix: &[A], size: usize, least: f64) -> Self {
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

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Solves with the matrix, all of whose columns are independent, for `count` right-hand sides.
    pub(crate) fn solve(&self, sides: &mut [A], count: usize) {
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
    pub(crate) fn orthonormalising(&self, size: usize) -> Vec<A> {
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
pub(crate) fn diagonal<A: Field>(matrix: &[A], size: usize, k: usize) -> f64 {
    matrix[k * size + k].real().to_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependent_columns_are_told_and_the_rest_is_solved_with() {
        // Products of (1, 0), (2, 0) and (1, 1).
        let matrix = [1.0, 2.0, 1.0, 2.0, 4.0, 2.0, 1.0, 2.0, 2.0];
        let found = Independent::of(&matrix, 3, 1e-12);
        assert_eq!((found.len(), found.columns.contains(&2)), (2, true));
        let regular = [4.0_f64, 2.0, 2.0, 3.0];
        let mut sides = [8.0_f64, 4.0, 8.0, 2.0];
        Independent::of(&regular, 2, 1e-12).solve(&mut sides, 2);
        for (found, known) in sides.iter().zip([1.0, 1.0, 2.0, 0.0]) {
            assert!((found - known).abs() < 1e-14);
        }
    }
}
