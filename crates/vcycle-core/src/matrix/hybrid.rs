//! Hybrid format: the regular part of a matrix in ELL, the rest in COO.

use super::csr::balance;
use super::rowwise::{RowKernel, Rowwise, Shape, rowwise_operator};
use super::{Coo, Ell};
use crate::operations::rows::Part;
use crate::prelude::*;
use crate::reference::rows::{Column, Sum};

/// The first entries of every row as [`Ell`], what is left of longer rows as [`Coo`]
/// (Bell and Garland 2009).
///
/// **Choose it** when most rows are short and alike but some are much longer.
#[derive(Clone, Debug)]
pub struct Hybrid<T> {
    ell: Ell<T>,
    coo: Coo<T>,
    pieces: Vec<usize>,
}

rowwise_operator!(Hybrid);

/// How many entries of a row belong to the ELL part, so that the whole matrix is smallest: for rows between these offsets and values of
/// so many bytes.
pub(super) fn smallest_width(offsets: &[usize], value_bytes: usize) -> usize {
    quantile(offsets, storage_quantile(value_bytes))
}

/// One more slot in every row costs `value + index` bytes a row and saves `value + 2 index` for
/// each row that is longer; it pays as long as fewer than this part of the rows fit already.
fn storage_quantile(value_bytes: usize) -> f64 {
    let index_bytes = size_of::<u32>();
    index_bytes as f64 / (value_bytes + 2 * index_bytes) as f64
}

/// The smallest length that more than `part` of the rows do not exceed.
fn quantile(offsets: &[usize], part: f64) -> usize {
    let mut lengths: Vec<usize> = offsets.windows(2).map(|row| row[1] - row[0]).collect();
    let Some(last) = lengths.len().checked_sub(1) else {
        return 0;
    };
    let place = (part * lengths.len() as f64) as usize;
    *lengths.select_nth_unstable(place.min(last)).1
}

impl<T: Scalar> Hybrid<T> {
    /// The same matrix, from CSR. As many entries of a row are in the regular part as make the whole matrix smallest.
    ///
    /// # Errors
    /// With more rows than 32-bit indices can count.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        Self::with_width(a, smallest_width(a.offsets(), size_of::<T>()))
    }

    /// The first `width` entries of a row in the regular part.
    fn with_width(a: &Csr<T>, width: usize) -> Result<Self> {
        Ok(Self {
            ell: Ell::from_row_starts(a, width)?,
            coo: row_ends(a, width)?,
            pieces: balance(a.size().rows, |row| a.offsets()[row] + row),
        })
    }

    /// The regular part.
    pub fn ell(&self) -> &Ell<T> {
        &self.ell
    }

    /// The rest.
    pub fn coo(&self) -> &Coo<T> {
        &self.coo
    }
}

/// What is left of the rows beyond their first `width` entries.
fn row_ends<T: Scalar>(a: &Csr<T>, width: usize) -> Result<Coo<T>> {
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for row in 0..a.size().rows {
        let (row_columns, row_values) = a.row(row);
        let start = width.min(row_columns.len());
        columns.extend_from_slice(&row_columns[start..]);
        values.extend_from_slice(&row_values[start..]);
        rows.resize(columns.len(), row as u32);
    }
    Coo::from_canonical(a.executor(), a.size(), rows, columns, values)
}

impl<T: Scalar> Rowwise<T> for Hybrid<T> {
    fn shape(&self) -> Shape<'_> {
        let (ell, coo) = (self.ell.slots.shape(), self.coo.shape());
        Shape {
            name: "hybrid product",
            nonzeros: ell.nonzeros + coo.nonzeros,
            bytes: ell.bytes + coo.bytes,
            pieces: &self.pieces,
            ..ell
        }
    }

    fn take_row(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<T>) {
        self.ell.slots.take_row(row, columns, values);
        self.coo.take_row(row, columns, values);
    }

    fn parts(&self) -> Result<Vec<Part<'_, T>>> {
        let mut parts = self.ell.slots.parts()?;
        // Rows that have nothing here are finished by the regular part.
        parts.push(self.coo.part(None));
        Ok(parts)
    }
}

impl<T: Scalar> RowKernel<T> for Hybrid<T> {
    fn add<X: Scalar, Y: Scalar>(&self, first: usize, sums: &mut [Sum<T, X, Y>], x: Column<'_, X>)
    where
        T: Mixes<X, Y>,
    {
        self.ell.slots.add::<X, Y>(first, sums, x);
        self.coo.add::<X, Y>(first, sums, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Duplicates;
    use crate::matrix::csr::testing::of_rows;

    /// Rows of 0, 1, ..., `count` - 1 entries.
    fn staircase(count: usize) -> Csr<f64> {
        let (host, size) = (Executor::reference(), Size::square(count));
        of_rows(&host, size, Duplicates::Refuse, |row| {
            (0..row).map(|column| (column, 1.0)).collect()
        })
    }

    #[test]
    fn no_width_stores_less_than_the_minimal_one() {
        let a = staircase(21);
        let minimal = Hybrid::from_csr(&a).unwrap();
        assert_eq!(minimal.ell().width(), 5);
        for width in 0..=21 {
            let other = Hybrid::with_width(&a, width).unwrap();
            assert!(minimal.bytes() <= other.bytes());
        }
    }

    #[test]
    fn quantiles_count_rows() {
        let a = staircase(10);
        let width = |part| quantile(a.offsets(), part);
        assert_eq!([0.0, 0.8, 1.0].map(width), [0, 8, 9]);
    }
}
