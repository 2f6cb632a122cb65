//! Kernels of the formats that multiply row by row: each adds one column of `A x` to the sums of some rows, the entries of a
//! row in their order.

use std::marker::PhantomData;

use num_traits::Zero;

use super::csr::Operands;
use crate::multiversion;
use crate::reference::rows::{Column, Sum};
use crate::scalar::{Field, Mixes, Scalar};

/// Rows whose sums are formed together: their part of the matrix stays in the first-level cache
/// while the columns of the vectors take turns.
const BLOCK: usize = 256;

/// A product over the rows from `first` on, which `y` holds.
///
/// `add(first, sums, column)` adds the entries of one column of `A x` to the sums of the rows
/// from its `first` on; it gets whole groups of `group` rows. Behind a pointer, so that this is compiled once
/// for all formats.
pub fn product<A: Field, X: Scalar, Y: Scalar>(
    first: usize,
    y: &mut [Y],
    group: usize,
    vectors: &Operands<'_, X, Y>,
    add: &dyn Fn(usize, &mut [A], usize),
) {
    let mut sums = [A::zero(); BLOCK];
    let (rows, cols) = (BLOCK / group * group, vectors.cols);
    for (block, y) in y.chunks_mut(rows * cols.max(1)).enumerate() {
        let first = first + block * rows;
        let sums = &mut sums[..y.len() / cols];
        for column in 0..cols {
            sums.fill(A::zero());
            add(first, sums, column);
            let by = vectors.combination::<A>(column);
            let targets = y.iter_mut().skip(column).step_by(cols).zip(&*sums);
            for (row, (y, &sum)) in (first..).zip(targets) {
                vectors.store(&by, [sum], (row, column), std::array::from_mut(y));
            }
        }
    }
}

/// The column of a slot that holds no entry. No matrix has that many columns, so it lies outside
/// every vector too.
pub const PADDING: u32 = u32::MAX;

/// The arrays of a matrix with slots for every row: slot `s` of row `r` at `s * stride + r`, entries before padding.
#[derive(Clone, Copy)]
pub struct SlotArrays<'a, M> {
    /// Rows, and thereby the distance between two slots of a row.
    pub stride: usize,
    /// The column of every slot, [`PADDING`] where it holds no entry.
    pub columns: &'a [u32],
    /// The value of every slot.
    pub values: &'a [M],
}

impl<M: Scalar> SlotArrays<'_, M> {
    /// Adds to the sums of the rows from `first` on, slot after slot, so that memory is read in the order it lies.
    pub fn add<X: Scalar, Y: Scalar>(
        self,
        first: usize,
        sums: &mut [Sum<M, X, Y>],
        x: Column<'_, X>,
    ) where
        M: Mixes<X, Y>,
    {
        for start in (first..self.columns.len()).step_by(self.stride) {
            let slots = self.columns[start..].iter().zip(&self.values[start..]);
            for (sum, (&place, &value)) in sums.iter_mut().zip(slots) {
                // Padding lies outside of x: the check of the bound skips it.
                if let Some(x) = x.get(place as usize) {
                    *sum += value.matrix() * M::input(x);
                }
            }
        }
    }
}

/// The arrays of a COO matrix, sorted by row.
#[derive(Clone, Copy)]
pub struct CooArrays<'a, M> {
    /// The row of every entry.
    pub rows: &'a [u32],
    /// The column of every entry.
    pub columns: &'a [u32],
    /// The value of every entry.
    pub values: &'a [M],
}

impl<M: Scalar> CooArrays<'_, M> {
    /// Adds to the sums of the rows from `first` on.
    pub fn add<X: Scalar, Y: Scalar>(
        self,
        first: usize,
        sums: &mut [Sum<M, X, Y>],
        x: Column<'_, X>,
    ) where
        M: Mixes<X, Y>,
    {
        let start = self.rows.partition_point(|&row| (row as usize) < first);
        for entry in start..self.rows.len() {
            let Some(sum) = sums.get_mut(self.rows[entry] as usize - first) else {
                return;
            };
            *sum += self.values[entry].matrix() * M::input(x[self.columns[entry] as usize]);
        }
    }
}

/// Rows of a dense matrix that share an input entry, so that additions do not wait for each other.
const LANES: usize = 4;

/// Adds to the sums of the rows from `first` on of a dense matrix, whose rows have `width` values each, one after the other.
pub fn add_dense<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    (values, width): (&[M], usize),
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    let row = |row: usize| &values[row * width..][..width];
    let (groups, tail) = sums.as_chunks_mut::<LANES>();
    let tail_first = first + groups.len() * LANES;
    for (group, sums) in groups.iter_mut().enumerate() {
        let rows: [&[M]; LANES] = std::array::from_fn(|lane| row(first + group * LANES + lane));
        for place in 0..width {
            let x = M::input(x[place]);
            for lane in 0..LANES {
                sums[lane] += rows[lane][place].matrix() * x;
            }
        }
    }
    for (number, sum) in (tail_first..).zip(tail) {
        for (place, value) in row(number).iter().enumerate() {
            *sum += value.matrix() * M::input(x[place]);
        }
    }
}

/// The arrays of a BSR matrix: blocks in the order of CSR, each row by row.
#[derive(Clone, Copy)]
pub struct BsrArrays<'a, M> {
    /// The place of the first block of every row of blocks, and at the end the number of blocks.
    pub offsets: &'a [usize],
    /// The column of every block, counted in blocks.
    pub columns: &'a [u32],
    /// The entries of all blocks.
    pub values: &'a [M],
    /// Rows and columns of a block.
    pub block: (usize, usize),
}

impl<'a, M: Scalar> BsrArrays<'a, M> {
    /// The first column and the values of the blocks of one row.
    pub fn row(self, row: usize) -> impl Iterator<Item = (usize, &'a [M])> {
        let (rows, cols) = self.block;
        let node = row / rows;
        (self.offsets[node]..self.offsets[node + 1]).map(move |place| {
            let first = (place * rows + row % rows) * cols;
            let column = self.columns[place] as usize * cols;
            (column, &self.values[first..first + cols])
        })
    }

    /// Adds to the sums of the rows from `first` on, which begins a block row. The products of a block are formed side by side
    /// for the usual sizes of blocks.
    pub fn add<X: Scalar, Y: Scalar>(
        self,
        first: usize,
        sums: &mut [Sum<M, X, Y>],
        x: Column<'_, X>,
    ) where
        M: Mixes<X, Y>,
    {
        match self.block {
            (2, 2) => add_sized(self, first, sums, x, BlockShape::<Y, 2, 4>(PhantomData)),
            (3, 3) => add_sized(self, first, sums, x, BlockShape::<Y, 3, 9>(PhantomData)),
            (6, 6) => add_sized(self, first, sums, x, BlockShape::<Y, 6, 36>(PhantomData)),
            _ => self.add_any(first, sums, x),
        }
    }

    /// The same for blocks of any size.
    fn add_any<X: Scalar, Y: Scalar>(
        self,
        first: usize,
        sums: &mut [Sum<M, X, Y>],
        x: Column<'_, X>,
    ) where
        M: Mixes<X, Y>,
    {
        for (row, sum) in (first..).zip(sums) {
            for (column, values) in self.row(row) {
                for (place, value) in (column..).zip(values) {
                    *sum += value.matrix() * M::input(x[place]);
                }
            }
        }
    }
}

/// Vectors of `Y` and blocks of `N` rows with `ALL` entries.
struct BlockShape<Y, const N: usize, const ALL: usize>(PhantomData<Y>);

multiversion! {
    /// Every entry of a block has its own sum, so that all products of a block share instructions;
    /// those of a row are added at its end.
    fn add_sized[M: Mixes<X, Y>, X: Scalar, Y: Scalar, const N: usize, const ALL: usize](
        a: BsrArrays<'_, M>,
        first: usize,
        sums: &mut [Sum<M, X, Y>],
        x: Column<'_, X>,
        _shape: BlockShape<Y, N, ALL>,
    ) {
        for (node, sums) in (first / N..).zip(sums.chunks_exact_mut(N)) {
            let mut parts = [Sum::<M, X, Y>::zero(); ALL];
            let places = a.offsets[node]..a.offsets[node + 1];
            let blocks = a.values[places.start * ALL..places.end * ALL].as_chunks::<ALL>().0;
            for (&column, block) in a.columns[places].iter().zip(blocks) {
                let x: [_; N] = inputs::<M, X, Y, N>(x, column as usize * N);
                for part in 0..ALL {
                    parts[part] += block[part].matrix() * x[part % N];
                }
            }
            for (sum, parts) in sums.iter_mut().zip(parts.chunks_exact(N)) {
                parts.iter().for_each(|part| *sum += *part);
            }
        }
    } else {
        a.add_any::<X, Y>(first, sums, x)
    }
}

/// The entries of `x` for one block.
#[inline(always)]
fn inputs<M: Mixes<X, Y>, X: Scalar, Y: Scalar, const N: usize>(
    x: Column<'_, X>,
    first: usize,
) -> [Sum<M, X, Y>; N] {
    if x.cols != 1 {
        return std::array::from_fn(|part| M::input(x[first + part]));
    }
    let x = &x.values[first..first + N];
    std::array::from_fn(|part| M::input(x[part]))
}
