//! Checks of entries, and numbers for every row or of all of them.

use vcycle_gpu::Argument;

use super::tiles::NOTHING;
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::gpu::{Define, File, kernel_file};
use crate::launch::scalars;
use crate::scalar::{Field, Kind, Scalar};
use crate::size::Size;

pub(super) const FILE: File = kernel_file!("entries.c");
/// Kernels without values are compiled with these.
const PLAIN: [Define; 2] = [("T", "f64"), ("S", "f64")];
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
        let types = [("T", T::KIND.name()), ("S", S::KIND.name())];
        let found = found.map_or(Ok(NOTHING), write)?;
        let arguments = [number(values.len()), read(values)?, write(&mut out)?, found];
        self.items(FILE, "convert", &types, values.len(), &arguments)?;
        Ok(out)
    }

    /// All values times a factor.
    pub fn scaled<T: Scalar>(&self, values: &Buffer<T>, factor: T::Arith) -> Result<Buffer<T>> {
        let mut out = self.room(values.len())?;
        let factor = scalars::number(factor);
        let arguments = [
            number(values.len()),
            factor,
            read(values)?,
            write(&mut out)?,
        ];
        self.items(FILE, "scale", &Self::types::<T>(), values.len(), &arguments)?;
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
        let arguments = [number(words), read(a)?, read(b)?, write(differ)?];
        self.items(FILE, "compare", &PLAIN, words, &arguments)
    }

    /// The first row with an entry that is no number.
    pub fn not_finite<T: Scalar>(&self, a: &Csr<T>) -> Result<Option<usize>> {
        let (values, mut found) = (a.values_buffer(), self.zeros::<u32>(1)?);
        let arguments = [number(values.len()), read(values)?, write(&mut found)?];
        let types = Self::types::<T>();
        self.items(FILE, "check_values", &types, values.len(), &arguments)?;
        match found.get(0)? {
            0 => Ok(None),
            _ => Ok(self.find("check_rows", a, a.size().rows, &[])?[0]),
        }
    }

    /// Whether any row has no entries.
    pub fn has_empty_rows(&self, a: &Pattern) -> Result<bool> {
        let (rows, mut found) = (a.size().rows, self.zeros::<u32>(1)?);
        let arguments = [number(rows), read(a.buffers().0)?, write(&mut found)?];
        self.items(FILE, "check_empty", &PLAIN, rows, &arguments)?;
        Ok(found.get(0)? != 0)
    }

    /// The first row that has an entry unlike its mirrored one, by more than the tolerances relative
    /// to the larger of both and to the diagonal of both rows, and the first whose diagonal is not
    /// positive.
    pub fn check_symmetry<T: Scalar>(&self, a: &Csr<T>, tolerances: [f64; 2]) -> Result<Found> {
        // In the type of real parts.
        let tolerances = tolerances.map(|value| match T::Arith::KIND {
            Kind::F32 | Kind::C32 => Argument::F32(value as f32),
            _ => Argument::F64(value),
        });
        let items = a.size().rows * SHARES;
        self.find("check_symmetry", a, items, &tolerances)
    }

    /// The first row whose columns do not increase or are out of range.
    pub fn check_order(
        &self,
        size: Size,
        offsets: &Buffer<usize>,
        columns: &Buffer<u32>,
    ) -> Result<Option<usize>> {
        let mut first = self.filled(2, NOWHERE)?;
        let sizes = [
            number(size.rows),
            Argument::U32(size.cols as u32),
            number(columns.len()),
        ];
        let arrays = [read(offsets)?, read(columns)?, write(&mut first)?];
        let arguments = [&sizes[..], &arrays].concat();
        self.items(FILE, "check_order", &PLAIN, size.rows, &arguments)?;
        Ok(found(&first)?[0])
    }

    /// Whether all rows have one entry.
    pub fn has_single_entries(&self, a: &Pattern) -> Result<bool> {
        let (rows, (offsets, _)) = (a.size().rows, a.buffers());
        if a.nonzeros() != rows {
            return Ok(false);
        }
        let mut first = self.filled(2, NOWHERE)?;
        let arguments = [number(rows), read(offsets)?, write(&mut first)?];
        self.items(FILE, "check_single", &PLAIN, rows + 1, &arguments)?;
        Ok(found(&first)?[0].is_none())
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
        let weight = scalars::number(T::Arith::from_f64(weight));
        let more = [
            Argument::U32(diagonal as u32),
            Argument::U32(sums.into()),
            weight,
            write(&mut out)?,
        ];
        let found = self.find("invert", a, a.size().rows * SHARES, &more)?;
        Ok((out, found))
    }

    /// The diagonal; zero where no entry is stored.
    pub fn diagonal<T: Scalar>(&self, a: &Csr<T>) -> Result<Buffer<T>> {
        let mut out = self.room(a.size().rows.min(a.size().cols))?;
        let arguments = [&self.matrix(a, out.len())?[..], &[write(&mut out)?]].concat();
        self.items(FILE, "diagonal", &Self::types::<T>(), out.len(), &arguments)?;
        Ok(out)
    }

    /// The conjugate values.
    pub fn conjugated<T: Scalar>(&self, mut values: Buffer<T>) -> Result<Buffer<T>> {
        let count = values.len();
        let arguments = [number(count), write(&mut values)?];
        self.items(FILE, "conjugate", &Self::types::<T>(), count, &arguments)?;
        Ok(values)
    }

    /// The sizes of all entries, with the other sign beside the diagonal.
    pub fn magnitudes<T: Scalar>(&self, a: &Csr<T>) -> Result<Csr<f64>> {
        let (rows, mut sizes) = (a.size().rows, self.room(a.nonzeros())?);
        let arguments = [&self.matrix(a, rows)?[..], &[write(&mut sizes)?]].concat();
        self.items(FILE, "magnitudes", &Self::types::<T>(), rows, &arguments)?;
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
        let to = found.device_mut()?;
        for (number, a) in matrices.iter().enumerate() {
            let to = to + (3 * number * size_of::<f64>()) as u64;
            self.find_extremes(a, diagonal, Argument::Address(to))?;
        }
        let of = |found: &[f64]| Extremes {
            largest: found[0],
            smallest_diagonal: found[1],
            row_sum: found[2],
        };
        Ok(found.host()?.chunks(3).map(of).collect())
    }

    /// Writes three numbers.
    fn find_extremes<T: Scalar>(&self, a: &Csr<T>, diagonal: usize, to: Argument) -> Result<()> {
        let rows = a.size().rows;
        let blocks = (rows * SHARES).div_ceil(FILE.block as usize);
        // Without rows one block says so.
        let blocks = blocks.clamp(1, REDUCTION);
        let mut partials = self.room::<f64>(3 * blocks)?;
        let [_, counter] = self.gpu.reduction();
        let more = [
            Argument::U32(diagonal as u32),
            write(&mut partials)?,
            counter,
            to,
        ];
        let arguments = [&self.matrix(a, rows)?[..], &more].concat();
        self.blocks(FILE, "extremes", &Self::types::<T>(), blocks, &arguments)
    }

    fn types<T: Scalar>() -> [Define; 2] {
        [("T", T::KIND.name()), ("S", T::KIND.name())]
    }

    fn matrix<T: Scalar>(&self, a: &Csr<T>, rows: usize) -> Result<[Argument; 4]> {
        let [offsets, columns] = a.pattern().device()?.map(Argument::Address);
        Ok([number(rows), offsets, columns, read(a.values_buffer())?])
    }

    /// A kernel that goes through the rows of a matrix and looks for two of them.
    fn find<T: Scalar>(
        &self,
        name: &'static str,
        a: &Csr<T>,
        items: usize,
        more: &[Argument],
    ) -> Result<Found> {
        let mut first = self.filled(2, NOWHERE)?;
        let matrix = self.matrix(a, a.size().rows)?;
        let arguments = [&matrix[..], more, &[write(&mut first)?]].concat();
        self.items(FILE, name, &Self::types::<T>(), items, &arguments)?;
        found(&first)
    }
}

fn found(first: &Buffer<u32>) -> Result<Found> {
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
