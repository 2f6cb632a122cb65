//! Slots for the entries of every row, slice by slice: what ELL and SELL-P have in common.

use super::Csr;
use super::csr::balance;
use super::rowwise::{RowKernel, Rowwise, Shape, check_padding};
use crate::cpu::formats::{PADDING, SlotArrays};
use crate::error::Result;
use crate::executor::Buffer;
use crate::linop::Size;
use crate::operations::rows::Part;
use crate::reference::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

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
