//! Chooses, among the rows of the test vectors, a basis of nearly maximal volume.

use super::super::small::{dot, largest, norm, subtract, take};
use crate::dense;

/// A row of which less than this share of the largest is left depends on those chosen.
const DEPENDENT: f64 = 1e-8;
/// Rows are exchanged while one of the others is more than this times a chosen one.
const DOMINANT: f64 = 1.05;
/// Exchanges for each row of the basis, at most.
const EXCHANGES: usize = 8;

/// Rows of test vectors, and those among them that are the basis.
///
/// The basis is of nearly maximal volume (Goreinov et al. 2010): all other rows are combinations of
/// its rows with no factor above 1.05. That keeps nearly parallel rows, whose weights would be
/// large and of opposite signs, out of the interpolation.
#[derive(Default)]
pub(super) struct Basis {
    /// Of each row.
    width: usize,
    /// The rows given, one after another; what is orthogonal to the chosen ones once they are.
    rest: Vec<f64>,
    /// Orthonormal directions of the chosen rows.
    directions: Vec<f64>,
    /// The numbers of the chosen rows.
    pub(super) chosen: Vec<usize>,
    /// For each row the factors that combine it from the chosen ones.
    factors: Vec<f64>,
}

impl Basis {
    /// Chooses among `rows`, each of `width` numbers.
    pub(super) fn choose(&mut self, width: usize, rows: impl Iterator<Item = f64>) {
        self.width = width;
        self.rest.clear();
        self.rest.extend(rows);
        self.directions.clear();
        self.chosen.clear();
        let original = self.rest.clone();
        self.pivot();
        self.express(&original);
        for _ in 0..EXCHANGES * self.chosen.len() {
            if !self.exchange() {
                break;
            }
        }
    }

    fn rows(&self) -> usize {
        self.rest.len() / self.width.max(1)
    }

    /// The rows that are farthest from those before.
    fn pivot(&mut self) {
        let mut most = 0.0;
        for step in 0..self.width.min(self.rows()) {
            let (row, left) = largest(self.rest.chunks_exact(self.width).map(norm));
            if step == 0 {
                most = left;
            }
            if left <= DEPENDENT * most {
                return;
            }
            let direction: Vec<f64> = self.row(row).iter().map(|value| value / left).collect();
            for row in self.rest.chunks_exact_mut(self.width) {
                subtract(&direction, row);
            }
            self.directions.extend(direction);
            self.chosen.push(row);
        }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.rest[row * self.width..][..self.width]
    }

    fn coordinates<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.directions
            .chunks_exact(self.width)
            .map(|direction| dot(row, direction))
    }

    /// Fills in the factors. In the coordinates of the directions the chosen rows are lower
    /// triangular.
    fn express(&mut self, original: &[f64]) {
        let rank = self.chosen.len();
        let coordinates: Vec<f64> = original
            .chunks_exact(self.width)
            .flat_map(|row| self.coordinates(row).collect::<Vec<_>>())
            .collect();
        let triangle: Vec<f64> = self
            .chosen
            .iter()
            .flat_map(|&row| coordinates[row * rank..][..rank].to_vec())
            .collect();
        self.factors = coordinates;
        for factors in self.factors.chunks_exact_mut(rank.max(1)) {
            solve_triangle(rank, &triangle, factors);
        }
    }

    /// Exchanges the row with the largest factor for the chosen one it has it of, if that is large.
    fn exchange(&mut self) -> bool {
        let rank = self.chosen.len();
        let (place, size) = largest(self.factors.iter().map(|factor| factor.abs()));
        if size <= DOMINANT {
            return false;
        }
        let (row, column) = (place / rank, place % rank);
        let pivot_row = self.factors[row * rank..][..rank].to_vec();
        let pivot = pivot_row[column];
        for factors in self.factors.chunks_exact_mut(rank) {
            let share = factors[column] / pivot;
            for (k, factor) in factors.iter_mut().enumerate() {
                *factor -= match k == column {
                    true => *factor - share,
                    false => share * pivot_row[k],
                };
            }
        }
        self.chosen[column] = row;
        true
    }

    /// The weights of the chosen rows that come closest to `target`, and how far that is from it,
    /// relative to its norm.
    pub(super) fn weigh(
        &self,
        target: &[f64],
        rows: impl Fn(usize) -> Vec<f64>,
    ) -> (Vec<f64>, f64) {
        let rank = self.chosen.len();
        let mut weights: Vec<f64> = self.coordinates(target).collect();
        let mut left = target.to_vec();
        for (direction, part) in self.directions.chunks_exact(self.width).zip(&weights) {
            take(&mut left, *part, direction);
        }
        let residual = norm(&left) / norm(target).max(f64::MIN_POSITIVE);
        let mut system = vec![0.0; rank * rank];
        for (column, &row) in self.chosen.iter().enumerate() {
            for (place, part) in self.coordinates(&rows(row)).enumerate() {
                system[place * rank + column] = part;
            }
        }
        // Chosen rows are independent.
        dense::solve(rank, &mut system, 1, &mut weights);
        (weights, residual)
    }
}

/// `x = x L^-1` with a lower triangular matrix stored row by row.
fn solve_triangle(n: usize, lower: &[f64], x: &mut [f64]) {
    for k in (0..n).rev() {
        x[k] /= lower[k * n + k];
        for j in 0..k {
            x[j] -= x[k] * lower[k * n + j];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(width: usize, rows: &[f64]) -> Basis {
        let mut basis = Basis::default();
        basis.choose(width, rows.iter().copied());
        basis
    }

    #[test]
    fn all_rows_are_small_combinations_of_the_chosen_ones() {
        let value = |k: usize| ((k * k * 7 + k) as f64 * 0.37).sin();
        let rows: Vec<f64> = (0..60).map(value).collect();
        let basis = chosen(3, &rows);
        assert_eq!(basis.chosen.len(), 3);
        let row = |k: usize| rows[3 * k..3 * k + 3].to_vec();
        for k in 0..20 {
            let (weights, residual) = basis.weigh(&row(k), row);
            assert!(residual < 1e-14);
            assert!(weights.iter().all(|weight| weight.abs() < 1.05 + 1e-12));
            for j in 0..3 {
                let sum: f64 = (0..3)
                    .map(|i| weights[i] * rows[3 * basis.chosen[i] + j])
                    .sum();
                assert!((sum - rows[3 * k + j]).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn parallel_rows_count_once() {
        let rows = [1.0, 2.0, 2.0, 4.0, -1.0, -2.0];
        let basis = chosen(2, &rows);
        assert_eq!(basis.chosen, [1]);
        let row = |k: usize| rows[2 * k..2 * k + 2].to_vec();
        let (weights, residual) = basis.weigh(&[0.5, 1.0], row);
        assert!((weights[0] - 0.25).abs() < 1e-15 && residual < 1e-15);
        assert!(basis.weigh(&[2.0, -1.0], row).1 > 0.99);
    }

    #[test]
    fn of_nothing_there_is_nothing() {
        let basis = chosen(2, &[]);
        assert!(basis.chosen.is_empty());
        assert_eq!(basis.weigh(&[3.0, 4.0], |_| Vec::new()), (Vec::new(), 1.0));
    }
}
