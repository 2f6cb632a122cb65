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

/// How large a matrix is, known before it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of rows.
    pub rows: usize,
    /// Entries stored, those across the diagonal among them.
    pub entries: usize,
    /// Bytes of a value.
    pub value_bytes: usize,
}

impl Extent {
    /// Of a matrix in double precision.
    pub fn real(rows: usize, entries: usize) -> Self {
        let value_bytes = size_of::<f64>();
        Self {
            rows,
            entries,
            value_bytes,
        }
    }

    /// Bytes of the matrix in compressed rows.
    pub fn bytes(self) -> usize {
        let entry = self.value_bytes + size_of::<u32>();
        let entries = self.entries.saturating_mul(entry);
        entries.saturating_add(self.rows.saturating_mul(size_of::<usize>()))
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.rows, self.cols)
    }
}
