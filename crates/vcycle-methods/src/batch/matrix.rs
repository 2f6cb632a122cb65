//! The matrices of a batch.

use crate::error::{Error, Result};
use crate::scalar::Field;

/// Square matrices of one size.
pub trait BatchMatrix<A>: Send + Sync {
    /// How many there are.
    fn systems(&self) -> usize;

    /// Rows of each.
    fn rows(&self) -> usize;

    /// `y = A x` with one of them.
    fn multiply(&self, system: usize, x: &[A], y: &mut [A]);

    /// `visit(row, column, value)` for the stored entries of one of them, row by row.
    fn visit(&self, system: usize, visit: &mut dyn FnMut(usize, usize, A));

    /// Row offsets and sorted columns of the entries that may be stored.
    fn structure(&self) -> (Vec<usize>, Vec<u32>);
}

/// Fails unless these are row offsets and columns of square matrices that have so many values together.
pub(super) fn check_structure(
    rows: usize,
    offsets: &[usize],
    columns: &[u32],
    values: usize,
) -> Result<()> {
    let entries = columns.len();
    let wrong = |reason: String| {
        let format = "batch of csr";
        Err(Error::InvalidStructure { format, reason })
    };
    if offsets.len() != rows + 1 || offsets[0] != 0 || offsets[rows] != entries {
        return wrong(format!(
            "{rows} rows need {} offsets from 0 to {entries}",
            rows + 1
        ));
    }
    for row in 0..rows {
        let Some(of_row) = columns.get(offsets[row]..offsets[row + 1]) else {
            return wrong(format!("the offsets of row {row} decrease"));
        };
        let sorted = of_row.windows(2).all(|pair| pair[0] < pair[1]);
        if !sorted || of_row.last().is_some_and(|&last| last as usize >= rows) {
            return wrong(format!(
                "columns of row {row} must increase and be less than {rows}"
            ));
        }
    }
    if entries == 0 || !values.is_multiple_of(entries) {
        return wrong(format!(
            "{values} values are not those of matrices of {entries} entries"
        ));
    }
    Ok(())
}

/// Fails unless dense matrices of so many rows have so many values together.
pub(super) fn check_dense(rows: usize, values: usize) -> Result<()> {
    match rows > 0 && values.is_multiple_of(rows * rows) {
        true => Ok(()),
        false => Err(Error::InvalidStructure {
            format: "batch of dense matrices",
            reason: format!("{values} values are not those of matrices of {rows} rows"),
        }),
    }
}

/// Sparse matrices of one pattern, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchCsr<A> {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    /// Those of one matrix after those of the other.
    values: Vec<A>,
}

impl<A: Field> BatchCsr<A> {
    /// Takes over row offsets and columns, which increase within a row, and the values of all matrices, one after
    /// the other.
    ///
    /// # Errors
    /// For arrays that are not those of square matrices.
    pub fn new(
        rows: usize,
        offsets: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<A>,
    ) -> Result<Self> {
        check_structure(rows, &offsets, &columns, values.len())?;
        Ok(Self {
            offsets,
            columns,
            values,
        })
    }

    fn values_of(&self, system: usize) -> &[A] {
        let entries = self.columns.len();
        &self.values[system * entries..][..entries]
    }
}

impl<A: Field> BatchMatrix<A> for BatchCsr<A> {
    fn systems(&self) -> usize {
        self.values.len() / self.columns.len()
    }

    fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    fn multiply(&self, system: usize, x: &[A], y: &mut [A]) {
        let values = self.values_of(system);
        for (row, y) in y.iter_mut().enumerate() {
            let places = self.offsets[row]..self.offsets[row + 1];
            let terms = self.columns[places.clone()].iter().zip(&values[places]);
            *y = terms.fold(A::zero(), |sum, (&column, &value)| {
                sum + value * x[column as usize]
            });
        }
    }

    fn visit(&self, system: usize, visit: &mut dyn FnMut(usize, usize, A)) {
        let values = self.values_of(system);
        for row in 0..self.rows() {
            for place in self.offsets[row]..self.offsets[row + 1] {
                visit(row, self.columns[place] as usize, values[place]);
            }
        }
    }

    fn structure(&self) -> (Vec<usize>, Vec<u32>) {
        (self.offsets.clone(), self.columns.clone())
    }
}

/// Sparse matrices of one pattern whose rows are padded to one length; columns of a row lie `rows` apart.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchEll<A> {
    rows: usize,
    /// Where a row is shorter, its own column and a zero.
    columns: Vec<u32>,
    values: Vec<A>,
}

impl<A: Field> From<&BatchCsr<A>> for BatchEll<A> {
    fn from(csr: &BatchCsr<A>) -> Self {
        let rows = csr.rows();
        let length = |row: usize| csr.offsets[row + 1] - csr.offsets[row];
        let width = (0..rows).map(length).max().unwrap_or(0);
        let place = |slot: usize| {
            let (at, row) = (slot / rows, slot % rows);
            (at < length(row)).then(|| csr.offsets[row] + at)
        };
        let column = |slot: usize| match place(slot) {
            Some(place) => csr.columns[place],
            None => (slot % rows) as u32,
        };
        let slots = width * rows;
        let values = (0..csr.systems()).flat_map(|system| {
            let of_system = csr.values_of(system);
            (0..slots).map(move |slot| place(slot).map_or(A::zero(), |place| of_system[place]))
        });
        Self {
            rows,
            columns: (0..slots).map(column).collect(),
            values: values.collect(),
        }
    }
}

impl<A: Field> BatchMatrix<A> for BatchEll<A> {
    fn systems(&self) -> usize {
        self.values.len() / self.columns.len().max(1)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn multiply(&self, system: usize, x: &[A], y: &mut [A]) {
        let slots = self.columns.len();
        let values = &self.values[system * slots..][..slots];
        y.fill(A::zero());
        let lines = self.columns.chunks(self.rows).zip(values.chunks(self.rows));
        for (columns, values) in lines {
            for ((y, &column), &value) in y.iter_mut().zip(columns).zip(values) {
                *y += value * x[column as usize];
            }
        }
    }

    fn visit(&self, system: usize, visit: &mut dyn FnMut(usize, usize, A)) {
        let slots = self.columns.len();
        let values = &self.values[system * slots..][..slots];
        for row in 0..self.rows {
            for slot in (row..slots).step_by(self.rows) {
                if !values[slot].is_zero() {
                    visit(row, self.columns[slot] as usize, values[slot]);
                }
            }
        }
    }

    fn structure(&self) -> (Vec<usize>, Vec<u32>) {
        let (mut offsets, mut columns) = (vec![0], Vec::new());
        for row in 0..self.rows {
            let first = columns.len();
            let slots = (row..self.columns.len()).step_by(self.rows);
            columns.extend(slots.map(|slot| self.columns[slot]));
            columns[first..].sort_unstable();
            let mut kept = first;
            for at in first..columns.len() {
                if at == first || columns[at] != columns[kept - 1] {
                    columns[kept] = columns[at];
                    kept += 1;
                }
            }
            columns.truncate(kept);
            offsets.push(kept);
        }
        (offsets, columns)
    }
}

/// Dense matrices, row by row, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchDense<A> {
    rows: usize,
    values: Vec<A>,
}

impl<A: Field> BatchDense<A> {
    /// Takes over the values of all matrices.
    ///
    /// # Errors
    /// For values that are not those of square matrices of so many rows.
    pub fn new(rows: usize, values: Vec<A>) -> Result<Self> {
        check_dense(rows, values.len())?;
        Ok(Self { rows, values })
    }

    fn values_of(&self, system: usize) -> &[A] {
        let entries = self.rows * self.rows;
        &self.values[system * entries..][..entries]
    }
}

impl<A: Field> BatchMatrix<A> for BatchDense<A> {
    fn systems(&self) -> usize {
        self.values.len() / (self.rows * self.rows)
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn multiply(&self, system: usize, x: &[A], y: &mut [A]) {
        for (y, row) in y.iter_mut().zip(self.values_of(system).chunks(self.rows)) {
            let terms = row.iter().zip(x);
            *y = terms.fold(A::zero(), |sum, (&value, &x)| sum + value * x);
        }
    }

    fn visit(&self, system: usize, visit: &mut dyn FnMut(usize, usize, A)) {
        for (place, &value) in self.values_of(system).iter().enumerate() {
            visit(place / self.rows, place % self.rows, value);
        }
    }

    fn structure(&self) -> (Vec<usize>, Vec<u32>) {
        let n = self.rows;
        let offsets = (0..=n).map(|row| row * n).collect();
        (offsets, (0..n * n).map(|at| (at % n) as u32).collect())
    }
}
