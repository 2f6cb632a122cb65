//! Facts about a matrix, such as symmetry and diagonal dominance, found before a solve.

use std::ops::Range;

use vcycle_kernels::compiled;

use serde::Serialize;

use super::norms::modulus;
use super::seen::{CANCELLED, RowSizes, SYMMETRY_TOLERANCE, Seen, mirrored, sizes};
use crate::error::check_square;
use crate::operations::entries;
use crate::prelude::*;

/// Sums of entries may differ by this part of them and count as equal.
const ROUNDING: f64 = 1e-12;
/// Positive entries that are together larger than this part of the diagonal entry count.
const NOTABLE: f64 = 0.05;
/// Beside a strongly dominant diagonal entry is at most this part of it.
const STRONG: f64 = 0.8;

/// What [`Csr::facts`] finds out: which method suits a matrix, and in which precision.
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
    /// Stored entries that are infinite or not a number; the other facts ignore their size.
    pub non_finite: usize,
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
    /// Whether the matrix is square and an entry is stored opposite to every stored entry that is more than rounding.
    pub symmetric_pattern: bool,
    /// `A = A^T`, to rounding: 1e-10 of an entry, or 1e-12 of the geometric mean of the largest entries of both rows.
    pub symmetric: bool,
    /// `A = A^H`, to rounding; the same as symmetric for real matrices.
    pub hermitian: bool,
    /// The largest absolute value of an entry of `A - A^H`, of square matrices.
    pub asymmetry: f64,
    /// Whether the symmetry found is one to rounding only.
    #[serde(skip)]
    pub rounded: bool,
    /// Diagonal entries not stored.
    pub missing_diagonal: usize,
    /// Diagonal entries stored and zero.
    pub zero_diagonal: usize,
    /// Diagonal entries with a negative real part.
    pub negative_diagonal: usize,
    /// Share of rows whose diagonal is at least the sum of the absolute values beside it.
    pub dominant_rows: f64,
    /// Share of rows in which the sum of the absolute values beside the diagonal is at most 0.8 of it.
    pub strongly_dominant_rows: f64,
    /// Share of rows with positive entries beside the diagonal that are more than rounding, as diffusion has few of.
    pub positive_rows: f64,
    /// Smallest absolute value that is not zero; 0 without any.
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
    /// Whether it is on a device, where methods that go one step after the other are slow.
    #[serde(skip)]
    pub on_device: bool,
    /// Whether it is of a diffusion whose coefficient jumps; asked of matrices on a device alone.
    #[serde(skip)]
    pub jumps: bool,
}

impl Facts {
    /// Whether every diagonal entry is stored and positive.
    pub fn positive_diagonal(&self) -> bool {
        self.full_diagonal() && self.negative_diagonal == 0
    }

    /// Whether every diagonal entry is stored and not zero.
    pub fn full_diagonal(&self) -> bool {
        self.missing_diagonal == 0 && self.zero_diagonal == 0
    }
}

impl Pattern {
    /// The largest distance of an entry from the diagonal.
    pub fn bandwidth(&self) -> usize {
        let of_row = |row: usize| {
            // Rows are sorted: the outermost entries are the first and the last.
            let columns = &self.columns()[self.range(row)];
            let ends = [columns.first(), columns.last()].into_iter().flatten();
            ends.map(|&column| row.abs_diff(column as usize)).max()
        };
        (0..self.size().rows).filter_map(of_row).max().unwrap_or(0)
    }

    /// For every vertex the smallest one of its connected component in the graph of `A + A^T`.
    #[doc(hidden)]
    pub fn parts(&self) -> Result<Vec<u32>> {
        check_square("connected components", self.size())?;
        let mut parents: Vec<u32> = (0..self.size().rows as u32).collect();
        for row in 0..parents.len() {
            for &column in &self.columns()[self.range(row)] {
                let (a, b) = (root(&mut parents, row as u32), root(&mut parents, column));
                if a != b {
                    parents[a.max(b) as usize] = a.min(b);
                }
            }
        }
        for row in 0..parents.len() {
            parents[row] = root(&mut parents, row as u32);
        }
        Ok(parents)
    }
}

/// The representative of a vertex's component; halves the path on the way.
fn root(parents: &mut [u32], mut vertex: u32) -> u32 {
    while parents[vertex as usize] != vertex {
        let above = parents[parents[vertex as usize] as usize];
        parents[vertex as usize] = above;
        vertex = above;
    }
    vertex
}

impl<T: Scalar> Csr<T> {
    /// Everything that can be said of the matrix in one pass over it.
    ///
    /// ```
    /// use vcycle::{executor::Executor, matrix::Csr};
    /// let facts = Csr::diagonal_matrix(&Executor::cpu(), vec![1.0, -2.0]).facts();
    /// assert!(facts.hermitian && !facts.positive_diagonal());
    /// assert_eq!((facts.negative_diagonal, facts.bandwidth), (1, 0));
    /// ```
    pub fn facts(&self) -> Facts {
        compiled!(any T: fn(&Csr<T>) -> Facts = Csr::find_facts)(self)
    }

    fn find_facts(&self) -> Facts {
        let see = |part: &(dyn Fn(Range<usize>) -> Seen + Sync)| {
            let parts = self.map_pieces(part).into_iter();
            parts.fold(Seen::default(), Seen::join)
        };
        let sizes = &RowSizes::of(self.at_hand());
        let mut seen = see(&|rows| self.see_rows(rows, sizes));
        let size = self.size();
        let square = size.rows == size.cols;
        if square && seen.matched != seen.below {
            seen = seen.join(see(&|rows| self.see_alone(rows, sizes)));
        }
        let [symmetric, hermitian] =
            [seen.not_symmetric, seen.not_hermitian].map(|count| square && count == 0);
        let differs = |apart: f64| apart > 0.0 || seen.unmatched > 0;
        Facts {
            rows: size.rows,
            columns: size.cols,
            nonzeros: self.nonzeros(),
            stored_zeros: seen.zeros,
            non_finite: seen.non_finite,
            complex: T::KIND.is_complex(),
            row_min: seen.row_min.unwrap_or(0),
            row_mean: self.nonzeros() as f64 / size.rows.max(1) as f64,
            row_max: seen.row_max,
            empty_rows: seen.empty_rows,
            symmetric_pattern: square && seen.alone == 0,
            symmetric,
            hermitian,
            asymmetry: seen.apart[1],
            rounded: match hermitian {
                true => differs(seen.apart[1]),
                false => symmetric && differs(seen.apart[0]),
            },
            missing_diagonal: seen.missing_diagonal,
            zero_diagonal: seen.zero_diagonal,
            negative_diagonal: seen.negative_diagonal,
            dominant_rows: seen.dominant as f64 / size.rows.max(1) as f64,
            strongly_dominant_rows: seen.strongly_dominant as f64 / size.rows.max(1) as f64,
            positive_rows: seen.positive as f64 / size.rows.max(1) as f64,
            smallest: seen.smallest.unwrap_or(0.0),
            largest: seen.largest,
            bandwidth: self.pattern.bandwidth(),
            fits_f16: seen.largest <= f64::from(f16::MAX),
            fits_f32: seen.largest <= f64::from(f32::MAX),
            f16_underflows: seen.f16_underflows,
            bytes: self.bytes(),
            on_device: self.executor().is_device(),
            jumps: false,
        }
    }

    /// Of all facts, whether the matrix is symmetric, a complex one Hermitian, and whether its diagonal is positive.
    #[doc(hidden)]
    pub fn symmetric_and_positive(&self) -> Result<[bool; 2]> {
        let find =
            compiled!(any T: fn(&Csr<T>) -> Result<[bool; 2]> = Csr::find_symmetric_and_positive);
        kept(&self.copies.symmetric_and_positive, || find(self)).copied()
    }

    fn find_symmetric_and_positive(&self) -> Result<[bool; 2]> {
        let tolerances = [SYMMETRY_TOLERANCE, CANCELLED];
        if let Some(found) = entries::check_symmetry(self, tolerances)? {
            return Ok(found.map(|row| row.is_none()));
        }
        let facts = self.facts();
        Ok([facts.hermitian, facts.positive_diagonal()])
    }

    fn see_rows(&self, rows: Range<usize>, largest: &RowSizes<'_, T>) -> Seen {
        let size = self.size();
        let arrays = self.at_hand();
        let entries = arrays.offsets[rows.start]..arrays.offsets[rows.end];
        let mut seen = sizes(&arrays.values[entries]);
        for row in rows {
            let (columns, values) = arrays.row(row);
            seen.length(columns.len());
            let (mut diagonal, mut beside, mut positive) = (None, 0.0, 0.0);
            for (place, (&column, &value)) in columns.iter().zip(values).enumerate() {
                let modulus = modulus(value);
                match column as usize == row {
                    true => diagonal = Some((value.to_c64().re, modulus)),
                    false => {
                        beside += modulus;
                        positive += value.to_c64().re.max(0.0);
                    }
                }
                let rounding = || largest.rounding(row, column as usize);
                if size.rows == size.cols && column as usize > row {
                    let opposite = mirrored(&arrays, row, place, column as usize);
                    seen.opposite(value, opposite, rounding);
                } else if column as usize == row {
                    seen.opposite(value, Some(value), rounding);
                }
                seen.below += usize::from((column as usize) <= row);
            }
            if row < size.cols {
                seen.diagonal(diagonal);
            }
            let diagonal = diagonal.map_or(0.0, |(_, modulus)| modulus);
            seen.dominant += usize::from(diagonal * (1.0 + ROUNDING) >= beside);
            seen.positive += usize::from(positive > NOTABLE * diagonal);
            seen.strongly_dominant += usize::from(STRONG * diagonal >= beside);
        }
        seen
    }

    /// The entries below the diagonal that have none at the mirrored position.
    fn see_alone(&self, rows: Range<usize>, sizes: &RowSizes<'_, T>) -> Seen {
        let mut seen = Seen::default();
        let arrays = self.at_hand();
        for row in rows {
            let (columns, values) = arrays.row(row);
            for (place, (&column, &value)) in columns.iter().zip(values).enumerate() {
                let below = (column as usize) < row;
                if below && mirrored(&arrays, row, place, column as usize).is_none() {
                    seen.opposite(value, None, || sizes.rounding(row, column as usize));
                }
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, of_dense, random};
    use super::*;

    /// The facts of a small matrix, given row after row; zeros are not stored.
    fn facts(values: &[f64]) -> Facts {
        of_dense(values, |value| value != 0.0).facts()
    }

    #[test]
    fn facts_of_a_grid() {
        let a = grid::<f64>(&Executor::cpu(), 10);
        let facts = a.facts();
        assert_eq!(
            (facts.rows, facts.nonzeros, facts.bandwidth),
            (100, 460, 10)
        );
        assert_eq!((facts.row_min, facts.row_max, facts.row_mean), (3, 5, 4.6));
        assert_eq!(facts.dominant_rows, 1.0);
        assert!(facts.strongly_dominant_rows < 1.0);
        assert_eq!((facts.smallest, facts.largest), (1.0, 4.0));
        assert!(facts.symmetric_pattern && facts.symmetric && facts.hermitian);
        assert_eq!(a.pattern().parts().unwrap(), [0; 100]);
    }

    #[test]
    fn symmetry_is_found_and_refused() {
        assert!(facts(&[2.0, 0.0, 1.0, 0.0, 2.0, 5.0, 1.0, 5.0, 2.0]).symmetric);
        let values = facts(&[1.0, 2.0, 3.0, 4.0]);
        assert!(values.symmetric_pattern && !values.symmetric);
        for pattern in [
            [1.0, 2.0, 0.0, 4.0],
            [1.0, 0.0, 2.0, 4.0],
            [0.0, 0.0, 2.0, 0.0],
        ] {
            let facts = facts(&pattern);
            assert!(!facts.symmetric_pattern && !facts.symmetric && facts.asymmetry == 2.0);
        }
    }

    #[test]
    fn hermitian_is_not_symmetric() {
        let a = random::<c64>(&Executor::reference(), 12, 12, 0.3, 1);
        let both = |b: Csr<c64>| a.add(1.0.into(), 1.0.into(), &b).unwrap().facts();
        let hermitian = both(a.adjoint().unwrap());
        assert!(hermitian.hermitian && !hermitian.symmetric && hermitian.symmetric_pattern);
        let symmetric = both(a.transpose().unwrap());
        assert!(symmetric.symmetric && !symmetric.hermitian);
        let neither = a.facts();
        assert!(!neither.symmetric_pattern && neither.asymmetry > 0.1);
    }

    #[test]
    fn rounding_is_forgiven_and_a_perturbation_measured() {
        let mut a = grid::<f64>(&Executor::reference(), 4);
        a.values_mut()[1] += 1e-14;
        assert!(a.facts().symmetric);
        a.values_mut()[1] += 0.5;
        let facts = a.facts();
        assert!(facts.symmetric_pattern && !facts.symmetric);
        assert!((facts.asymmetry - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_is_left_of_larger_numbers_is_no_asymmetry() {
        // A stiff element beside soft ones.
        let left_over = |size: f64| {
            let (stiff, soft) = (1e6, 1.0);
            let values = [stiff, size, 0.0, -size, soft, 0.5, 0.0, 0.5, soft];
            facts(&values).symmetric
        };
        assert!(left_over(1e-10));
        assert!(!left_over(1e-8));
        assert!(facts(&[1.0, 1e-14, 0.0, 1.0]).symmetric);
        assert!(!facts(&[1.0, 1e-14, 0.0, 0.0]).symmetric);
    }

    #[test]
    fn rows_and_values_are_counted() {
        let facts = facts(&[4.0, -1.0, 1e-9, 0.0, -3.0, 9.0, 1e6, 0.0, 0.0]);
        assert_eq!((facts.row_min, facts.row_max, facts.nonzeros), (1, 3, 6));
        assert_eq!((facts.missing_diagonal, facts.negative_diagonal), (1, 1));
        assert_eq!((facts.smallest, facts.largest), (1e-9, 1e6));
        assert!(!facts.fits_f16 && facts.fits_f32);
        assert_eq!((facts.f16_underflows, facts.bandwidth), (1, 2));
        assert!((facts.dominant_rows - 1.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn zeros_gaps_and_infinities_are_counted() {
        let host = Executor::reference();
        let mut a = random::<f64>(&host, 10, 4, 0.9, 1);
        let values = a.values_mut();
        values[0] = 0.0;
        values[1] = f64::INFINITY;
        let facts = a.facts();
        assert_eq!((facts.stored_zeros, facts.non_finite), (1, 1));
        assert_eq!((facts.empty_rows, facts.symmetric), (2, false));
        assert!(facts.largest.is_finite());
        let empty = Csr::<f64>::identity(&host, 0);
        assert!(empty.pattern().parts().unwrap().is_empty());
        assert_eq!((empty.facts().smallest, empty.facts().row_min), (0.0, 0));
    }
}
