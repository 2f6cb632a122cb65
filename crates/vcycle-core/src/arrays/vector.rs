//! Blocks of columns.

use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor};
use crate::scalar::{Field, Scalar};
use crate::size::Size;

/// A block of `cols` columns of `rows` numbers, stored row after row.
///
/// The columns of one row lie side by side, so that a matrix entry read once serves all columns.
///
/// ```
/// use vcycle::{executor::Executor, vector::{Coefficient, Vector}};
/// let cpu = Executor::cpu();
/// let x = Vector::from_column(&cpu, vec![1.0, 2.0]);
/// let mut y = Vector::zeros_like(&x)?;
/// y.axpy(Coefficient::real(3.0), &x)?; // y += 3 x
/// assert_eq!(y.to_vec(), [3.0, 6.0]);
/// assert_eq!(y.norms()?, [45f64.sqrt()]);
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Vector<T> {
    pub(crate) values: Buffer<T>,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}

impl<T: Scalar> Vector<T> {
    /// All zeros.
    pub fn zeros(executor: &Executor, rows: usize, cols: usize) -> Result<Self> {
        Ok(Self {
            values: Buffer::filled(executor, rows * cols, T::default())?,
            rows,
            cols,
        })
    }

    /// All zeros, in the shape and place of another vector.
    pub fn zeros_like<S: Scalar>(other: &Vector<S>) -> Result<Self> {
        Self::zeros(other.executor(), other.rows, other.cols)
    }

    /// Every entry `value`.
    pub fn filled(executor: &Executor, rows: usize, cols: usize, value: f64) -> Result<Self> {
        let value = T::store(T::Arith::from_f64(value));
        Ok(Self {
            values: Buffer::filled(executor, rows * cols, value)?,
            rows,
            cols,
        })
    }

    /// One column from host memory.
    pub fn from_column(executor: &Executor, values: Vec<T>) -> Self {
        Self {
            rows: values.len(),
            cols: 1,
            values: Buffer::from_vec(executor, values),
        }
    }

    /// One column of values that are where the vector is to be.
    #[doc(hidden)]
    pub fn of_buffer(values: Buffer<T>) -> Self {
        Self {
            rows: values.len(),
            cols: 1,
            values,
        }
    }

    /// The values, row after row.
    pub(crate) fn into_buffer(self) -> Buffer<T> {
        self.values
    }

    /// Many columns from host memory, given row after row.
    pub fn from_rows(executor: &Executor, cols: usize, values: Vec<T>) -> Result<Self> {
        Self::from_buffer(cols, Buffer::from_vec(executor, values))
    }

    /// Many columns that are in the memory of an executor already, row after row.
    pub fn from_buffer(cols: usize, values: Buffer<T>) -> Result<Self> {
        if cols == 0 || !values.len().is_multiple_of(cols) {
            let reason = format!("{} values do not fill {cols} columns", values.len());
            return Err(Error::structure("vector", reason));
        }
        Ok(Self {
            rows: values.len() / cols,
            cols,
            values,
        })
    }

    /// The values row after row, wherever they are.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.values
    }

    /// Rows of the vector.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of the vector.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Rows and columns.
    pub fn size(&self) -> Size {
        Size::new(self.rows, self.cols)
    }

    /// Where the vector lives.
    pub fn executor(&self) -> &Executor {
        self.values.executor()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.values.bytes()
    }

    /// The values row after row, copied to the host.
    pub fn to_vec(&self) -> Vec<T> {
        self.values.to_vec()
    }

    /// The same vector on another executor.
    pub fn copy_to(&self, executor: &Executor) -> Result<Self> {
        Ok(Self {
            values: self.values.copy_to(executor)?,
            ..*self
        })
    }

    /// The values row after row, in place, on host executors.
    pub fn host(&self) -> Result<&[T]> {
        self.values.in_place()
    }

    /// The values row after row, to be changed in place, on host executors.
    pub fn host_mut(&mut self) -> Result<&mut [T]> {
        self.values.in_place_mut()
    }

    /// Copies the values row after row to the host.
    pub fn read(&self, values: &mut [T]) -> Result<()> {
        self.values.read(values)
    }

    /// Replaces the values row after row by those of the host.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        self.values.write(values)
    }

    /// The address on a device, for its kernels.
    pub(crate) fn device(&self) -> Result<vcycle_gpu::Address> {
        self.values.device()
    }

    /// The address on a device, for kernels that write there.
    pub(crate) fn device_mut(&mut self) -> Result<vcycle_gpu::Address> {
        self.values.device_mut()
    }
}
