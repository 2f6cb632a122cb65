//! Tiles of four rows and columns with a bitmap (mBSR).

use super::bsr::blocks_of;
use super::rowwise::{RowKernel, Rowwise, Shape, check_padding, rowwise_operator};
use super::{fill_rows, zeroed};
use crate::arrays::{SLOTS, TILE, TileArrays};
use crate::operations::rows::Part;
use crate::operations::tiles;
use crate::prelude::*;
use crate::reference::rows::{Column, Sum};

/// Rows and columns of a tile.
const SIDE: usize = TILE.rows;

/// A matrix in tiles of 4 by 4 whose entries a bitmap marks, the format mBSR of AmgT (Lu et al. 2024), with the fields of that paper.
///
/// A tile is stored where any of its places has an entry; bit `4 r + c` of its map says whether row `r` has an entry in
/// column `c`. It has all 16 values. The last tiles may reach beyond the matrix. A device
/// makes the tiles itself, and multiplies with them side by side in slices.
///
/// **Choose it** to repeat that paper, and on devices in half precision for matrices with six or more entries a tile.
///
/// ```
/// use vcycle::{executor::Executor, gallery, matrix::Mbsr};
/// let a = gallery::build("poisson27:5", &Executor::cpu())?.matrix;
/// let tiles = Mbsr::from_csr(&a)?;
/// assert_eq!(tiles.blc_map().iter().map(|map| map.count_ones() as usize).sum::<usize>(), a.nonzeros());
/// assert_eq!(tiles.blc_val().len(), 16 * tiles.blc_idx().len());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mbsr<T> {
    size: Size,
    entries: usize,
    arrays: TileArrays<T>,
    /// Bounds of row ranges, on the host.
    pieces: Vec<usize>,
    /// What a device multiplies with.
    there: Option<Csr<T>>,
}

rowwise_operator!(Mbsr);

impl<T: Scalar> Mbsr<T> {
    /// The same matrix, from CSR.
    ///
    /// # Errors
    /// When tiles would be nearly [empty](crate::error::Error::TooMuchPadding), or memory is short.
    pub fn from_csr(a: &Csr<T>) -> Result<Self> {
        let (arrays, there) = match tiles::pattern_of(a.pattern())? {
            Some(pattern) => {
                check(&pattern, a)?;
                let there = a.in_tiles()?;
                (tiles::filled(a, pattern)?, Some(there))
            }
            None => (filled(a)?, None),
        };
        let pieces = match there {
            Some(_) => Vec::new(),
            None => pieces(&arrays.pattern, a.size().rows),
        };
        Ok(Self {
            size: a.size(),
            entries: a.nonzeros(),
            arrays,
            pieces,
            there,
        })
    }

    /// The place of the first tile of every row of tiles, and at the end their number.
    pub fn blc_ptr(&self) -> &[usize] {
        self.arrays.pattern.offsets()
    }

    /// The column of every tile, counted in tiles.
    pub fn blc_idx(&self) -> &[u32] {
        self.arrays.pattern.columns()
    }

    /// The entries of every tile, as bits.
    pub fn blc_map(&self) -> &[u16] {
        self.arrays.maps.on_host()
    }

    /// The values of all tiles, each row by row.
    pub fn blc_val(&self) -> &[T] {
        self.arrays.values.on_host()
    }

    /// Map, first column and values of the tiles of a row of tiles.
    fn strip(&self, strip: usize) -> impl Iterator<Item = (u16, usize, &[T])> {
        let (maps, columns, values) = (self.blc_map(), self.blc_idx(), self.blc_val());
        (self.blc_ptr()[strip]..self.blc_ptr()[strip + 1]).map(move |tile| {
            let values = &values[tile * SLOTS..(tile + 1) * SLOTS];
            (maps[tile], columns[tile] as usize * SIDE, values)
        })
    }
}

/// Fails where tiles would be nearly empty.
fn check<T: Scalar>(pattern: &Pattern, a: &Csr<T>) -> Result<()> {
    let slots = pattern.nonzeros().saturating_mul(SLOTS);
    check_padding("mbsr", slots, a.nonzeros())
}

/// Bounds of ranges of whole rows of tiles.
fn pieces(pattern: &Pattern, rows: usize) -> Vec<usize> {
    let pieces = pattern.pieces().iter();
    pieces.map(|strip| rows.min(strip * SIDE)).collect()
}

/// The tiles of a matrix of the host.
fn filled<T: Scalar>(a: &Csr<T>) -> Result<TileArrays<T>> {
    let pattern = Arc::unwrap_or_clone(blocks_of(a, TILE)?);
    check(&pattern, a)?;
    let executor = a.executor();
    let mut maps = zeroed(executor, pattern.nonzeros())?;
    fill_rows(executor, pattern.offsets(), &mut maps, |strip, maps| {
        for (tile, bit, _) in entries_of(a, &pattern, strip) {
            maps[tile] |= 1 << bit;
        }
    });
    let firsts: Vec<usize> = pattern.offsets().iter().map(|at| at * SLOTS).collect();
    let mut values = zeroed(executor, firsts[firsts.len() - 1])?;
    fill_rows(executor, &firsts, &mut values, |strip, values| {
        for (tile, bit, value) in entries_of(a, &pattern, strip) {
            values[tile * SLOTS + bit] = value;
        }
    });
    Ok(TileArrays {
        maps: Buffer::from_vec(executor, maps),
        values: Buffer::from_vec(executor, values),
        pattern,
    })
}

/// Tile of a row of tiles, bit of its map and value of the entries there.
fn entries_of<T: Scalar>(
    a: &Csr<T>,
    pattern: &Pattern,
    strip: usize,
) -> impl Iterator<Item = (usize, usize, T)> {
    let tiles = &pattern.columns()[pattern.range(strip)];
    let rows = strip * SIDE..a.size().rows.min((strip + 1) * SIDE);
    rows.flat_map(move |row| {
        let (columns, values) = a.row(row);
        let mut tile = 0;
        let entries = columns.iter().zip(values);
        entries.map(move |(&column, &value)| {
            while tiles[tile] < column / SIDE as u32 {
                tile += 1;
            }
            (tile, row % SIDE * SIDE + column as usize % SIDE, value)
        })
    })
}

impl<T: Scalar> Rowwise<T> for Mbsr<T> {
    fn shape(&self) -> Shape<'_> {
        let a = &self.arrays;
        Shape {
            name: "mbsr product",
            size: self.size,
            executor: a.values.executor(),
            nonzeros: self.entries,
            bytes: a.pattern.bytes() + a.maps.bytes() + a.values.bytes(),
            pieces: &self.pieces,
            rows_together: SIDE,
            keeps_zeros: true,
        }
    }

    fn take_row(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<T>) {
        let within = row % SIDE * SIDE;
        for (map, column, tile) in self.strip(row / SIDE) {
            for place in (0..SIDE).filter(|place| map >> (within + place) & 1 == 1) {
                columns.push((column + place) as u32);
                values.push(tile[within + place]);
            }
        }
    }

    fn parts(&self) -> Result<Vec<Part<'_, T>>> {
        Ok(vec![Part::Rows(
            self.there.as_ref().expect("made for devices"),
        )])
    }

    fn rows_of_device(&self) -> Result<Option<Csr<T>>> {
        tiles::rows(&self.arrays, self.size)
    }
}

impl<T: Scalar> RowKernel<T> for Mbsr<T> {
    fn add<X: Scalar, Y: Scalar>(&self, first: usize, sums: &mut [Sum<T, X, Y>], x: Column<'_, X>)
    where
        T: Mixes<X, Y>,
    {
        for (strip, sums) in sums.chunks_mut(SIDE).enumerate() {
            for (mut map, column, values) in self.strip(first / SIDE + strip) {
                while map != 0 {
                    let bit = map.trailing_zeros() as usize;
                    map &= map - 1;
                    sums[bit / SIDE] += values[bit].matrix() * T::input(x[column + bit % SIDE]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Executor = Executor::Reference;

    /// Five rows and six columns, a zero among the entries.
    fn small(executor: &Executor) -> Csr<f64> {
        let offsets = vec![0, 2, 2, 3, 5, 6];
        let (columns, values) = (vec![0, 5, 1, 0, 4, 5], vec![1.0, 2.0, 0.0, 4.0, 5.0, 6.0]);
        Csr::from_canonical(executor, Size::new(5, 6), offsets, columns, values)
    }

    #[test]
    fn fields_are_those_of_the_paper() {
        for executor in [HOST].into_iter().chain(device()) {
            let tiles = Mbsr::from_csr(&small(&executor)).unwrap();
            assert_eq!(tiles.blc_ptr(), [0, 2, 3]);
            assert_eq!(tiles.blc_idx(), [0, 1, 1]);
            assert_eq!(
                tiles.blc_map(),
                [0b0001_0010_0000_0001, 0b0001_0000_0000_0010, 0b10]
            );
            assert_eq!((tiles.blc_val()[12], tiles.blc_val()[16 + 1]), (4.0, 2.0));
            assert_eq!((tiles.nonzeros(), tiles.blc_val().len()), (6, 48));
        }
    }
}
