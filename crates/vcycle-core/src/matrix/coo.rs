//! Coordinate format (COO): triplets sorted by row.

use std::sync::OnceLock;

use super::Duplicates;
use super::csr::{balance, compress, offsets, zeroed};
use super::rowwise::{RowKernel, Rowwise, Shape, rowwise_operator};
use crate::cpu::formats::CooArrays;
use crate::operations::rows::Part;
use crate::prelude::*;
use crate::reference::rows::{Column, Sum};

/// A matrix as row, column and value of every entry, sorted by row, then by column.
///
/// **Choose it** to assemble a matrix, where most rows are empty, or where a few long rows would unbalance the other
/// formats: a device shares entries evenly among its threads, whatever rows they are of. Otherwise it reads 4 bytes an
/// entry more than [`Csr`].
///
/// ```
/// use vcycle::{executor::Executor, linop::Size, matrix::{Coo, Duplicates}};
/// let a = Coo::from_triplets(
///     &Executor::cpu(), Size::square(2),
///     vec![1, 0], vec![0, 1], vec![2.0, 3.0], Duplicates::Refuse,
/// )?;
/// assert_eq!(a.values(), [3.0, 2.0]);
/// assert_eq!(a.into_csr()?.entry(1, 0), Some(2.0));
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Coo<T> {
    size: Size,
    pieces: Vec<usize>,
    rows: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<T>,
    /// Rows without entries, found when a device first needs them.
    empty: OnceLock<Buffer<u32>>,
}

rowwise_operator!(Coo);

impl<T: Scalar> Coo<T> {
    /// A matrix from triplets in any order; duplicates are summed in the order given.
    pub fn from_triplets(
        executor: &Executor,
        size: Size,
        rows: Vec<u32>,
        columns: Vec<u32>,
        values: Vec<T>,
        duplicates: Duplicates,
    ) -> Result<Self> {
        let (offsets, columns, values) =
            compress(executor, size, rows, columns, values, duplicates)?;
        Self::from_compressed(executor, size, &offsets, columns, values)
    }

    /// The same matrix, from CSR.
    ///
    /// # Errors
    /// With more rows than 32-bit indices can count.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        let (columns, values) = (a.columns().to_vec(), a.values().to_vec());
        Self::from_compressed(a.executor(), a.size(), a.offsets(), columns, values)
    }

    fn from_compressed(
        executor: &Executor,
        size: Size,
        offsets: &[usize],
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self> {
        let mut rows: Vec<u32> = zeroed(executor, columns.len())?;
        for (row, range) in offsets.windows(2).enumerate() {
            rows[range[0]..range[1]].fill(row as u32);
        }
        Self::from_canonical(executor, size, rows, columns, values)
    }

    /// Takes over triplets known to be in range, sorted and without duplicates.
    pub(super) fn from_canonical(
        executor: &Executor,
        size: Size,
        rows: Vec<u32>,
        columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self> {
        if size.rows > u32::MAX as usize {
            let reason = format!("{} rows do not fit 32-bit indices", size.rows);
            return Err(Error::structure("coo", reason));
        }
        let before = |row: usize| rows.partition_point(|&r| (r as usize) < row) + row;
        Ok(Self {
            size,
            pieces: balance(size.rows, before),
            rows: Buffer::from_vec(executor, rows),
            columns: Buffer::from_vec(executor, columns),
            values: Buffer::from_vec(executor, values),
            empty: OnceLock::new(),
        })
    }

    /// The same matrix in compressed sparse rows; columns and values are taken over.
    pub fn into_csr(self) -> Result<Csr<T>> {
        let executor = self.executor().clone();
        let offsets = offsets(&executor, self.size.rows, self.rows())?;
        let (columns, values) = (self.columns.into_vec(), self.values.into_vec());
        Ok(Csr::from_canonical(
            &executor, self.size, offsets, columns, values,
        ))
    }

    /// The row of every entry.
    pub fn rows(&self) -> &[u32] {
        self.rows.on_host()
    }

    /// The column of every entry.
    pub fn columns(&self) -> &[u32] {
        self.columns.on_host()
    }

    /// The value of every entry.
    pub fn values(&self) -> &[T] {
        self.values.on_host()
    }

    /// The arrays, for devices, with the rows that have no entries if those count.
    pub(super) fn part<'a>(&'a self, empty: Option<&'a Buffer<u32>>) -> Part<'a, T> {
        Part::Triplets {
            rows: &self.rows,
            columns: &self.columns,
            values: &self.values,
            empty,
        }
    }

    fn empty_rows(&self) -> Result<Vec<u32>> {
        let mut empty = Vec::new();
        let mut next = 0;
        for &row in self.rows.host()? {
            empty.extend(next..row);
            next = row + 1;
        }
        empty.extend(next..self.size.rows as u32);
        Ok(empty)
    }
}

impl<T: Scalar> Rowwise<T> for Coo<T> {
    fn shape(&self) -> Shape<'_> {
        Shape {
            name: "coo product",
            size: self.size,
            executor: self.values.executor(),
            nonzeros: self.values.len(),
            bytes: self.rows.bytes() + self.columns.bytes() + self.values.bytes(),
            pieces: &self.pieces,
            rows_together: 1,
            keeps_zeros: true,
        }
    }

    fn take_row(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<T>) {
        let rows = self.rows();
        let start = rows.partition_point(|&r| (r as usize) < row);
        let count = rows[start..].iter().take_while(|&&r| r as usize == row);
        let range = start..start + count.count();
        columns.extend_from_slice(&self.columns()[range.clone()]);
        values.extend_from_slice(&self.values()[range]);
    }

    fn parts(&self) -> Result<Vec<Part<'_, T>>> {
        let find = || Ok(Buffer::from_vec(self.executor(), self.empty_rows()?));
        Ok(vec![self.part(Some(kept(&self.empty, find)?))])
    }
}

impl<T: Scalar> RowKernel<T> for Coo<T> {
    fn add<X: Scalar, Y: Scalar>(&self, first: usize, sums: &mut [Sum<T, X, Y>], x: Column<'_, X>)
    where
        T: Mixes<X, Y>,
    {
        let (rows, columns, values) = (self.rows(), self.columns(), self.values());
        let a = CooArrays {
            rows,
            columns,
            values,
        };
        a.add::<X, Y>(first, sums, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_number_of_rows_is_a_typed_error() {
        let size = Size::new(usize::MAX, 1);
        let host = Executor::reference();
        let empty = (vec![], vec![], Vec::<f64>::new());
        let result = Coo::from_triplets(&host, size, empty.0, empty.1, empty.2, Duplicates::Refuse);
        assert_refused!(result, OutOfMemory { .. });
    }
}
