//! Tiles of four rows and columns with a bitmap (mBSR).

use std::borrow::Cow;

use super::rowwise::{self, Rowwise, check_padding, rowwise_operator};
use super::{Csr, zeroed};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::linop::{Footprint, LinOp, Size, Transpose};
use crate::operations::rows::Part;
use crate::reference::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};
use crate::vector::{Coefficient, Vector};
use crate::workspace::Workspace;

/// Rows and columns of a tile.
const SIDE: usize = 4;
/// The size of a tile.
pub(super) const TILE: Size = Size {
    rows: SIDE,
    cols: SIDE,
};
/// Values of a tile.
const SLOTS: usize = SIDE * SIDE;

/// A matrix in tiles of 4 by 4 whose entries a bitmap tells, the format mBSR of AmgT (Lu et al. 2024), with the fields of that paper.
///
/// A tile is stored where any of its places has an entry, with all 16 values; bit `4 r + c` of its map says whether row `r` has an entry in
/// column `c`. The last tiles may reach beyond the matrix. A device multiplies with tiles side by side in slices, without looking at maps.
///
/// **Choose it** to repeat that paper, and on devices in half precision for matrices with six or more entries a tile.
///
/// ```
/// use vcycle::{executor::Executor, gallery, matrix::Mbsr};
/// let a = gallery::build("poisson27:5", &Executor::cpu())?.matrix;
/// let tiles = Mbsr::from_csr(&a)?;
/// assert_eq!(tiles.blc_map().iter().map(|map| map.count_ones() as usize).sum::<usize>(), a.nonzeros());
/// # Ok::<(), vcycle::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Mbsr<T> {
    size: Size,
    blc_ptr: Vec<usize>,
    blc_idx: Vec<u32>,
    blc_map: Vec<u16>,
    blc_val: Buffer<T>,
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
        let strips = a.size().rows.div_ceil(SIDE);
        let (mut blc_ptr, mut blc_idx, mut blc_map) = (vec![0], Vec::new(), Vec::new());
        for strip in 0..strips {
            let mut found: Vec<(u32, u16)> = entries_of(a, strip)
                .map(|(bit, column, _)| (column / SIDE as u32, 1 << bit))
                .collect();
            found.sort_unstable();
            for tile in found.chunk_by(|one, other| one.0 == other.0) {
                blc_idx.push(tile[0].0);
                blc_map.push(tile.iter().fold(0, |map, (_, bit)| map | bit));
            }
            blc_ptr.push(blc_idx.len());
        }
        let slots = blc_idx.len().saturating_mul(SLOTS);
        check_padding("mbsr", slots, a.nonzeros())?;
        let mut values: Vec<T> = zeroed(a.executor(), slots)?;
        for strip in 0..strips {
            let first = blc_ptr[strip];
            let tiles = &blc_idx[first..blc_ptr[strip + 1]];
            for (bit, column, value) in entries_of(a, strip) {
                let tile = first + tiles.partition_point(|&tile| tile < column / SIDE as u32);
                values[tile * SLOTS + bit] = value;
            }
        }
        let there = match a.executor().is_device() {
            true => Some(a.on_device_in(Some(TILE))?),
            false => None,
        };
        Ok(Self {
            size: a.size(),
            blc_ptr,
            blc_idx,
            blc_map,
            blc_val: Buffer::from_vec(a.executor(), values),
            pieces: a.pattern().pieces().to_vec(),
            there,
        })
    }

    /// The place of the first tile of every row of tiles, and at the end their number.
    pub fn blc_ptr(&self) -> &[usize] {
        &self.blc_ptr
    }

    /// The column of every tile, counted in tiles.
    pub fn blc_idx(&self) -> &[u32] {
        &self.blc_idx
    }

    /// The entries of every tile, as bits.
    pub fn blc_map(&self) -> &[u16] {
        &self.blc_map
    }

    /// The values of all tiles, each row by row.
    pub fn blc_val(&self) -> &[T] {
        self.blc_val.host().expect("made on the host")
    }

    /// Column and value of the entries of a row.
    fn row(&self, row: usize) -> impl Iterator<Item = (usize, T)> {
        let (strip, within) = (row / SIDE, row % SIDE * SIDE);
        let tiles = self.blc_ptr[strip]..self.blc_ptr[strip + 1];
        tiles.flat_map(move |tile| {
            let (map, column) = (self.blc_map[tile], self.blc_idx[tile] as usize * SIDE);
            let values = &self.blc_val()[tile * SLOTS + within..][..SIDE];
            let there = (0..SIDE).filter(move |place| map >> (within + place) & 1 == 1);
            there.map(move |place| (column + place, values[place]))
        })
    }
}

/// Bit of the map, column and value of the entries of a row of tiles.
fn entries_of<T: Scalar>(a: &Csr<T>, strip: usize) -> impl Iterator<Item = (usize, u32, T)> {
    let rows = strip * SIDE..a.size().rows.min((strip + 1) * SIDE);
    rows.flat_map(move |row| {
        let (columns, values) = a.row(row);
        let bit = move |column: u32| row % SIDE * SIDE + column as usize % SIDE;
        let entries = columns.iter().zip(values);
        entries.map(move |(&column, &value)| (bit(column), column, value))
    })
}

impl<T: Scalar> Rowwise for Mbsr<T> {
    type Value = T;
    const NAME: &'static str = "mbsr product";

    fn size(&self) -> Size {
        self.size
    }

    fn executor(&self) -> &Executor {
        self.blc_val.executor()
    }

    fn nonzeros(&self) -> usize {
        let maps = self.blc_map.iter();
        maps.map(|map| map.count_ones() as usize).sum()
    }

    fn bytes(&self) -> usize {
        let (ptr, idx) = (size_of_val(self.blc_ptr()), size_of_val(self.blc_idx()));
        ptr + idx + size_of_val(self.blc_map()) + self.blc_val.bytes()
    }

    fn entries(&self) -> impl Iterator<Item = (usize, usize, T)> {
        let row = |row| {
            self.row(row)
                .map(move |(column, value)| (row, column, value))
        };
        (0..self.size.rows).flat_map(row)
    }

    fn pieces(&self) -> &[usize] {
        &self.pieces
    }

    fn parts(&self) -> Result<Vec<Part<'_, T>>> {
        Ok(vec![Part::Rows(
            self.there.as_ref().expect("made for devices"),
        )])
    }

    fn add<X: Scalar, Y: Scalar>(&self, first: usize, sums: &mut [Sum<T, X, Y>], x: Column<'_, X>)
    where
        T: Mixes<X, Y>,
    {
        for (row, sum) in sums.iter_mut().enumerate() {
            for (column, value) in self.row(first + row) {
                *sum += value.matrix() * T::input(x[column]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::device;

    const HOST: Executor = Executor::Reference;

    /// Five rows and six columns, a zero among the entries.
    fn small(executor: &Executor) -> Csr<f64> {
        let offsets = vec![0, 2, 2, 3, 5, 6];
        let (columns, values) = (vec![0, 5, 1, 0, 4, 5], vec![1.0, 2.0, 0.0, 4.0, 5.0, 6.0]);
        Csr::from_canonical(executor, Size::new(5, 6), offsets, columns, values)
    }

    #[test]
    fn fields_are_those_of_the_paper() {
        let tiles = Mbsr::from_csr(&small(&HOST)).unwrap();
        assert_eq!(tiles.blc_ptr(), [0, 2, 3]);
        assert_eq!(tiles.blc_idx(), [0, 1, 1]);
        assert_eq!(
            tiles.blc_map(),
            [0b0001_0010_0000_0001, 0b0001_0000_0000_0010, 0b10]
        );
        assert_eq!((tiles.blc_val()[12], tiles.blc_val()[16 + 1]), (4.0, 2.0));
        assert_eq!(tiles.nonzeros(), 6);
    }

    #[test]
    fn it_comes_back_with_its_zeros() {
        let (a, back) = (
            small(&HOST),
            Mbsr::from_csr(&small(&HOST)).unwrap().to_csr(),
        );
        assert_eq!((a.offsets(), a.columns()), (back.offsets(), back.columns()));
        assert_eq!(a.values(), back.values());
    }

    #[test]
    fn products_are_those_of_compressed_rows() {
        let executors = [HOST, Executor::cpu()].into_iter().chain(device());
        for executor in executors {
            let a = small(&executor);
            for cols in [1, 3] {
                let x = (0..6 * cols).map(|i| i as f64 - 4.0).collect();
                let x = Vector::from_rows(&executor, cols, x).unwrap();
                let product = |a: &dyn LinOp<f64>| {
                    let mut y = Vector::<f64>::zeros(&executor, 5, cols).unwrap();
                    a.apply(&x, &mut y, &Workspace::new()).unwrap();
                    y.to_vec()
                };
                let tiles = Mbsr::from_csr(&a).unwrap();
                assert_eq!(product(&tiles), product(&a));
                let x = Vector::from_rows(&executor, cols, vec![3.0; 5 * cols]).unwrap();
                let transposed = |a: &dyn LinOp<f64>| {
                    let mut y = Vector::<f64>::zeros(&executor, 6, cols).unwrap();
                    a.apply_transposed(Transpose::Plain, &x, &mut y, &Workspace::new())
                        .unwrap();
                    y.to_vec()
                };
                assert_eq!(transposed(&tiles), transposed(&a));
            }
        }
    }
}
