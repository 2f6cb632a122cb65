//! Rows and columns.

/// The size of a matrix, an operator or a block of vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Size {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
}

impl Size {
    /// `rows` by `cols`.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols }
    }

    /// `n` by `n`.
    pub fn square(n: usize) -> Self {
        Self::new(n, n)
    }

    /// Rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self::new(self.cols, self.rows)
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.rows, self.cols)
    }
}
