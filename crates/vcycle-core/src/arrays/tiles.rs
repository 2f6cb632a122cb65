//! Tiles of four rows and columns with a bitmap.

use super::Pattern;
use crate::executor::Buffer;
use crate::size::Size;

/// The size of a tile.
pub(crate) const TILE: Size = Size { rows: 4, cols: 4 };
/// Values of a tile.
pub(crate) const SLOTS: usize = TILE.rows * TILE.cols;

/// What is stored of the tiles of [`Mbsr`](crate::matrix::Mbsr).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tiles {
    /// All 16 values, zeros where there is no entry.
    Dense,
    /// The values of entries alone, row by row.
    Packed,
}

impl Tiles {
    /// Values of a tile with such a map.
    pub(crate) fn room(self, map: u16) -> usize {
        match self {
            Self::Dense => SLOTS,
            Self::Packed => map.count_ones() as usize,
        }
    }

    /// The place of an entry among them.
    pub(crate) fn place(self, map: u16, bit: usize) -> usize {
        match self {
            Self::Dense => bit,
            Self::Packed => (map & ((1 << bit) - 1)).count_ones() as usize,
        }
    }
}

/// A matrix in tiles, of any executor.
#[derive(Clone, Debug)]
pub(crate) struct TileArrays<T> {
    pub tiles: Tiles,
    /// Where tiles stand: a row for every four rows of the matrix.
    pub pattern: Pattern,
    /// The entries of every tile: bit `4 r + c` for that of row `r` in column `c`.
    pub maps: Buffer<u16>,
    /// Of packed tiles the first value of every row of tiles, and at the end their number.
    pub firsts: Option<Buffer<usize>>,
    pub values: Buffer<T>,
}
