//! Operations on the entries of a matrix that leave its pattern alone, and questions about them. Each says nothing on the host.

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::executor::Element;
use crate::gpu::kernels::{arrays, entries as kernels};
use crate::launch::prelude::*;
use crate::scalar::RealOf;

/// Blocks of a reduction.
const REDUCTION: usize = 2048;
const NOWHERE: u32 = u32::MAX;
/// Threads that share a row where that is worth it, as in `kernels/entries.c`.
const SHARES: usize = 4;

/// Two rows that were looked for.
type Found = [Option<usize>; 2];

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

/// The extreme numbers of a matrix.
pub fn extremes<T: Scalar>(a: &Csr<T>) -> Result<Option<Extremes>> {
    extremes_from(a, 0)
}

compiled_fn! {
    /// The same of rows the first of which has its diagonal entry in column `diagonal`.
    pub fn extremes_from[any T: Scalar](a: &Csr<T>, diagonal: usize) -> Result<Option<Extremes>> {
        on_device(a.executor(), |queue| Ok(extremes_of(queue, &[a], diagonal)?[0]))
    }
}

/// The same of several matrices that are where the first is; the host waits once.
pub(crate) fn all_extremes<T: Scalar>(matrices: &[&Csr<T>]) -> Result<Option<Vec<Extremes>>> {
    match matrices.first() {
        Some(a) => on_device(a.executor(), |queue| extremes_of(queue, matrices, 0)),
        None => Ok(None),
    }
}

fn extremes_of<T: Scalar>(
    queue: Queue<'_>,
    matrices: &[&Csr<T>],
    diagonal: usize,
) -> Result<Vec<Extremes>> {
    let mut found = queue.uninit::<f64>(3 * matrices.len())?;
    let to = found.pointer_mut()?;
    for (number, &a) in matrices.iter().enumerate() {
        let blocks = (a.size().rows * SHARES).div_ceil(kernels::FILE.block as usize);
        // Without rows one block says so.
        let blocks = blocks.clamp(1, REDUCTION);
        let mut partials = queue.uninit::<f64>(3 * blocks)?;
        let (counter, to) = (queue.gpu.counter(), to.at(3 * number));
        kernels::extremes(a, diagonal, &mut partials, counter, to)?.run(queue.gpu, blocks)?;
    }
    let of = |found: &[f64]| Extremes {
        largest: found[0],
        smallest_diagonal: found[1],
        row_sum: found[2],
    };
    Ok(found.host()?.chunks(3).map(of).collect())
}

/// Inverses, and the first rows that are zero, or not finite once inverted.
pub type Inverses<T> = (Buffer<T>, [Option<usize>; 2]);

/// The weighted inverses of the diagonal, or of the absolute row `sums`; and the first rows that are zero, or not
/// finite once inverted.
pub fn inverted<T: Scalar>(a: &Csr<T>, sums: bool, weight: f64) -> Result<Option<Inverses<T>>> {
    inverted_for(a.executor(), a, 0, sums, weight)
}

compiled_fn! {
    /// The same of rows of a rank, the first of which has its diagonal entry in column `diagonal`, for vectors on its executor.
    pub fn inverted_for[any T: Scalar](
        executor: &Executor,
        a: &Csr<T>,
        diagonal: usize,
        sums: bool,
        weight: f64
    ) -> Result<Option<Inverses<T>>> {
        if !a.executor().is_device() {
            return Ok(None);
        }
        on_device(executor, |queue| {
            let mut out = queue.uninit(a.size().rows)?;
            let (weight, mut first) = (T::Arith::from_f64(weight), queue.filled(2, NOWHERE)?);
            kernels::invert(a, diagonal, sums, weight, &mut out, &mut first)?
                .items(&queue, a.size().rows * SHARES)?;
            Ok((out, rows_of(&first)?))
        })
    }
}

compiled_fn! {
    /// Values in another type; `found` is set where one does not fit, and is made at the first call.
    pub fn convert_noting[any T: Scalar, S: Scalar](
        values: &Buffer<T>,
        found: &mut Option<Buffer<u32>>,
    ) -> Result<Option<Buffer<S>>> {
        on_device(values.executor(), |queue| {
            if found.is_none() {
                *found = Some(queue.zeros(1)?);
            }
            let mut out = queue.uninit(values.len())?;
            kernels::convert(values.len(), values, &mut out, found.as_mut())?
                .items(&queue, values.len())?;
            Ok(out)
        })
    }
}

compiled_fn! {
    /// Values in another type.
    pub(crate) fn convert[any T: Scalar, S: Scalar](values: &Buffer<T>) -> Result<Option<Buffer<S>>> {
        on_device(values.executor(), |queue| queue.convert(values))
    }
}

compiled_fn! {
    /// The diagonal.
    pub(crate) fn diagonal[any T: Scalar](a: &Csr<T>) -> Result<Option<Buffer<T>>> {
        on_device(a.executor(), |queue| queue.diagonal(a))
    }
}

impl Queue<'_> {
    /// The values in another precision, rounded once.
    pub(crate) fn convert<T: Scalar, S: Scalar>(&self, values: &Buffer<T>) -> Result<Buffer<S>> {
        let mut out = self.uninit(values.len())?;
        kernels::convert(values.len(), values, &mut out, None::<&mut Buffer<u32>>)?
            .items(self, values.len())?;
        Ok(out)
    }

    /// The diagonal; zero where no entry is stored.
    pub(crate) fn diagonal<T: Scalar>(&self, a: &Csr<T>) -> Result<Buffer<T>> {
        let mut out = self.uninit(a.size().rows.min(a.size().cols))?;
        let (offsets, columns) = a.pattern().buffers();
        let (rows, values) = (out.len(), a.values_buffer());
        kernels::diagonal((rows, offsets, columns, values), &mut out)?.items(self, rows)?;
        Ok(out)
    }
}

compiled_fn! {
    /// `|a_ii|` on the diagonal and `-|a_ij|` beside it.
    pub fn magnitudes[any T: Scalar](a: &Csr<T>) -> Result<Option<Csr<f64>>> {
        on_device(a.executor(), |queue| {
            let mut sizes = queue.uninit(a.nonzeros())?;
            kernels::magnitudes(a, &mut sizes)?.items(&queue, a.size().rows)?;
            Ok(Csr::of_buffers(a.pattern(), sizes))
        })
    }
}

compiled_fn! {
    /// Values times a number.
    pub(crate) fn scaled[any T: Scalar](values: &Buffer<T>, factor: <T as Scalar>::Arith) -> Result<Option<Buffer<T>>> {
        on_device(values.executor(), |queue| {
            let mut out = queue.uninit(values.len())?;
            kernels::scale(values.len(), factor, values, &mut out)?.items(&queue, values.len())?;
            Ok(out)
        })
    }
}

compiled_fn! {
    /// The first row with an entry that is not finite, if there is one.
    pub(crate) fn not_finite[any T: Scalar](a: &Csr<T>) -> Result<Option<Option<usize>>> {
        on_device(a.executor(), |queue| {
            let (values, mut found) = (a.values_buffer(), queue.zeros::<u32>(1)?);
            kernels::check_values(values.len(), values, &mut found)?.items(&queue, values.len())?;
            if found.get(0)? == 0 {
                return Ok(None);
            }
            let mut first = queue.filled(2, NOWHERE)?;
            kernels::check_rows(a, &mut first)?.items(&queue, a.size().rows)?;
            Ok(rows_of(&first)?[0])
        })
    }
}

compiled_fn! {
    /// The first row that has an entry unlike its mirrored one, by more than the tolerances relative to the larger of both and to the
    /// diagonal of both rows, and the first whose diagonal is not positive.
    pub(crate) fn check_symmetry[any T: Scalar](
        a: &Csr<T>,
        tolerances: [f64; 2],
    ) -> Result<Option<[Option<usize>; 2]>> {
        on_device(a.executor(), |queue| {
            let [tolerance, cancelled] = tolerances.map(RealOf::<T>::from_f64);
            let mut first = queue.filled(2, NOWHERE)?;
            kernels::check_symmetry(a, tolerance, cancelled, &mut first)?
                .items(&queue, a.size().rows * SHARES)?;
            rows_of(&first)
        })
    }
}

/// Whether any row is empty.
pub fn has_empty_rows(pattern: &Pattern) -> Result<Option<bool>> {
    on_device(pattern.executor(), |queue| pattern.has_empty_rows(&queue))
}

/// Whether two patterns of a size have the same entries.
pub(crate) fn same(a: &Pattern, b: &Pattern) -> Result<Option<bool>> {
    on_device(a.executor(), |queue| {
        let ((a, c), (b, d)) = (a.buffers(), b.buffers());
        if c.len() != d.len() {
            return Ok(false);
        }
        let mut differ = queue.zeros::<u32>(1)?;
        compare(queue, a, b, &mut differ)?;
        compare(queue, c, d, &mut differ)?;
        Ok(differ.get(0)? == 0)
    })
}

fn compare<T: Element>(
    queue: Queue<'_>,
    a: &Buffer<T>,
    b: &Buffer<T>,
    differ: &mut Buffer<u32>,
) -> Result<()> {
    let words = a.bytes() / 4;
    let (a, b) = (a.pointer()?.cast(), b.pointer()?.cast());
    kernels::compare(words, a, b, differ)?.items(&queue, words)
}

/// The first row whose offsets decrease or whose columns do not increase or are out of range, if there is one.
pub(crate) fn check_order(
    size: Size,
    offsets: &Buffer<usize>,
    columns: &Buffer<u32>,
) -> Result<Option<Option<usize>>> {
    on_device(columns.executor(), |queue| {
        let mut first = queue.filled(2, NOWHERE)?;
        let (rows, entries) = (size.rows, columns.len());
        kernels::check_order(rows, size.cols, entries, offsets, columns, &mut first)?
            .items(&queue, rows)?;
        Ok(rows_of(&first)?[0])
    })
}

/// Indices in 64 bits.
pub(crate) fn widened(indices: &Buffer<u32>) -> Result<Option<Buffer<usize>>> {
    on_device(indices.executor(), |queue| {
        let mut out = queue.uninit(indices.len())?;
        arrays::widen_indices(indices.len(), indices, &mut out)?.items(&queue, indices.len())?;
        Ok(out)
    })
}

/// Indices in 32 bits; what does not fit becomes the largest number.
pub(crate) fn narrowed(indices: &Buffer<usize>) -> Result<Option<Buffer<u32>>> {
    on_device(indices.executor(), |queue| {
        let mut out = queue.uninit(indices.len())?;
        arrays::narrow_indices(indices.len(), indices, &mut out)?.items(&queue, indices.len())?;
        Ok(out)
    })
}

/// Rows that were found; those that were not are [`NOWHERE`].
fn rows_of(first: &Buffer<u32>) -> Result<Found> {
    let first = first.host()?;
    let row = |row: u32| (row != NOWHERE).then_some(row as usize);
    Ok([row(first[0]), row(first[1])])
}
