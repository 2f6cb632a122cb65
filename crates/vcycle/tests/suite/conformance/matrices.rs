//! Matrices and vectors the suite runs on.

use vcycle::executor::Executor;
use vcycle::linop::Size;
use vcycle::matrix::{Csr, Duplicates};
use vcycle::scalar::{Field, Scalar, c64};
use vcycle::vector::Vector;

/// A small deterministic generator (Marsaglia's xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// A multiple of a quarter between -2 and 2, exact in every precision.
    pub fn quarter(&mut self) -> f64 {
        (self.below(17) as f64 - 8.0) / 4.0
    }

    /// A storable value with such parts.
    pub fn value<T: Scalar>(&mut self) -> T {
        let (re, im) = (self.quarter(), self.quarter());
        T::from_c64(c64::new(re, im))
    }
}

/// A name, a size and the lengths of rows.
pub type Shape = (&'static str, Size, Vec<usize>);

/// Sizes and row lengths that tend to break kernels.
pub fn shapes() -> Vec<Shape> {
    let mut random = Random(7);
    let mut lengths = |rows: usize, limit: usize| -> Vec<usize> {
        (0..rows).map(|_| random.below(limit)).collect()
    };
    let mut one_long_row = lengths(300, 4);
    one_long_row[17] = 40_000;
    vec![
        ("0 x 0", Size::new(0, 0), vec![]),
        ("1 x 1", Size::new(1, 1), vec![1]),
        ("empty rows", Size::new(5, 4), vec![0, 3, 0, 0, 1]),
        ("no entries", Size::new(3, 3), vec![0, 0, 0]),
        ("single column", Size::new(40, 1), vec![1; 40]),
        ("single row", Size::new(1, 500), vec![377]),
        ("wide", Size::new(33, 700), lengths(33, 40)),
        (
            "many short rows",
            Size::new(30_000, 100),
            lengths(30_000, 9),
        ),
        ("stencil-like", Size::new(3_000, 3_000), vec![27; 3_000]),
        ("one very long row", Size::new(300, 50_000), one_long_row),
    ]
}

/// A matrix of the given row lengths with random positions and values.
pub fn matrix<T: Scalar>(executor: &Executor, size: Size, lengths: &[usize]) -> Csr<T> {
    let mut random = Random(42);
    let mut offsets = vec![0];
    let mut columns: Vec<u32> = Vec::new();
    for &length in lengths {
        let step = size.cols / length.max(1);
        columns.extend((0..length).map(|k| (k * step + random.below(step)) as u32));
        offsets.push(columns.len());
    }
    let values = columns.iter().map(|_| random.value()).collect();
    Csr::from_arrays(executor, size, offsets, columns, values, Duplicates::Refuse).unwrap()
}

/// A vector of random quarters.
pub fn vector<T: Scalar>(executor: &Executor, rows: usize, cols: usize, seed: u64) -> Vector<T> {
    let mut random = Random(seed);
    let values = (0..rows * cols).map(|_| random.value()).collect();
    Vector::from_rows(executor, cols, values).unwrap()
}

/// `-u''` plus a shift on a line, which every solver can solve.
pub fn tridiagonal<T: Scalar>(executor: &Executor, n: usize, lower: f64, upper: f64) -> Csr<T> {
    let value = |v: f64| T::store(T::Arith::from_f64(v));
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        for (column, entry) in [(row.wrapping_sub(1), lower), (row, 2.5), (row + 1, upper)] {
            if column < n {
                columns.push(column as u32);
                values.push(value(entry));
            }
        }
        offsets.push(columns.len());
    }
    let size = Size::square(n);
    Csr::from_arrays(executor, size, offsets, columns, values, Duplicates::Refuse).unwrap()
}
