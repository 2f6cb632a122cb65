//! ELL format: all rows are padded to the same length.

use std::borrow::Cow;

use super::Csr;
use super::csr::balance;
use super::rowwise::{self, Rowwise, padded, rowwise_operator};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::linop::{Footprint, LinOp, Size, Transpose};
use crate::operations::rows::Part;
use crate::reference::ell::EllArrays;
use crate::reference::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};
use crate::workspace::Workspace;
use crate::{cpu, reference};

/// A matrix whose rows are all padded to the length of the longest, stored column-major: the
/// first entries of all rows, then the second entries, and so on (ELLPACK).
///
/// **Choose it** when the rows are of nearly equal length, as those of stencils: no row offsets
/// are read and neighbouring rows are worked on together.
///
/// ```
/// use vcycle::{executor::Executor, matrix::{Csr, Ell}};
/// let a = Csr::diagonal_matrix(&Executor::cpu(), vec![1.0, 2.0]);
/// let ell = Ell::from_csr(&a)?;
/// assert_eq!((ell.width(), ell.to_csr().values()), (1, a.values()));
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ell<T> {
    size: Size,
    width: usize,
    nonzeros: usize,
    pieces: Vec<usize>,
    columns: Buffer<u32>,
    values: Buffer<T>,
}

rowwise_operator!(Ell);

impl<T: Scalar> Ell<T> {
    /// The same matrix, from CSR.
    ///
    /// # Errors
    /// [`TooMuchPadding`](crate::Error::TooMuchPadding), before anything is allocated, when a few
    /// long rows would make all others long.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        let width = longest_row(a.offsets());
        Self::from_row_starts(a, width)
    }

    /// The first `width` entries of every row; those beyond are left out.
    pub(super) fn from_row_starts(a: &Csr<T>, width: usize) -> Result<Self> {
        let size = a.size();
        let slots = size.rows.saturating_mul(width);
        let (mut columns, mut values) = padded::<T>("ell", a.executor(), slots, a.nonzeros())?;
        let mut nonzeros = 0;
        for row in 0..size.rows {
            let places = (row..slots).step_by(size.rows);
            nonzeros += fill_row(a, row, places, columns.host_mut()?, values.host_mut()?);
        }
        Ok(Self {
            size,
            width,
            nonzeros,
            pieces: balance(size.rows, |row| row * (width + 1)),
            columns,
            values,
        })
    }

    /// Slots in every row.
    pub fn width(&self) -> usize {
        self.width
    }

    fn host_arrays(&self) -> EllArrays<'_, T> {
        self.arrays().expect("matrix on a host executor")
    }

    /// The columns and values of one row's entries.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = (usize, T)> {
        self.host_arrays().row(row)
    }

    /// The arrays, for kernels of host executors.
    pub(super) fn arrays(&self) -> Result<EllArrays<'_, T>> {
        Ok(EllArrays {
            stride: self.size.rows,
            columns: self.columns.host()?,
            values: self.values.host()?,
        })
    }
}

/// The number of entries of the longest row.
pub(super) fn longest_row(offsets: &[usize]) -> usize {
    let lengths = offsets.windows(2).map(|row| row[1] - row[0]);
    lengths.max().unwrap_or(0)
}

/// Writes a row of `a` to its `places`, as far as they go; returns how many were written.
pub(super) fn fill_row<T: Scalar>(
    a: &Csr<T>,
    row: usize,
    places: impl Iterator<Item = usize>,
    columns: &mut [u32],
    values: &mut [T],
) -> usize {
    let (row_columns, row_values) = a.row(row);
    let entries = row_columns.iter().zip(row_values).zip(places);
    entries
        .map(|((&column, &value), place)| {
            columns[place] = column;
            values[place] = value;
        })
        .count()
}

impl<T: Scalar> Rowwise for Ell<T> {
    type Value = T;
    const NAME: &'static str = "ell product";

    fn size(&self) -> Size {
        self.size
    }

    fn executor(&self) -> &Executor {
        self.values.executor()
    }

    fn nonzeros(&self) -> usize {
        self.nonzeros
    }

    fn bytes(&self) -> usize {
        self.columns.bytes() + self.values.bytes()
    }

    fn entries(&self) -> impl Iterator<Item = (usize, usize, T)> {
        let entry = |row| move |(column, value)| (row, column, value);
        (0..self.size.rows).flat_map(move |row| self.row(row).map(entry(row)))
    }

    fn pieces(&self) -> &[usize] {
        &self.pieces
    }

    fn parts(&self) -> Result<Vec<Part<'_, T>>> {
        Ok(vec![Part::Slots {
            size: self.size,
            slice_rows: self.size.rows,
            width: self.width,
            offsets: None,
            columns: &self.columns,
            values: &self.values,
        }])
    }

    fn add<X: Scalar, Y: Scalar>(&self, first: usize, sums: &mut [Sum<T, X, Y>], x: Column<'_, X>)
    where
        T: Mixes<X, Y>,
    {
        let a = self.host_arrays();
        match self.executor() {
            Executor::Cpu(_) => cpu::ell::add::<T, X, Y>(a, first, sums, x),
            _ => reference::ell::add::<T, X, Y>(a, first, sums, x),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn a_full_row_among_a_million_is_refused() {
        let rows = 1_000_000;
        let mut offsets: Vec<usize> = (0..rows).collect();
        offsets.push(2 * rows - 1);
        let columns = (0..rows as u32 - 1).chain(0..rows as u32).collect();
        let values = vec![1.0; 2 * rows - 1];
        let size = Size::square(rows);
        let a = Csr::from_canonical(&Executor::cpu(), size, offsets, columns, values);
        assert!(matches!(
            Ell::from_csr(&a),
            Err(Error::TooMuchPadding { slots, .. }) if slots == rows * rows
        ));
    }

    #[test]
    fn padding_never_reads_the_vector() {
        for executor in [Executor::reference(), Executor::cpu()] {
            let columns = vec![0, 1, 2];
            let a = Csr::from_canonical(
                &executor,
                Size::new(2, 3),
                vec![0, 2, 3],
                columns,
                vec![1.0; 3],
            );
            let x = Vector::from_column(&executor, vec![1.0, f64::NAN, f64::INFINITY]);
            let mut y = Vector::<f64>::zeros(&executor, 2, 1).unwrap();
            let ell = Ell::from_csr(&a).unwrap();
            ell.apply(&x, &mut y, &Workspace::new()).unwrap();
            assert!(y.to_vec()[0].is_nan());
            assert_eq!(y.to_vec()[1], f64::INFINITY);
        }
    }
}
