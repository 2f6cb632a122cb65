//! What can be said of a matrix before anything is solved.

use std::ops::Range;

use serde::Serialize;

use super::norms::modulus;
use super::{Csr, Pattern};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// How far a square matrix is from its transposes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Symmetry {
    /// Every entry has one at the mirrored position.
    pub structural: bool,
    /// `A = A^T`, exactly.
    pub symmetric: bool,
    /// `A = A^H`, exactly. For real matrices this is being symmetric.
    pub hermitian: bool,
    /// The largest absolute value of an entry of `A - A^H`.
    pub asymmetry: f64,
    /// The same, relative to the largest absolute value of an entry of `A`.
    pub relative_asymmetry: f64,
}

/// Statistics of the number of entries in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RowLengths {
    /// The shortest row.
    pub min: usize,
    /// The longest row.
    pub max: usize,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// Rows without entries.
    pub empty: usize,
}

/// What [`Csr::facts`] finds out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Facts {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Stored entries.
    pub nonzeros: usize,
    /// Entries that are stored and zero.
    pub stored_zeros: usize,
    /// Entries that are infinite or not a number.
    pub non_finite: usize,
    /// The type values are stored in.
    pub kind: &'static str,
    /// Entries in a row.
    pub row_lengths: RowLengths,
    /// The largest distance of an entry from the diagonal.
    pub bandwidth: usize,
    /// The largest absolute value.
    pub largest: f64,
    /// The smallest absolute value of an entry that is not zero; 0 without any.
    pub smallest: f64,
    /// Diagonal entries that are zero or missing.
    pub zero_diagonals: usize,
    /// The share of rows whose diagonal is no smaller than the sum of the others, in absolute
    /// values; 1 for a matrix without rows.
    pub diagonally_dominant_share: f64,
    /// Symmetry, of square matrices.
    pub symmetry: Option<Symmetry>,
    /// Connected components of the graph of `A + A^T`, of square matrices.
    pub components: Option<usize>,
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

    /// Statistics of the number of entries in a row.
    pub fn row_lengths(&self) -> RowLengths {
        let rows = self.size().rows;
        if rows == 0 {
            return RowLengths::default();
        }
        let lengths = || self.offsets().windows(2).map(|pair| pair[1] - pair[0]);
        let mean = self.nonzeros() as f64 / rows as f64;
        let squares: f64 = lengths().map(|length| (length as f64 - mean).powi(2)).sum();
        RowLengths {
            min: lengths().min().unwrap_or(0),
            max: lengths().max().unwrap_or(0),
            mean,
            deviation: (squares / rows as f64).sqrt(),
            empty: lengths().filter(|&length| length == 0).count(),
        }
    }

    /// The number of connected components of the graph of `A + A^T`.
    ///
    /// # Errors
    /// When the pattern is not square.
    pub fn components(&self) -> Result<usize> {
        check_square(self, "connected components")?;
        let mut parents: Vec<u32> = (0..self.size().rows as u32).collect();
        let mut components = parents.len();
        for row in 0..parents.len() {
            for &column in &self.columns()[self.range(row)] {
                let (a, b) = (root(&mut parents, row as u32), root(&mut parents, column));
                if a != b {
                    parents[a.max(b) as usize] = a.min(b);
                    components -= 1;
                }
            }
        }
        Ok(components)
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

fn check_square(pattern: &Pattern, component: &'static str) -> Result<()> {
    let size = pattern.size();
    if size.rows == size.cols {
        return Ok(());
    }
    Err(Error::NotSquare { component, size })
}

impl<T: Scalar> Csr<T> {
    /// Compares the matrix with its transposes.
    ///
    /// ```
    /// use vcycle::{executor::Executor, matrix::Csr};
    /// let a = Csr::diagonal_matrix(&Executor::cpu(), vec![1.0, 2.0]);
    /// assert!(a.symmetry()?.symmetric);
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the matrix is not square or memory is short.
    pub fn symmetry(&self) -> Result<Symmetry> {
        check_square(&self.pattern, "symmetry")?;
        let one = num_traits::One::one;
        let distance = |other: &Self| -> Result<f64> {
            let difference = self.add(one(), -one(), other)?;
            Ok(difference.norm_max())
        };
        let transpose = self.transpose()?;
        let plain = distance(&transpose)?;
        let conjugate = if T::KIND.is_complex() {
            distance(&self.adjoint()?)?
        } else {
            plain
        };
        let largest = self.norm_max();
        Ok(Symmetry {
            structural: self.pattern.same_as(transpose.pattern()),
            symmetric: plain == 0.0,
            hermitian: conjugate == 0.0,
            asymmetry: conjugate,
            relative_asymmetry: if conjugate == 0.0 {
                0.0
            } else {
                conjugate / largest
            },
        })
    }

    /// Everything that can be said of the matrix in a few passes over it.
    ///
    /// ```
    /// use vcycle::{executor::Executor, matrix::Csr};
    /// let facts = Csr::diagonal_matrix(&Executor::cpu(), vec![1.0, 0.0]).facts()?;
    /// assert_eq!((facts.zero_diagonals, facts.bandwidth, facts.components), (1, 0, Some(2)));
    /// # Ok::<(), vcycle::Error>(())
    /// ```
    ///
    /// # Errors
    /// When memory is short.
    pub fn facts(&self) -> Result<Facts> {
        let counts = self
            .map_pieces(|rows| self.counts(rows))
            .into_iter()
            .fold(Counts::default(), Counts::join);
        let size = self.size();
        let square = size.rows == size.cols;
        Ok(Facts {
            rows: size.rows,
            columns: size.cols,
            nonzeros: self.nonzeros(),
            stored_zeros: counts.zeros,
            non_finite: counts.non_finite,
            kind: T::KIND.name(),
            row_lengths: self.pattern.row_lengths(),
            bandwidth: self.pattern.bandwidth(),
            largest: counts.largest,
            smallest: counts.smallest.unwrap_or(0.0),
            zero_diagonals: counts.zero_diagonals,
            diagonally_dominant_share: match size.rows {
                0 => 1.0,
                rows => counts.dominant as f64 / rows as f64,
            },
            symmetry: square.then(|| self.symmetry()).transpose()?,
            components: square.then(|| self.pattern.components()).transpose()?,
        })
    }

    fn counts(&self, rows: Range<usize>) -> Counts {
        let mut counts = Counts::default();
        let diagonals = self.size().rows.min(self.size().cols);
        for row in rows {
            let (columns, values) = self.row(row);
            let (mut diagonal, mut others) = (0.0, 0.0);
            for (&column, &value) in columns.iter().zip(values) {
                let modulus = modulus(value);
                counts.see(modulus);
                if column as usize == row {
                    diagonal = modulus;
                } else {
                    others += modulus;
                }
            }
            counts.zero_diagonals += usize::from(row < diagonals && diagonal == 0.0);
            counts.dominant += usize::from(diagonal >= others);
        }
        counts
    }
}

/// What is counted entry by entry.
#[derive(Default)]
struct Counts {
    zeros: usize,
    non_finite: usize,
    largest: f64,
    smallest: Option<f64>,
    zero_diagonals: usize,
    dominant: usize,
}

impl Counts {
    fn see(&mut self, modulus: f64) {
        if !modulus.is_finite() {
            self.non_finite += 1;
        } else if modulus == 0.0 {
            self.zeros += 1;
        } else {
            self.largest = self.largest.max(modulus);
            self.smallest = Some(self.smallest.map_or(modulus, |s| s.min(modulus)));
        }
    }

    fn join(self, other: Self) -> Self {
        let smallest = [self.smallest, other.smallest].into_iter().flatten();
        Self {
            zeros: self.zeros + other.zeros,
            non_finite: self.non_finite + other.non_finite,
            largest: self.largest.max(other.largest),
            smallest: smallest.reduce(f64::min),
            zero_diagonals: self.zero_diagonals + other.zero_diagonals,
            dominant: self.dominant + other.dominant,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{grid, random};
    use super::*;
    use crate::executor::Executor;
    use crate::scalar::c64;

    #[test]
    fn facts_of_a_grid() {
        let facts = grid::<f64>(&Executor::cpu(), 10).facts().unwrap();
        assert_eq!(
            (facts.rows, facts.nonzeros, facts.bandwidth),
            (100, 460, 10)
        );
        let lengths = facts.row_lengths;
        assert_eq!((lengths.min, lengths.max, lengths.mean), (3, 5, 4.6));
        assert_eq!(facts.diagonally_dominant_share, 1.0);
        assert_eq!((facts.smallest, facts.largest), (1.0, 4.0));
        assert_eq!(facts.components, Some(1));
        let symmetry = facts.symmetry.unwrap();
        assert!(symmetry.structural && symmetry.symmetric && symmetry.hermitian);
    }

    #[test]
    fn hermitian_is_not_symmetric() {
        let a = random::<c64>(&Executor::reference(), 12, 12, 0.3, 1);
        let symmetry = |a: Csr<c64>| a.symmetry().unwrap();
        let both = |b: Csr<c64>| a.add(1.0.into(), 1.0.into(), &b).unwrap();
        let hermitian = symmetry(both(a.adjoint().unwrap()));
        assert!(hermitian.hermitian && !hermitian.symmetric && hermitian.structural);
        let symmetric = symmetry(both(a.transpose().unwrap()));
        assert!(symmetric.symmetric && !symmetric.hermitian);
        let neither = symmetry(a.clone());
        assert!(!neither.structural && neither.relative_asymmetry > 0.1);
    }

    #[test]
    fn a_perturbation_is_measured() {
        let mut a = grid::<f64>(&Executor::reference(), 4);
        a.values_mut()[1] += 0.5;
        let symmetry = a.symmetry().unwrap();
        assert!(symmetry.structural && !symmetry.symmetric);
        assert_eq!(symmetry.asymmetry, 0.5);
        assert_eq!(symmetry.relative_asymmetry, 0.125);
    }

    #[test]
    fn zeros_gaps_and_infinities_are_counted() {
        let host = Executor::reference();
        let mut a = random::<f64>(&host, 10, 4, 0.9, 1);
        let values = a.values_mut();
        values[0] = 0.0;
        values[1] = f64::INFINITY;
        let facts = a.facts().unwrap();
        assert_eq!((facts.stored_zeros, facts.non_finite), (1, 1));
        assert_eq!((facts.row_lengths.empty, facts.symmetry), (2, None));
        assert!(facts.largest.is_finite());
        let empty = Csr::<f64>::identity(&host, 0).facts().unwrap();
        assert_eq!((empty.components, empty.smallest), (Some(0), 0.0));
    }
}
