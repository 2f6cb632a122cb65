//! Dense matrices.

use super::csr::balance;
use super::rowwise::{RowKernel, Rowwise, Shape, rowwise_operator};
use crate::cpu::formats::add_dense;
use crate::linop::LinOp;
use crate::operations::rows::Part;
use crate::prelude::*;
use crate::reference::rows::{Column, Sum};

/// A dense matrix, stored row after row.
///
/// **Choose it** for small matrices, coarsest ones say, or when most entries are not zero.
#[derive(Clone, Debug)]
pub struct Dense<T> {
    size: Size,
    pieces: Vec<usize>,
    values: Buffer<T>,
}

rowwise_operator!(Dense);

impl<T: Scalar> Dense<T> {
    /// All zeros.
    pub fn zeros(executor: &Executor, size: Size) -> Result<Self> {
        let values = Buffer::filled(executor, size.rows.saturating_mul(size.cols), T::default())?;
        Self::from_buffer(size, values)
    }

    /// A matrix from its entries, row after row.
    ///
    /// # Errors
    /// When their number is not that of the matrix.
    pub fn from_rows(executor: &Executor, size: Size, values: Vec<T>) -> Result<Self> {
        if size.rows.checked_mul(size.cols) != Some(values.len()) {
            let reason = format!("{} values for a matrix of {size}", values.len());
            return Err(Error::structure("dense", reason));
        }
        Self::from_buffer(size, Buffer::from_vec(executor, values))
    }

    /// A matrix with these entries, row after row, as many as `size` has.
    ///
    /// # Errors
    /// For more columns than 32-bit indices can number.
    #[doc(hidden)]
    pub fn from_buffer(size: Size, values: Buffer<T>) -> Result<Self> {
        if size.cols > u32::MAX as usize {
            let reason = format!("{} columns do not fit 32-bit indices", size.cols);
            return Err(Error::structure("dense", reason));
        }
        Ok(Self {
            size,
            pieces: balance(size.rows, |row| row * (size.cols + 1)),
            values,
        })
    }

    /// The matrix of an operator: what it makes of the columns of the identity.
    pub fn of_operator(a: &dyn LinOp<T>, ws: &Workspace) -> Result<Self> {
        let size = a.size();
        let unit = Vector::identity(a.executor(), size.cols)?;
        let mut columns = Vector::zeros(a.executor(), size.rows, size.cols)?;
        a.apply(&unit, &mut columns, ws)?;
        Self::from_buffer(size, columns.into_buffer())
    }

    /// The same matrix, from CSR.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        let mut dense = Self::zeros(a.executor(), a.size())?;
        let cols = a.size().cols.max(1);
        for (row, target) in dense.values_mut().chunks_exact_mut(cols).enumerate() {
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                target[column as usize] = value;
            }
        }
        Ok(dense)
    }

    /// The entries, row after row.
    pub fn values(&self) -> &[T] {
        self.values.on_host()
    }

    /// The entries, row after row, to be changed.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.values.host_mut().expect("the device still answers")
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[T] {
        &self.values()[row * self.size.cols..][..self.size.cols]
    }

    /// One entry.
    pub fn get(&self, row: usize, column: usize) -> T {
        self.row(row)[column]
    }
}

impl<T: Scalar> Rowwise<T> for Dense<T> {
    fn shape(&self) -> Shape<'_> {
        Shape {
            name: "dense product",
            size: self.size,
            executor: self.values.executor(),
            nonzeros: self.values.len(),
            bytes: self.values.bytes(),
            pieces: &self.pieces,
            rows_together: 1,
            keeps_zeros: false,
        }
    }

    fn take_row(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<T>) {
        columns.extend(0..self.size.cols as u32);
        values.extend_from_slice(self.row(row));
    }

    fn parts(&self) -> Result<Vec<Part<'_, T>>> {
        let (size, values) = (self.size, &self.values);
        Ok(vec![Part::Dense { size, values }])
    }
}

impl<T: Scalar> RowKernel<T> for Dense<T> {
    fn add<X: Scalar, Y: Scalar>(&self, first: usize, sums: &mut [Sum<T, X, Y>], x: Column<'_, X>)
    where
        T: Mixes<X, Y>,
    {
        add_dense::<T, X, Y>((self.values(), self.size.cols), first, sums, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_numbers_of_values_are_refused() {
        let host = Executor::reference();
        assert_refused!(
            Dense::from_rows(&host, Size::square(2), vec![1.0; 3]),
            InvalidStructure { .. }
        );
        assert_refused!(
            Dense::<f64>::zeros(&host, Size::square(usize::MAX / 2)),
            OutOfMemory { .. }
        );
    }
}
