//! Tiles of 4 by 4 with bitmaps: made where the matrix is.

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::arrays::{Csr, Pattern, TileArrays};
use crate::error::Result;
use crate::scalar::Scalar;
use crate::size::Size;

/// Where a matrix of a device has tiles; none on the host.
pub(crate) fn pattern_of(pattern: &Pattern) -> Result<Option<Pattern>> {
    on_device(pattern.executor(), |queue| queue.tile_pattern(pattern))
}

compiled_fn! {
    /// A matrix of a device in the tiles of its pattern.
    ///
    /// # Panics
    /// On an executor of the host.
    pub(crate) fn filled[any T: Scalar](a: &Csr<T>, pattern: Pattern) -> Result<TileArrays<T>> {
        let filled = on_device(a.executor(), |queue| queue.fill_tiles(a, pattern))?;
        Ok(filled.expect("a pattern of tiles of a device"))
    }
}

compiled_fn! {
    /// The same in rows, of a matrix of that size; none on the host.
    pub(crate) fn rows[any T: Scalar](a: &TileArrays<T>, size: Size) -> Result<Option<Csr<T>>> {
        on_device(a.values.executor(), |queue| queue.rows_of_tiles(a, size))
    }
}
