//! Operations on the entries of a matrix that leave its pattern alone, and questions about them.

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::arrays::{Csr, Pattern};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::scalar::Scalar;
use crate::size::Size;

pub use crate::launch::setup::Extremes;

/// The largest entry of a matrix, its smallest diagonal entry and the largest row sum over it.
pub fn extremes<T: Scalar>(a: &Csr<T>) -> Result<Option<Extremes>> {
    extremes_from(a, 0)
}

compiled_fn! {
    /// The same of rows the first of which has its diagonal entry in column `diagonal`.
    pub fn extremes_from[any T: Scalar](a: &Csr<T>, diagonal: usize) -> Result<Option<Extremes>> {
        on_device(a.executor(), |queue| queue.extremes_from(a, diagonal))
    }
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
        match a.executor().is_device() {
            true => on_device(executor, |queue| queue.inverted((a, diagonal), sums, weight)),
            false => Ok(None),
        }
    }
}

compiled_fn! {
    /// Values in another type; `found` is set where one does not fit, and is made at the first call.
    pub fn convert_noting[any T: Scalar, S: Scalar](
        values: &Buffer<T>,
        found: &mut Option<Buffer<u32>>,
    ) -> Result<Option<Buffer<S>>> {
        on_device(values.executor(), |queue| {
            let mut noted = match found.take() {
                Some(noted) => noted,
                None => queue.zeros(1)?,
            };
            let converted = queue.convert_noting(values, Some(&mut noted))?;
            *found = Some(noted);
            Ok(converted)
        })
    }
}

/// Whether any row is empty.
pub fn has_empty_rows(pattern: &Pattern) -> Result<Option<bool>> {
    on_device(pattern.executor(), |queue| pattern.has_empty_rows(&queue))
}

/// The same of several matrices that are where the first is; none where that has no kernels for it.
pub(crate) fn all_extremes<T: Scalar>(matrices: &[&Csr<T>]) -> Result<Option<Vec<Extremes>>> {
    match matrices.first() {
        Some(a) => on_device(a.executor(), |queue| queue.all_extremes(matrices)),
        None => Ok(None),
    }
}

compiled_fn! {
    /// The diagonal.
    pub(crate) fn diagonal[any T: Scalar](a: &Csr<T>) -> Result<Option<Buffer<T>>> {
        on_device(a.executor(), |queue| queue.diagonal(a))
    }
}

compiled_fn! {
    /// `|a_ii|` on the diagonal and `-|a_ij|` beside it.
    pub fn magnitudes[any T: Scalar](a: &Csr<T>) -> Result<Option<Csr<f64>>> {
        on_device(a.executor(), |queue| queue.magnitudes(a))
    }
}

compiled_fn! {
    /// Values in another type.
    pub(crate) fn convert[any T: Scalar, S: Scalar](values: &Buffer<T>) -> Result<Option<Buffer<S>>> {
        on_device(values.executor(), |queue| queue.convert(values))
    }
}

compiled_fn! {
    /// Values times a number.
    pub(crate) fn scaled[any T: Scalar](values: &Buffer<T>, factor: <T as Scalar>::Arith) -> Result<Option<Buffer<T>>> {
        on_device(values.executor(), |queue| queue.scaled(values, factor))
    }
}

compiled_fn! {
    /// The first row with an entry that is not finite, if there is one.
    pub(crate) fn not_finite[any T: Scalar](a: &Csr<T>) -> Result<Option<Option<usize>>> {
        on_device(a.executor(), |queue| queue.not_finite(a))
    }
}

compiled_fn! {
    /// The first rows that are not symmetric, and whose diagonal is not positive, by tolerances.
    pub(crate) fn check_symmetry[any T: Scalar](
        a: &Csr<T>,
        tolerances: [f64; 2],
    ) -> Result<Option<[Option<usize>; 2]>> {
        on_device(a.executor(), |queue| queue.check_symmetry(a, tolerances))
    }
}

/// Whether two patterns of a size have the same entries.
pub(crate) fn same(a: &Pattern, b: &Pattern) -> Result<Option<bool>> {
    on_device(a.executor(), |queue| queue.same(a, b))
}

/// The first row whose offsets decrease or whose columns do not increase, if there is one.
pub(crate) fn check_order(
    size: Size,
    offsets: &Buffer<usize>,
    columns: &Buffer<u32>,
) -> Result<Option<Option<usize>>> {
    on_device(columns.executor(), |queue| {
        queue.check_order(size, offsets, columns)
    })
}

/// Indices in 64 bits.
pub(crate) fn widened(indices: &Buffer<u32>) -> Result<Option<Buffer<usize>>> {
    on_device(indices.executor(), |queue| queue.widened(indices))
}

/// Indices in 32 bits; what does not fit becomes the largest number.
pub(crate) fn narrowed(indices: &Buffer<usize>) -> Result<Option<Buffer<u32>>> {
    on_device(indices.executor(), |queue| queue.narrowed(indices))
}
