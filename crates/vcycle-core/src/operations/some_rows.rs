//! Products with matrices most of whose rows are empty.

use super::Finish;
use super::halo::{self, OtherColumns};
use crate::arrays::{Coefficient, Vector};
use crate::error::Result;
use crate::executor::{Buffer, Executor};

/// The rows of a matrix that have entries.
#[derive(Debug)]
pub struct SomeRows {
    rows: Buffer<u32>,
    offsets: Buffer<usize>,
    columns: Buffer<u32>,
    values: Buffer<f64>,
}

impl SomeRows {
    /// A matrix of its entries by row and column, both in ascending order.
    pub fn new(executor: &Executor, entries: &[(u32, u32, f64)]) -> Self {
        let (mut rows, mut offsets): (Vec<u32>, Vec<usize>) = (Vec::new(), Vec::new());
        for (place, &(row, _, _)) in entries.iter().enumerate() {
            if rows.last() != Some(&row) {
                rows.push(row);
                offsets.push(place);
            }
        }
        offsets.push(entries.len());
        let columns = entries.iter().map(|entry| entry.1).collect();
        let values = entries.iter().map(|entry| entry.2).collect();
        Self {
            rows: Buffer::from_vec(executor, rows),
            offsets: Buffer::from_vec(executor, offsets),
            columns: Buffer::from_vec(executor, columns),
            values: Buffer::from_vec(executor, values),
        }
    }

    /// `y += sign A x`, each row in one piece.
    ///
    /// # Errors
    /// When a device fails.
    pub fn add(&self, sign: f64, x: &Vector<f64>, y: &mut Vector<f64>) -> Result<()> {
        if y.executor().is_device() {
            let matrix = OtherColumns {
                rows: &self.rows,
                offsets: &self.offsets,
                columns: &self.columns,
                values: &self.values,
            };
            let finish = Finish::Combine {
                alpha: Coefficient::real(sign),
                beta: Coefficient::one(),
                z: None,
            };
            return halo::add(&matrix, x, &finish, y);
        }
        let (cols, offsets) = (x.cols(), self.offsets.host()?);
        let (columns, values) = (self.columns.host()?, self.values.host()?);
        let (x, y) = (x.host()?, y.host_mut()?);
        for (row, range) in self.rows.host()?.iter().zip(offsets.windows(2)) {
            for column in 0..cols {
                let entries = columns[range[0]..range[1]]
                    .iter()
                    .zip(&values[range[0]..range[1]]);
                let product = |(&at, value): (&u32, &f64)| value * x[at as usize * cols + column];
                y[*row as usize * cols + column] += sign * entries.map(product).sum::<f64>();
            }
        }
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let places = self.rows.bytes() + self.offsets.bytes() + self.columns.bytes();
        places + self.values.bytes()
    }
}
