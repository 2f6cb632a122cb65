//! Tiles of 4 by 4 with bitmaps: from rows and back.

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::arrays::{Csr, Pattern, SLOTS, TILE, TileArrays};
use crate::error::Result;
use crate::gpu::{Write, kernels::mbsr as kernels, word};
use crate::launch::Queue;
use crate::launch::strips::block_pattern;
use crate::scalar::Scalar;
use crate::size::Size;

impl Queue<'_> {
    /// Where a matrix with that pattern has tiles.
    pub(crate) fn tile_pattern(&self, pattern: &Pattern) -> Result<Pattern> {
        let tiles = block_pattern(self, pattern, TILE, 0)?;
        Ok(tiles.expect("blocks of up to six rows and columns"))
    }

    /// A matrix in the tiles that its pattern has.
    pub(crate) fn fill_tiles<T: Scalar>(
        &self,
        a: &Csr<T>,
        pattern: Pattern,
    ) -> Result<TileArrays<T>> {
        let (count, strips) = (pattern.nonzeros(), pattern.size().rows);
        let (mut maps, mut values) = (self.room(count)?, self.room(count * SLOTS)?);
        let (offsets, columns) = a.pattern().buffers();
        let given = (strips, a.size().rows, offsets, columns);
        let (from, to): (_, Write<T>) = (a.values_buffer().pointer()?, values.pointer_mut()?);
        kernels::fill_tiles(given, &pattern, from.bits(), &mut maps, to.bits())?
            .with(&[word::<T>()])
            .items(self, strips)?;
        Ok(TileArrays {
            pattern,
            maps,
            values,
        })
    }

    /// The same in rows, of a matrix of that size.
    pub(crate) fn rows_of_tiles<T: Scalar>(&self, a: &TileArrays<T>, size: Size) -> Result<Csr<T>> {
        let (rows, word) = (size.rows, [word::<T>()]);
        let mut lengths = self.room::<u32>(rows)?;
        kernels::tile_lengths(rows, a.pattern.buffers().0, &a.maps, &mut lengths)?
            .with(&word)
            .items(self, rows)?;
        let (mut out, from) = (self.new_rows::<T>(&lengths)?, a.values.pointer()?.bits());
        kernels::tiles_to_rows(rows, &a.pattern, &a.maps, from, out.bits()?)?
            .with(&word)
            .items(self, rows)?;
        Ok(out.matrix(size))
    }
}

/// Where a matrix of a device has tiles; none on the host.
pub(crate) fn pattern_of(pattern: &Pattern) -> Result<Option<Pattern>> {
    on_device(pattern.executor(), |queue| queue.tile_pattern(pattern))
}

compiled_fn! {
    /// A matrix of a device in the tiles of its pattern.
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
