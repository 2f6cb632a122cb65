//! Tiles of 4 by 4 with bitmaps: from rows and back.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::strips::{block_pattern, digit};
use super::transpose::word;
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern, SLOTS, TILE, TileArrays};
use crate::error::Result;
use crate::gpu::{Define, File, kernels};
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = kernels::mbsr::FILE;

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
        let [offsets, columns] = a.pattern().device()?.map(Argument::Address);
        let arguments = [
            &[number(strips), number(a.size().rows), offsets, columns],
            &pattern.device()?.map(Argument::Address)[..],
            &[
                read(a.values_buffer())?,
                write(&mut maps)?,
                write(&mut values)?,
            ],
        ];
        let arguments = arguments.concat();
        self.items(FILE, "fill_tiles", &defines::<T>(), strips, &arguments)?;
        Ok(TileArrays {
            pattern,
            maps,
            values,
        })
    }

    /// The same in rows, of a matrix of that size.
    pub(crate) fn rows_of_tiles<T: Scalar>(&self, a: &TileArrays<T>, size: Size) -> Result<Csr<T>> {
        let [tile_offsets, tile_columns] = a.pattern.device()?.map(Argument::Address);
        let (rows, maps) = (number(size.rows), read(&a.maps)?);
        let defines = defines::<T>();
        let mut lengths = self.room::<u32>(size.rows)?;
        let arguments = [rows, tile_offsets, maps, write(&mut lengths)?];
        self.items(FILE, "tile_lengths", &defines, size.rows, &arguments)?;
        let (offsets, entries) = self.offsets(&lengths)?;
        let (mut columns, mut values) = (self.room(entries)?, self.room(entries)?);
        let arguments = [
            rows,
            tile_offsets,
            tile_columns,
            maps,
            read(&a.values)?,
            read(&offsets)?,
            write(&mut columns)?,
            write(&mut values)?,
        ];
        self.items(FILE, "tiles_to_rows", &defines, size.rows, &arguments)?;
        let pattern = Pattern::of_buffers(size, offsets, columns);
        Ok(Csr::of_buffers(&Arc::new(pattern), values))
    }
}

fn defines<T>() -> [Define; 4] {
    [
        ("HEIGHT", digit(TILE.rows)),
        ("BREADTH", digit(TILE.cols)),
        ("VECTOR", "1"),
        ("WORD", word::<T>()),
    ]
}
