//! ELL and SELL-P: slots for the entries of every row, slice by slice.

use super::csr::balance;
use super::rowwise::{RowKernel, Rowwise, Shape, check_padding, rowwise_operator};
use crate::cpu::formats::{PADDING, SlotArrays};
use crate::operations::rows::Part;
use crate::prelude::*;
use crate::reference::rows::{Column, Sum};

/// Slices of consecutive rows, in each of which all rows have as many slots; the first slots of all rows of a slice come before the
/// second ones, and so on.
#[derive(Clone, Debug)]
pub(super) struct Slots<T> {
    name: &'static str,
    size: Size,
    slice_rows: usize,
    /// Slots of a row where there is one slice.
    pub width: usize,
    nonzeros: usize,
    pieces: Vec<usize>,
    /// For every slice the place of its first slot, and at the end the number of slots; none where there is one slice.
    offsets: Option<Buffer<usize>>,
    columns: Buffer<u32>,
    pub values: Buffer<T>,
}

impl<T: Scalar> Slots<T> {
    /// The first `width` entries of every row in one slice; those beyond are left out.
    pub fn in_one_slice(a: &Csr<T>, width: usize) -> Result<Self> {
        let rows = a.size().rows;
        let slots = rows.saturating_mul(width);
        let slice = |_| 0..slots;
        let mut made = Self::filled(["ell", "ell product"], a, (rows, slots), slice)?;
        (made.width, made.pieces) = (width, balance(rows, |row| row * (width + 1)));
        Ok(made)
    }

    /// The rows in slices whose slots begin at `offsets`.
    pub fn in_slices(a: &Csr<T>, slice_rows: usize, offsets: Vec<usize>) -> Result<Self> {
        let slots = offsets[offsets.len() - 1];
        let slice = |slice: usize| offsets[slice]..offsets[slice + 1];
        let shape = (slice_rows, slots);
        let mut made = Self::filled(["sellp", "sellp product"], a, shape, slice)?;
        made.pieces = balance(a.size().rows, |row| offsets[row / slice_rows] + row);
        made.offsets = Some(Buffer::from_vec(a.executor(), offsets));
        Ok(made)
    }

    /// Entries in slices whose slots are given, as far as there are slots for them.
    fn filled(
        [format, name]: [&'static str; 2],
        a: &Csr<T>,
        (slice_rows, slots): (usize, usize),
        slice: impl Fn(usize) -> std::ops::Range<usize>,
    ) -> Result<Self> {
        // Before anything is allocated.
        check_padding(format, slots, a.nonzeros())?;
        let mut columns = Buffer::filled(a.executor(), slots, PADDING)?;
        let mut values = Buffer::filled(a.executor(), slots, T::default())?;
        let mut nonzeros = 0;
        let (to_columns, to_values) = (columns.host_mut()?, values.host_mut()?);
        for row in 0..a.size().rows {
            let slots = slice(row / slice_rows);
            let places = (slots.start + row % slice_rows..slots.end).step_by(slice_rows);
            let entries = a.row(row).0.iter().zip(a.row(row).1);
            for (place, (&column, &value)) in places.zip(entries) {
                (to_columns[place], to_values[place]) = (column, value);
                nonzeros += 1;
            }
        }
        Ok(Self {
            name,
            size: a.size(),
            slice_rows,
            width: 0,
            nonzeros,
            pieces: Vec::new(),
            offsets: None,
            columns,
            values,
        })
    }

    /// A slice, for kernels of host executors.
    fn slice(&self, slice: usize) -> SlotArrays<'_, T> {
        let slots = match &self.offsets {
            None => 0..self.values.len(),
            Some(offsets) => offsets.on_host()[slice]..offsets.on_host()[slice + 1],
        };
        SlotArrays {
            stride: self.slice_rows,
            columns: &self.columns.on_host()[slots.clone()],
            values: &self.values.on_host()[slots],
        }
    }
}

impl<T: Scalar> Rowwise<T> for Slots<T> {
    fn shape(&self) -> Shape<'_> {
        let offsets = self.offsets.as_ref().map_or(0, Buffer::bytes);
        Shape {
            name: self.name,
            size: self.size,
            executor: self.values.executor(),
            nonzeros: self.nonzeros,
            bytes: offsets + self.columns.bytes() + self.values.bytes(),
            pieces: &self.pieces,
            rows_together: 1,
            keeps_zeros: true,
        }
    }

    fn take_row(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<T>) {
        let slice = self.slice(row / self.slice_rows);
        for place in (row % self.slice_rows..slice.columns.len()).step_by(self.slice_rows) {
            if slice.columns[place] == PADDING {
                return;
            }
            columns.push(slice.columns[place]);
            values.push(slice.values[place]);
        }
    }

    fn parts(&self) -> Result<Vec<Part<'_, T>>> {
        Ok(vec![Part::Slots {
            size: self.size,
            slice_rows: self.slice_rows,
            width: self.width,
            offsets: self.offsets.as_ref(),
            columns: &self.columns,
            values: &self.values,
        }])
    }
}

impl<T: Scalar> RowKernel<T> for Slots<T> {
    fn add<X: Scalar, Y: Scalar>(
        &self,
        mut first: usize,
        mut sums: &mut [Sum<T, X, Y>],
        x: Column<'_, X>,
    ) where
        T: Mixes<X, Y>,
    {
        // Slice by slice, rows counted from the start of the slice.
        while !sums.is_empty() {
            let (slice, row) = (first / self.slice_rows, first % self.slice_rows);
            let count = sums.len().min(self.slice_rows - row);
            let (here, rest) = sums.split_at_mut(count);
            self.slice(slice).add::<X, Y>(row, here, x);
            (first, sums) = (first + count, rest);
        }
    }
}

/// A matrix whose rows are all padded to the length of the longest, stored column-major: the
/// first entries of all rows, then the second entries, and so on (ELLPACK).
///
/// **Choose it** when the rows are of nearly equal length, as those of stencils: no row offsets
/// are read and neighbouring rows are worked on together.
#[derive(Clone, Debug)]
pub struct Ell<T> {
    pub(super) slots: Slots<T>,
}

rowwise_operator!(Ell.slots);

impl<T: Scalar> Ell<T> {
    /// The same matrix, from CSR.
    ///
    /// # Errors
    /// [`TooMuchPadding`](crate::Error::TooMuchPadding), before anything is allocated, when a few
    /// long rows would make all others long.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        Self::from_row_starts(a, longest_row(a.offsets()))
    }

    /// The first `width` entries of every row; those beyond are left out.
    pub(super) fn from_row_starts(a: &Csr<T>, width: usize) -> Result<Self> {
        let slots = Slots::in_one_slice(a, width)?;
        Ok(Self { slots })
    }

    /// Slots in every row.
    pub fn width(&self) -> usize {
        self.slots.width
    }
}

/// The number of entries of the longest row.
pub(super) fn longest_row(offsets: &[usize]) -> usize {
    let lengths = offsets.windows(2).map(|row| row[1] - row[0]);
    lengths.max().unwrap_or(0)
}

/// Slices of consecutive rows, each an [`Ell`](super::Ell) matrix as wide as its longest row
/// (SELL-P, Anzt, Tomov and Dongarra 2014; SELL-C-sigma of Kreutzer et
/// al. 2014 without its sorting of rows).
///
/// **Choose it** when rows differ in length over the matrix but little from their neighbours.
#[derive(Clone, Debug)]
pub struct SellP<T> {
    slots: Slots<T>,
}

rowwise_operator!(SellP.slots);

impl<T: Scalar> SellP<T> {
    /// The same matrix, from CSR, in slices of 64 rows.
    ///
    /// # Errors
    /// [`TooMuchPadding`](crate::Error::TooMuchPadding), before anything is allocated, when long rows
    /// stand among short ones.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        Self::with_slices(a, SLICE_ROWS)
    }

    /// The same in slices of so many rows.
    pub(super) fn with_slices(a: &Csr<T>, slice_rows: usize) -> Result<Self> {
        let slots = Slots::in_slices(a, slice_rows, slice_offsets(a.offsets(), slice_rows))?;
        Ok(Self { slots })
    }

    /// Slots in all, padding included.
    pub fn slots(&self) -> usize {
        self.slots.values.len()
    }
}

/// Rows of a slice.
pub(super) const SLICE_ROWS: usize = 64;

/// For every slice the place of its first slot, and at the end the number of slots; saturated
/// where that has no end.
pub(super) fn slice_offsets(row_offsets: &[usize], slice_rows: usize) -> Vec<usize> {
    let rows = row_offsets.len() - 1;
    let mut offsets = vec![0_usize];
    for first in (0..rows).step_by(slice_rows) {
        let last = first.saturating_add(slice_rows).min(rows);
        let width = longest_row(&row_offsets[first..=last]);
        let slots = slice_rows.saturating_mul(width);
        offsets.push(offsets[offsets.len() - 1].saturating_add(slots));
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linop::LinOp;

    #[test]
    fn a_full_row_among_a_million_is_refused() {
        let rows = 1_000_000;
        let mut offsets: Vec<usize> = (0..rows).collect();
        offsets.push(2 * rows - 1);
        let columns = (0..rows as u32 - 1).chain(0..rows as u32).collect();
        let values = vec![1.0; 2 * rows - 1];
        let size = Size::square(rows);
        let a = Csr::from_canonical(&Executor::cpu(), size, offsets, columns, values);
        assert!(matches!(
            Ell::from_csr(&a),
            Err(Error::TooMuchPadding { slots, .. }) if slots == rows * rows
        ));
    }

    #[test]
    fn padding_never_reads_the_vector() {
        for executor in [Executor::reference(), Executor::cpu()] {
            let columns = vec![0, 1, 2];
            let a = Csr::from_canonical(
                &executor,
                Size::new(2, 3),
                vec![0, 2, 3],
                columns,
                vec![1.0; 3],
            );
            let x = Vector::from_column(&executor, vec![1.0, f64::NAN, f64::INFINITY]);
            let mut y = Vector::<f64>::zeros(&executor, 2, 1).unwrap();
            let ell = Ell::from_csr(&a).unwrap();
            ell.apply(&x, &mut y, &Workspace::new()).unwrap();
            assert!(y.to_vec()[0].is_nan());
            assert_eq!(y.to_vec()[1], f64::INFINITY);
        }
    }

    #[test]
    fn slices_are_as_wide_as_their_longest_row() {
        assert_eq!(slice_offsets(&[0, 1, 4, 4, 4, 5], 2), [0, 6, 6, 8]);
        assert_eq!(slice_offsets(&[0], 2), [0]);
        let a = Csr::<f64>::identity(&Executor::reference(), 2);
        assert_refused!(SellP::with_slices(&a, usize::MAX), TooMuchPadding { .. });
    }
}
