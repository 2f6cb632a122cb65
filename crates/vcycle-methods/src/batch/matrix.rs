//! The matrices of a batch, one system of them, and vectors of it.

pub(super) use crate::dense::norm;
use crate::prelude::*;

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
            *y = row_product(&self.columns[places.clone()], &values[places], x);
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
        full_structure(self.rows)
    }
}

/// Row offsets and columns of a dense matrix.
pub(super) fn full_structure(n: usize) -> (Vec<usize>, Vec<u32>) {
    let offsets = (0..=n).map(|row| row * n).collect();
    (offsets, (0..n * n).map(|at| (at % n) as u32).collect())
}

/// The product of a sparse row with a vector.
pub(super) fn row_product<A: Field>(columns: &[u32], values: &[A], x: &[A]) -> A {
    let terms = columns.iter().zip(values);
    terms.fold(A::zero(), |sum, (&column, &value)| {
        sum + value * x[column as usize]
    })
}

/// One system of a batch.
#[derive(Clone, Copy)]
pub(super) struct One<'m, A> {
    pub matrix: &'m dyn BatchMatrix<A>,
    pub system: usize,
}

impl<A: Field> One<'_, A> {
    /// `y = A x`.
    pub fn multiply(&self, x: &[A], y: &mut [A]) {
        self.matrix.multiply(self.system, x, y);
    }

    pub fn visit(&self, mut visit: impl FnMut(usize, usize, A)) {
        self.matrix.visit(self.system, &mut visit);
    }

    /// `r = b - A x`, and its norm.
    pub fn residual(&self, b: &[A], x: &[A], r: &mut [A]) -> f64 {
        self.multiply(x, r);
        for (r, &b) in r.iter_mut().zip(b) {
            *r = b - *r;
        }
        norm(r)
    }

    /// The values of a system in the places of a pattern; zero where it has none.
    pub fn collect(&self, offsets: &[usize], columns: &[u32], values: &mut [A]) {
        values.fill(A::zero());
        self.visit(|row, column, value| {
            let of_row = &columns[offsets[row]..offsets[row + 1]];
            if let Ok(place) = of_row.binary_search(&(column as u32)) {
                values[offsets[row] + place] = value;
            }
        });
    }
}

pub(super) fn dot<A: Field>(x: &[A], y: &[A]) -> A {
    let products = x.iter().zip(y).map(|(&x, &y)| Field::conj(x) * y);
    products.fold(A::zero(), |sum, product| sum + product)
}

/// `y += alpha x`.
pub(super) fn add<A: Field>(alpha: A, x: &[A], y: &mut [A]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += alpha * x;
    }
}
