//! Tiles of four rows and columns with a bitmap.

use super::Pattern;
use crate::executor::Buffer;
use crate::size::Size;

/// The size of a tile.
pub(crate) const TILE: Size = Size { rows: 4, cols: 4 };
/// Values of a tile.
pub(crate) const SLOTS: usize = TILE.rows * TILE.cols;

/// A matrix in tiles, of any executor.
#[derive(Clone, Debug)]
pub(crate) struct TileArrays<T> {
    /// Where tiles stand: a row for every four rows of the matrix.
    pub pattern: Pattern,
    /// The entries of every tile: bit `4 r + c` for that of row `r` in column `c`.
    pub maps: Buffer<u16>,
    /// All 16 values of every tile, zeros where there is no entry.
    pub values: Buffer<T>,
}
