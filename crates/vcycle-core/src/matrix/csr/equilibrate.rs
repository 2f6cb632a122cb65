//! Equilibration: scales rows and columns so that their largest entries are near one.

use std::sync::atomic::{AtomicU64, Ordering};

use super::norms::modulus;
use crate::prelude::*;

/// A matrix `R^-1 A C^-1` with entries of at most one, and the scalings `R` and `C`.
#[derive(Clone, Debug)]
pub struct Equilibrated<T> {
    /// The scaled matrix, on the pattern of the given one.
    pub matrix: Csr<T>,
    /// How it was scaled.
    pub scaling: Scaling,
}

/// The diagonal matrices `R` and `C` of `A' = R^-1 A C^-1`.
///
/// `A x = b` becomes `A' x' = b'` with `b' = R^-1 b` and `x' = C x`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// The diagonal of `R`.
    pub rows: Vec<f64>,
    /// The diagonal of `C`.
    pub columns: Vec<f64>,
}

impl<T: Scalar> Csr<T> {
    /// Symmetry-preserving row and column equilibration: algorithm 2.5 of Higham, Pranesh and
    /// Zounon (2019), stopped after `sweeps` iterations; one is usual.
    ///
    /// A sweep divides entry `(i, j)` by `r_i c_j`, with `r_i` the square root of the largest
    /// absolute value in row `i` and `c_j` that of column `j`, or 1 where there is none. A
    /// symmetric matrix stays symmetric and no entry exceeds 1 but by rounding.
    ///
    /// **Choose it** before a matrix is stored in half precision, whose range is small, or when
    /// rows differ in scale by orders of magnitude.
    ///
    /// ```
    /// use vcycle::{executor::Executor, matrix::Csr};
    /// let a = Csr::diagonal_matrix(&Executor::cpu(), vec![1e8, 4.0]);
    /// let scaled = a.equilibrate(1)?;
    /// assert_eq!(scaled.matrix.values(), [1.0, 1.0]);
    /// assert_eq!(scaled.scaling.rows, [1e4, 2.0]);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// When an entry is not finite, `sweeps` is zero or memory is short.
    pub fn equilibrate(&self, sweeps: usize) -> Result<Equilibrated<T>> {
        if sweeps == 0 {
            return Err(Error::BadParameter {
                parameter: "sweeps",
                reason: "must be at least 1".to_owned(),
            });
        }
        self.check_finite()?;
        let mut done = self.sweep()?;
        for _ in 1..sweeps {
            let next = done.matrix.sweep()?;
            done.matrix = next.matrix;
            multiply(&mut done.scaling.rows, &next.scaling.rows);
            multiply(&mut done.scaling.columns, &next.scaling.columns);
        }
        Ok(done)
    }

    fn sweep(&self) -> Result<Equilibrated<T>> {
        let rows = square_roots(self.row_maxima());
        let columns = square_roots(self.column_maxima());
        let (indices, values) = (self.columns(), self.values());
        let matrix = Csr::from_places(&self.pattern, |row, place| {
            let divisor = rows[row] * columns[indices[place] as usize];
            T::from_c64(values[place].to_c64() / divisor)
        })?;
        let scaling = Scaling { rows, columns };
        Ok(Equilibrated { matrix, scaling })
    }

    /// The largest absolute value of every row; zero where it has no entry.
    pub(super) fn row_maxima(&self) -> Vec<f64> {
        let largest = |row| {
            let values = self.row(row).1.iter();
            values.map(|&value| modulus(value)).fold(0.0, f64::max)
        };
        self.map_rows(|| (), |(), row| largest(row))
    }

    /// The largest absolute value of every column; zero where it has no entry.
    fn column_maxima(&self) -> Vec<f64> {
        // Non-negative doubles are ordered as their bits are, and a maximum has no order.
        let cols = self.size().cols;
        let maxima: Vec<AtomicU64> = (0..cols).map(|_| AtomicU64::new(0)).collect();
        self.map_pieces(|rows| {
            let places = self.offsets()[rows.start]..self.offsets()[rows.end];
            for place in places {
                let maximum = &maxima[self.columns()[place] as usize];
                let bits = modulus(self.values()[place]).to_bits();
                if bits > maximum.load(Ordering::Relaxed) {
                    maximum.fetch_max(bits, Ordering::Relaxed);
                }
            }
        });
        let value = |bits: AtomicU64| f64::from_bits(bits.into_inner());
        maxima.into_iter().map(value).collect()
    }
}

fn square_roots(maxima: Vec<f64>) -> Vec<f64> {
    let root = |maximum: f64| if maximum == 0.0 { 1.0 } else { maximum.sqrt() };
    maxima.into_iter().map(root).collect()
}

fn multiply(total: &mut [f64], factors: &[f64]) {
    for (total, factor) in total.iter_mut().zip(factors) {
        *total *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_same, dense, random};
    use super::*;

    fn badly_scaled() -> Csr<f64> {
        let host = Executor::reference();
        let a = random::<f64>(&host, 30, 30, 0.2, 1);
        let a = a.add(1.0, 1.0, &a.transpose().unwrap()).unwrap();
        let d: Vec<f64> = (0..30).map(|k| 10f64.powi(k - 15)).collect();
        a.scale_rows(&d).unwrap().scale_columns(&d).unwrap()
    }

    #[test]
    fn a_symmetric_matrix_stays_symmetric_with_entries_of_at_most_one() {
        let a = badly_scaled();
        let mut a = a.add(0.5, 0.5, &a.transpose().unwrap()).unwrap();
        for sweeps in [1, 12] {
            let scaled = a.equilibrate(sweeps).unwrap();
            assert_same(&scaled.matrix.transpose().unwrap(), &scaled.matrix);
            assert!(scaled.matrix.norm_max() <= 1.0 + 4.0 * f64::EPSILON);
            assert_eq!(scaled.scaling.rows, scaled.scaling.columns);
            a = scaled.matrix;
        }
        // Each sweep halves the distance of the logarithms from zero.
        let smallest = a.row_maxima().into_iter().fold(1.0, f64::min);
        assert!(smallest > 0.5, "{smallest}");
    }

    #[test]
    fn the_scaling_is_what_was_done_to_the_matrix() {
        let host = Executor::reference();
        let a = random::<c64>(&host, 10, 6, 0.4, 1);
        let Equilibrated { matrix, scaling } = a.equilibrate(2).unwrap();
        assert_eq!(scaling.rows[3], 1.0, "an empty row keeps its scale");
        let (a, b) = (dense(&a), dense(&matrix));
        for (i, r) in scaling.rows.iter().enumerate() {
            for (j, c) in scaling.columns.iter().enumerate() {
                assert!((a[i][j] - b[i][j] * (r * c)).norm() < 1e-14);
            }
        }
    }

    #[test]
    fn bad_input_is_named() {
        let host = Executor::reference();
        let a = Csr::diagonal_matrix(&host, vec![1.0, f64::INFINITY]);
        assert_refused!(a.equilibrate(1), NonFiniteEntry { row: 1, .. });
        let empty = Csr::<f64>::identity(&host, 0);
        assert_eq!(empty.equilibrate(1).unwrap().matrix.size(), Size::square(0));
        assert_refused!(empty.equilibrate(0), BadParameter { .. });
    }
}
