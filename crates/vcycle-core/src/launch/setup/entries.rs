//! Checks of entries, and numbers for every row or of all of them.

use super::Queue;
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::gpu::{Write, kernels::entries as kernels};
use crate::scalar::{Field, RealOf, Scalar};
use crate::size::Size;

/// Blocks of a reduction.
const REDUCTION: usize = 2048;
const NOWHERE: u32 = u32::MAX;
/// Threads that share a row where that is worth it, as in `kernels/entries.c`.
const SHARES: usize = 4;

/// Two rows that were looked for.
pub type Found = [Option<usize>; 2];

/// What there is of extreme numbers in a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremes {
    /// The largest absolute value.
    pub largest: f64,
    /// The smallest absolute value of the diagonal that is not zero; infinite without.
    pub smallest_diagonal: f64,
    /// The largest sum of absolute values in a row, over that of the diagonal.
    pub row_sum: f64,
}

impl Queue<'_> {
    /// The values in another precision, rounded once.
    pub fn convert<T: Scalar, S: Scalar>(&self, values: &Buffer<T>) -> Result<Buffer<S>> {
        self.convert_noting(values, None)
    }

    /// The same; `found` is set to one if any of them is no number then.
    pub fn convert_noting<T: Scalar, S: Scalar>(
        &self,
        values: &Buffer<T>,
        found: Option<&mut Buffer<u32>>,
    ) -> Result<Buffer<S>> {
        let mut out = self.room(values.len())?;
        kernels::convert(values.len(), values, &mut out, found)?.items(self, values.len())?;
        Ok(out)
    }

    /// All values times a factor.
    pub fn scaled<T: Scalar>(&self, values: &Buffer<T>, factor: T::Arith) -> Result<Buffer<T>> {
        let mut out = self.room(values.len())?;
        kernels::scale(values.len(), factor, values, &mut out)?.items(self, values.len())?;
        Ok(out)
    }

    /// Whether two patterns of one size have the same entries.
    pub fn same(&self, a: &Pattern, b: &Pattern) -> Result<bool> {
        let ((a, c), (b, d)) = (a.buffers(), b.buffers());
        if c.len() != d.len() {
            return Ok(false);
        }
        let mut differ = self.zeros::<u32>(1)?;
        self.compare(a, b, &mut differ)?;
        self.compare(c, d, &mut differ)?;
        Ok(differ.get(0)? == 0)
    }

    fn compare<T: Element>(
        &self,
        a: &Buffer<T>,
        b: &Buffer<T>,
        differ: &mut Buffer<u32>,
    ) -> Result<()> {
        let words = a.bytes() / 4;
        let (a, b) = (a.pointer()?.cast(), b.pointer()?.cast());
        kernels::compare(words, a, b, differ)?.items(self, words)
    }

    /// The first row with an entry that is no number.
    pub fn not_finite<T: Scalar>(&self, a: &Csr<T>) -> Result<Option<usize>> {
        let (values, mut found) = (a.values_buffer(), self.zeros::<u32>(1)?);
        kernels::check_values(values.len(), values, &mut found)?.items(self, values.len())?;
        if found.get(0)? == 0 {
            return Ok(None);
        }
        let mut first = self.filled(2, NOWHERE)?;
        kernels::check_rows(a, &mut first)?.items(self, a.size().rows)?;
        Ok(rows_of(&first)?[0])
    }

    /// Whether any row has no entries.
    pub fn has_empty_rows(&self, a: &Pattern) -> Result<bool> {
        let (rows, mut found) = (a.size().rows, self.zeros::<u32>(1)?);
        kernels::check_empty(rows, a.buffers().0, &mut found)?.items(self, rows)?;
        Ok(found.get(0)? != 0)
    }

    /// The first row that has an entry unlike its mirrored one, by more than the tolerances relative
    /// to the larger of both and to the diagonal of both rows, and the first whose diagonal is not
    /// positive.
    pub fn check_symmetry<T: Scalar>(&self, a: &Csr<T>, tolerances: [f64; 2]) -> Result<Found> {
        let [tolerance, cancelled] = tolerances.map(RealOf::<T>::from_f64);
        let mut first = self.filled(2, NOWHERE)?;
        kernels::check_symmetry(a, tolerance, cancelled, &mut first)?
            .items(self, a.size().rows * SHARES)?;
        rows_of(&first)
    }

    /// The first row whose columns do not increase or are out of range.
    pub fn check_order(
        &self,
        size: Size,
        offsets: &Buffer<usize>,
        columns: &Buffer<u32>,
    ) -> Result<Option<usize>> {
        let mut first = self.filled(2, NOWHERE)?;
        let (rows, entries) = (size.rows, columns.len());
        kernels::check_order(rows, size.cols, entries, offsets, columns, &mut first)?
            .items(self, rows)?;
        Ok(rows_of(&first)?[0])
    }

    /// Whether all rows have one entry.
    pub fn has_single_entries(&self, a: &Pattern) -> Result<bool> {
        let (rows, (offsets, _)) = (a.size().rows, a.buffers());
        if a.nonzeros() != rows {
            return Ok(false);
        }
        let mut first = self.filled(2, NOWHERE)?;
        kernels::check_single(rows, offsets, &mut first)?.items(self, rows + 1)?;
        Ok(rows_of(&first)?[0].is_none())
    }

    /// `weight` over the diagonal, which begins in a column, or (`sums`) over the sums of absolute values of rows; the first
    /// row where that is zero, and the first where the inverse is no number.
    pub fn inverted<T: Scalar>(
        &self,
        (a, diagonal): (&Csr<T>, usize),
        sums: bool,
        weight: f64,
    ) -> Result<(Buffer<T>, Found)> {
        let mut out = self.room(a.size().rows)?;
        let (weight, mut first) = (T::Arith::from_f64(weight), self.filled(2, NOWHERE)?);
        kernels::invert(a, diagonal, sums, weight, &mut out, &mut first)?
            .items(self, a.size().rows * SHARES)?;
        Ok((out, rows_of(&first)?))
    }

    /// The diagonal; zero where no entry is stored.
    pub fn diagonal<T: Scalar>(&self, a: &Csr<T>) -> Result<Buffer<T>> {
        let mut out = self.room(a.size().rows.min(a.size().cols))?;
        let (offsets, columns) = a.pattern().buffers();
        let (rows, values) = (out.len(), a.values_buffer());
        kernels::diagonal((rows, offsets, columns, values), &mut out)?.items(self, rows)?;
        Ok(out)
    }

    /// The conjugate values.
    pub fn conjugated<T: Scalar>(&self, mut values: Buffer<T>) -> Result<Buffer<T>> {
        let count = values.len();
        kernels::conjugate(count, &mut values)?.items(self, count)?;
        Ok(values)
    }

    /// The sizes of all entries, with the other sign beside the diagonal.
    pub fn magnitudes<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<f64>> {
        let (rows, mut sizes) = (a.size().rows, self.room(a.nonzeros())?);
        kernels::magnitudes(a, &mut sizes)?.items(self, rows)?;
        Ok(Csr::of_buffers(a.pattern(), sizes))
    }

    /// The extreme numbers of rows the first of which has its diagonal entry in a column.
    pub fn extremes_from<T: Scalar>(&self, a: &Csr<T>, diagonal: usize) -> Result<Extremes> {
        Ok(self.extremes_of(&[a], diagonal)?[0])
    }

    /// Those of several matrices; the host waits once.
    pub fn all_extremes<T: Scalar>(&self, matrices: &[&Csr<T>]) -> Result<Vec<Extremes>> {
        self.extremes_of(matrices, 0)
    }

    fn extremes_of<T: Scalar>(
        &self,
        matrices: &[&Csr<T>],
        diagonal: usize,
    ) -> Result<Vec<Extremes>> {
        let mut found = self.room::<f64>(3 * matrices.len())?;
        let to = found.pointer_mut()?;
        for (number, a) in matrices.iter().enumerate() {
            self.find_extremes(a, diagonal, to.at(3 * number))?;
        }
        let of = |found: &[f64]| Extremes {
            largest: found[0],
            smallest_diagonal: found[1],
            row_sum: found[2],
        };
        Ok(found.host()?.chunks(3).map(of).collect())
    }

    /// Writes three numbers.
    fn find_extremes<T: Scalar>(&self, a: &Csr<T>, diagonal: usize, to: Write<f64>) -> Result<()> {
        let rows = a.size().rows;
        let blocks = (rows * SHARES).div_ceil(kernels::FILE.block as usize);
        // Without rows one block says so.
        let blocks = blocks.clamp(1, REDUCTION);
        let mut partials = self.room::<f64>(3 * blocks)?;
        kernels::extremes(a, diagonal, &mut partials, self.gpu.counter(), to)?.run(self.gpu, blocks)
    }
}

/// Rows that were found; those that were not are [`NOWHERE`].
fn rows_of(first: &Buffer<u32>) -> Result<Found> {
    let first = first.host()?;
    let row = |row: u32| (row != NOWHERE).then_some(row as usize);
    Ok([row(first[0]), row(first[1])])
}

impl<T: Scalar> Csr<T> {
    /// The columns and values of one row, copied from the device by themselves.
    #[doc(hidden)]
    pub fn row_of_device(&self, row: usize) -> Result<Vec<(u32, T)>> {
        let (offsets, columns) = self.pattern().buffers();
        let places = offsets.get(row)?..offsets.get(row + 1)?;
        let entry = |place| Ok((columns.get(place)?, self.values_buffer().get(place)?));
        places.map(entry).collect()
    }
}
