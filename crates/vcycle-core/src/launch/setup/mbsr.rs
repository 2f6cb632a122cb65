//! Tiles of 4 by 4 with bitmaps: from rows and back, and side by side in slices.

use std::sync::Arc;

use vcycle_gpu::Argument;

use super::slices::{LANES, Slices};
use super::strips::{block_pattern, digit};
use super::tiles::NOTHING;
use super::transpose::word;
use super::{Queue, number, read, write};
use crate::arrays::{Csr, Pattern, SLOTS, TILE, TileArrays, Tiles};
use crate::error::Result;
use crate::executor::{Buffer, Element};
use crate::gpu::{Define, File};
use crate::launch::rows::power;
use crate::scalar::Scalar;
use crate::size::Size;

pub(super) const FILE: File = File {
    name: "mbsr.c",
    text: concat!(
        include_str!("../../gpu/kernels/block_place.h"),
        include_str!("../../gpu/kernels/strip.h"),
        include_str!("../../gpu/kernels/mbsr.c")
    ),
    block: crate::gpu::BLOCK,
};

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
        tiles: Tiles,
        pattern: Pattern,
    ) -> Result<TileArrays<T>> {
        let count = pattern.nonzeros();
        let (slots, mut firsts) = match tiles {
            Tiles::Dense => (count * SLOTS, None),
            Tiles::Packed => (a.nonzeros(), Some(self.room(pattern.size().rows + 1)?)),
        };
        let (mut maps, mut values) = (self.room(count)?, self.room(slots)?);
        let arguments = [
            &strip_rows(a.pattern(), pattern.size().rows)?[..],
            &pattern.device()?.map(Argument::Address),
            &[read(a.values_buffer())?, write(&mut maps)?],
            &[firsts.as_mut().map_or(Ok(NOTHING), write)?],
            &[write(&mut values)?],
        ];
        let defines = defines::<T>(tiles, 1, MARKS);
        let strips = pattern.size().rows;
        self.items(FILE, "fill_tiles", &defines, strips, &arguments.concat())?;
        Ok(TileArrays {
            tiles,
            pattern,
            maps,
            firsts,
            values,
        })
    }

    /// The same in rows, of a matrix of that size.
    pub(crate) fn rows_of_tiles<T: Scalar>(&self, a: &TileArrays<T>, size: Size) -> Result<Csr<T>> {
        let [tile_offsets, tile_columns] = a.pattern.device()?.map(Argument::Address);
        let (rows, maps) = (number(size.rows), read(&a.maps)?);
        let defines = defines::<T>(a.tiles, 1, MARKS);
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
            a.firsts.as_ref().map_or(Ok(NOTHING), read)?,
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

/// What slices of packed tiles have beside those of dense blocks.
#[derive(Clone, Debug)]
pub(crate) struct PackedTiles {
    /// For every step of every lane the entries of its tile.
    pub maps: Buffer<u16>,
    /// Where the values of slices begin, in rows of as many values as there are lanes.
    pub firsts: Buffer<usize>,
    /// Such rows of all slices.
    count: usize,
}

impl PackedTiles {
    /// Of tiles in slices, of a matrix with that pattern.
    pub(super) fn new(
        queue: &Queue<'_>,
        pattern: &Pattern,
        tiles: &Pattern,
        slices: &Slices,
    ) -> Result<Self> {
        let mut maps = queue.room(slices.step_count * LANES)?;
        let mut sizes = queue.zeros::<u32>(slices.slice_count())?;
        let to = [write(&mut maps)?, write(&mut sizes)?];
        let more = [to[0], to[1], NOTHING, NOTHING, NOTHING];
        launch::<u32>(queue, (pattern, tiles, slices), more)?;
        let (firsts, count) = queue.offsets(&sizes)?;
        Ok(Self {
            maps,
            firsts,
            count,
        })
    }

    /// Values of a matrix of the pattern in this order.
    pub(super) fn place<T: Element>(
        &self,
        queue: &Queue<'_>,
        given: (&Pattern, &Pattern, &Slices),
        values: &Buffer<T>,
    ) -> Result<Buffer<T>> {
        let mut placed = queue.room(self.count * LANES)?;
        let (from, to) = ([read(&self.firsts)?, read(values)?], write(&mut placed)?);
        launch::<T>(queue, given, [NOTHING, NOTHING, from[0], from[1], to])?;
        Ok(placed)
    }
}

/// Queues `slice_tiles` for a matrix, its tiles and their slices.
fn launch<T>(
    queue: &Queue<'_>,
    (pattern, tiles, slices): (&Pattern, &Pattern, &Slices),
    more: [Argument; 5],
) -> Result<()> {
    let (mark, marks) = slices.marks.argument()?;
    let order = slices.order.as_ref();
    let order = order.map_or(Ok(NOTHING), read)?;
    let arguments = [
        &strip_rows(pattern, slices.rows)?[..],
        &[number(slices.slice_count()), order],
        &tiles.device()?.map(Argument::Address),
        &[read(&slices.starts)?, marks],
        &more,
    ];
    let defines = defines::<T>(Tiles::Packed, slices.threads, mark);
    let items = slices.slice_count() * LANES;
    queue.items(FILE, "slice_tiles", &defines, items, &arguments.concat())
}

/// `STRIP_ROWS` of `kernels/strip.h`.
fn strip_rows(pattern: &Pattern, strips: usize) -> Result<[Argument; 4]> {
    let [offsets, columns] = pattern.device()?.map(Argument::Address);
    let rows = pattern.size().rows;
    Ok([number(strips), number(rows), offsets, columns])
}

/// For kernels that have no type of marks.
const MARKS: Define = ("MARK", "u32");

fn defines<T>(tiles: Tiles, threads: usize, mark: Define) -> [Define; 7] {
    let is_packed = match tiles {
        Tiles::Dense => "0",
        Tiles::Packed => "1",
    };
    [
        ("HEIGHT", digit(TILE.rows)),
        ("BREADTH", digit(TILE.cols)),
        ("VECTOR", "1"),
        ("PACKED", is_packed),
        ("THREADS", power(threads)),
        mark,
        ("WORD", word::<T>()),
    ]
}
