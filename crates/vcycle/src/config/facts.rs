//! What can be read off a matrix before anything is solved.

use serde::Serialize;

use crate::matrix::Csr;
use crate::scalar::{Field, Real, Scalar, convert, f16};

/// Entries that differ by less than this, relatively, count as equal: assembly rounds.
const SYMMETRY_TOLERANCE: f64 = 1e-10;

/// The facts that decide which method suits a matrix.
///
/// ```
/// use vcycle::{config::Facts, executor::Executor, matrix::Csr};
/// let a = Csr::diagonal_matrix(&Executor::cpu(), vec![1.0, -2.0]);
/// let facts = Facts::of(&a);
/// assert!(facts.hermitian && !facts.positive_diagonal());
/// assert_eq!(facts.negative_diagonal, 1);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Facts {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Stored entries.
    pub nonzeros: usize,
    /// Stored entries that are zero.
    pub stored_zeros: usize,
    /// Whether values are complex.
    pub complex: bool,
    /// Fewest entries in a row.
    pub row_min: usize,
    /// Entries per row on average.
    pub row_mean: f64,
    /// Most entries in a row.
    pub row_max: usize,
    /// Rows without an entry.
    pub empty_rows: usize,
    /// Whether an entry is stored opposite to every stored entry.
    pub symmetric_pattern: bool,
    /// `A = A^T`, to rounding.
    pub symmetric: bool,
    /// `A = A^H`, to rounding; the same as symmetric for real matrices.
    pub hermitian: bool,
    /// Diagonal entries not stored.
    pub missing_diagonal: usize,
    /// Diagonal entries stored and zero.
    pub zero_diagonal: usize,
    /// Diagonal entries with a negative real part.
    pub negative_diagonal: usize,
    /// Share of rows whose diagonal is at least the sum of the absolute values beside it.
    pub dominant_rows: f64,
    /// Smallest absolute value that is not zero.
    pub smallest: f64,
    /// Largest absolute value.
    pub largest: f64,
    /// Largest distance of an entry from the diagonal.
    pub bandwidth: usize,
    /// Whether no entry overflows in half precision.
    pub fits_f16: bool,
    /// Whether no entry overflows in bfloat or single precision, which have the same range.
    pub fits_f32: bool,
    /// Entries that become zero or lose digits to underflow in half precision.
    pub f16_underflows: usize,
    /// Bytes held.
    pub bytes: usize,
}

impl Facts {
    /// Looks at every entry of `a` twice.
    pub fn of<T: Scalar>(a: &Csr<T>) -> Self {
        let size = a.size();
        let mut facts = Self {
            rows: size.rows,
            columns: size.cols,
            nonzeros: a.nonzeros(),
            stored_zeros: 0,
            complex: T::KIND.is_complex(),
            row_min: usize::MAX,
            row_mean: a.nonzeros() as f64 / size.rows.max(1) as f64,
            row_max: 0,
            empty_rows: 0,
            symmetric_pattern: false,
            symmetric: false,
            hermitian: false,
            missing_diagonal: 0,
            zero_diagonal: 0,
            negative_diagonal: 0,
            dominant_rows: 0.0,
            smallest: f64::INFINITY,
            largest: 0.0,
            bandwidth: 0,
            fits_f16: true,
            fits_f32: true,
            f16_underflows: 0,
            bytes: a.bytes(),
        };
        let mut dominant = 0;
        for row in 0..size.rows {
            dominant += usize::from(facts.look_at_row(a, row));
        }
        facts.finish(dominant);
        if size.rows == size.cols {
            facts.compare_with_transpose(a);
        }
        facts
    }

    /// Whether every diagonal entry is stored and positive.
    pub fn positive_diagonal(&self) -> bool {
        self.full_diagonal() && self.negative_diagonal == 0
    }

    /// Whether every diagonal entry is stored and not zero.
    pub fn full_diagonal(&self) -> bool {
        self.missing_diagonal == 0 && self.zero_diagonal == 0
    }

    fn finish(&mut self, dominant: usize) {
        self.dominant_rows = dominant as f64 / self.rows.max(1) as f64;
        self.fits_f16 = self.largest <= f16::MAX.to_f64();
        self.fits_f32 = self.largest <= f64::from(f32::MAX);
        if self.rows == 0 {
            self.row_min = 0;
        }
        if self.largest == 0.0 {
            self.smallest = 0.0;
        }
    }

    /// Says whether the row is diagonally dominant.
    fn look_at_row<T: Scalar>(&mut self, a: &Csr<T>, row: usize) -> bool {
        let (columns, values) = a.row(row);
        self.row_min = self.row_min.min(columns.len());
        self.row_max = self.row_max.max(columns.len());
        self.empty_rows += usize::from(columns.is_empty());
        let (mut diagonal, mut beside) = (None, 0.0);
        for (&column, &value) in columns.iter().zip(values) {
            let modulus = self.look_at_value(value);
            self.bandwidth = self.bandwidth.max(row.abs_diff(column as usize));
            if column as usize == row {
                diagonal = Some((value.to_c64().re, modulus));
            } else {
                beside += modulus;
            }
        }
        if row < self.columns {
            self.look_at_diagonal(diagonal);
        }
        diagonal.is_some_and(|(_, modulus)| modulus >= beside)
    }

    fn look_at_value<T: Scalar>(&mut self, value: T) -> f64 {
        let modulus = value.load().modulus().to_f64();
        self.largest = self.largest.max(modulus);
        if modulus == 0.0 {
            self.stored_zeros += 1;
            return modulus;
        }
        self.smallest = self.smallest.min(modulus);
        let half: f16 = convert(modulus);
        self.f16_underflows += usize::from(!half.is_normal() && half.is_finite());
        modulus
    }

    fn look_at_diagonal(&mut self, diagonal: Option<(f64, f64)>) {
        match diagonal {
            None => self.missing_diagonal += 1,
            Some((_, 0.0)) => self.zero_diagonal += 1,
            Some((real, _)) => self.negative_diagonal += usize::from(real < 0.0),
        }
    }

    /// One pass: the entries right of the diagonal of rows 0, 1, 2... meet the entries left of
    /// the diagonal of each row in the order they are stored in.
    fn compare_with_transpose<T: Scalar>(&mut self, a: &Csr<T>) {
        let (offsets, columns, values) = (a.offsets(), a.columns(), a.values());
        let mut next: Vec<usize> = offsets[..self.rows].to_vec();
        (self.symmetric, self.hermitian) = (true, true);
        for row in 0..self.rows {
            // All entries left of the diagonal must have been met by now.
            let (begin, end) = (next[row], offsets[row + 1]);
            if columns[begin..end]
                .first()
                .is_some_and(|&c| (c as usize) < row)
            {
                return self.not_symmetric();
            }
            for place in begin..end {
                let column = columns[place] as usize;
                if column == row {
                    let value = values[place].to_c64();
                    self.hermitian &= value.im.abs() <= SYMMETRY_TOLERANCE * value.norm();
                    continue;
                }
                let opposite = next[column];
                if opposite >= offsets[column + 1] || columns[opposite] as usize != row {
                    return self.not_symmetric();
                }
                next[column] += 1;
                let (upper, lower) = (values[place].to_c64(), values[opposite].to_c64());
                let tolerance = SYMMETRY_TOLERANCE * upper.norm().max(lower.norm());
                self.symmetric &= (upper - lower).norm() <= tolerance;
                self.hermitian &= (upper - lower.conj()).norm() <= tolerance;
            }
        }
        self.symmetric_pattern = true;
    }

    fn not_symmetric(&mut self) {
        (self.symmetric, self.hermitian) = (false, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::linop::Size;
    use crate::matrix::Duplicates;
    use crate::scalar::c64;

    fn dense<T: Scalar>(n: usize, values: Vec<T>) -> Csr<T> {
        let kept: Vec<usize> = (0..n * n).filter(|&p| values[p] != T::default()).collect();
        let below = |row: usize| kept.iter().filter(|&&p| p / n < row).count();
        Csr::from_arrays(
            &Executor::reference(),
            Size::square(n),
            (0..=n).map(below).collect(),
            kept.iter().map(|p| (p % n) as u32).collect(),
            kept.iter().map(|&p| values[p]).collect(),
            Duplicates::Refuse,
        )
        .unwrap()
    }

    #[test]
    fn symmetry_is_found_and_refused() {
        let symmetric = dense(3, vec![2.0, 0.0, 1.0, 0.0, 2.0, 5.0, 1.0, 5.0, 2.0]);
        assert!(Facts::of(&symmetric).symmetric);
        let values = dense(2, vec![1.0, 2.0, 3.0, 4.0]);
        let facts = Facts::of(&values);
        assert!(facts.symmetric_pattern && !facts.symmetric);
        for pattern in [
            vec![1.0, 2.0, 0.0, 4.0],
            vec![1.0, 0.0, 2.0, 4.0],
            vec![0.0, 0.0, 2.0, 0.0],
        ] {
            assert!(!Facts::of(&dense(2, pattern)).symmetric_pattern);
        }
    }

    #[test]
    fn hermitian_and_symmetric_differ_for_complex_matrices() {
        let i = c64::i();
        let one = c64::new(1.0, 0.0);
        let hermitian = Facts::of(&dense(2, vec![one, i, -i, one]));
        assert!(hermitian.hermitian && !hermitian.symmetric);
        let symmetric = Facts::of(&dense(2, vec![one, i, i, one]));
        assert!(symmetric.symmetric && !symmetric.hermitian);
    }

    #[test]
    fn rows_and_values_are_counted() {
        let facts = Facts::of(&dense(
            3,
            vec![4.0, -1.0, 1e-9, 0.0, -3.0, 9.0, 1e6, 0.0, 0.0],
        ));
        assert_eq!((facts.row_min, facts.row_max, facts.nonzeros), (1, 3, 6));
        assert_eq!((facts.missing_diagonal, facts.negative_diagonal), (1, 1));
        assert_eq!((facts.smallest, facts.largest), (1e-9, 1e6));
        assert!(!facts.fits_f16 && facts.fits_f32);
        assert_eq!((facts.f16_underflows, facts.bandwidth), (1, 2));
        assert!((facts.dominant_rows - 1.0 / 3.0).abs() < 1e-15);
    }
}
