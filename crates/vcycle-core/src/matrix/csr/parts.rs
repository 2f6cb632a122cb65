//! Extraction of parts of a matrix.

use super::build::build;
use crate::operations::parts;
use crate::prelude::*;

impl<T: Scalar> Csr<T> {
    /// The entries for which `keep(row, column, value)` holds.
    pub fn filter(&self, keep: impl Fn(usize, usize, T) -> bool + Sync + Send) -> Result<Self> {
        let arrays = build(
            self.executor(),
            self.pattern.pieces(),
            self.bytes(),
            || (),
            |(), row, out| {
                let (columns, values) = self.row(row);
                out.reserve(self.executor(), columns.len())?;
                for (&column, &value) in columns.iter().zip(values) {
                    if keep(row, column as usize, value) {
                        out.push(column, value);
                    }
                }
                Ok(())
            },
        )?;
        Ok(arrays.into_csr(self.executor(), self.size()))
    }

    /// Some of the rows, one after the other.
    pub fn row_range(&self, rows: std::ops::Range<usize>) -> Result<Self> {
        if let Some(made) = parts::row_range(self, rows.clone())? {
            return Ok(made);
        }
        let places = self.offsets()[rows.start]..self.offsets()[rows.end];
        let offsets = &self.offsets()[rows.start..=rows.end];
        let offsets = offsets.iter().map(|place| place - places.start).collect();
        let columns = self.columns()[places.clone()].to_vec();
        let size = Size::new(rows.len(), self.size().cols);
        let values = self.values()[places].to_vec();
        Ok(Self::from_canonical(
            self.executor(),
            size,
            offsets,
            columns,
            values,
        ))
    }

    /// The entries on and below the diagonal.
    pub fn lower(&self) -> Result<Self> {
        self.filter(|row, column, _| column <= row)
    }

    /// The entries on and above the diagonal.
    pub fn upper(&self) -> Result<Self> {
        self.filter(|row, column, _| column >= row)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{assert_same, random};
    use crate::prelude::*;

    #[test]
    fn the_parts_make_the_whole() {
        for (rows, cols) in [(0, 0), (4, 7), (7, 4)] {
            let a = random::<f64>(&Executor::reference(), rows, cols, 0.6, 1);
            let (lower, upper) = (a.lower().unwrap(), a.upper().unwrap());
            let above = a.filter(|row, column, _| column > row).unwrap();
            let below = a.filter(|row, column, _| column < row).unwrap();
            assert_same(&lower.add(1.0, 1.0, &above).unwrap(), &a);
            assert_same(&below.add(1.0, 1.0, &upper).unwrap(), &a);
        }
    }
}
