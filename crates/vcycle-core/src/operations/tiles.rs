//! Tiles of 4 by 4 with bitmaps (mBSR): from rows and back, and products as AmgT forms them.

use vcycle_kernels::compiled_fn;

use super::on_device;
use crate::arrays::{SLOTS, TILE, TileArrays};
use crate::gpu::{kernels::mbsr as kernels, kernels::tile_products, word};
use crate::launch::prelude::*;
use crate::launch::strips::block_pattern;
use crate::operations::products::{Product, are_plain};

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
        let (mut maps, mut values) = (self.uninit(count)?, self.uninit(count * SLOTS)?);
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
        let mut lengths = self.uninit::<u32>(rows)?;
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

/// Tiles of a row of which a block has the sums at a time: for short rows and long ones.
const WINDOWS: [usize; 2] = [64, 128];

impl Queue<'_> {
    /// `A B` of matrices in dense tiles. Tiles of the product are found by their columns and maps in two passes, one that counts them and one that lists
    /// them, with rows of tiles grouped by how many there may be.
    fn multiply_tiles<T: Scalar>(
        &self,
        a: &TileArrays<T>,
        b: &TileArrays<T>,
    ) -> Result<TileArrays<T>> {
        let product = Product::of_tiles(*self, (&a.pattern, &a.maps), (&b.pattern, &b.maps))?;
        let pattern = product.symbolic()?;
        let count = pattern.nonzeros();
        let (mut maps, mut values) = (self.uninit(count)?, self.uninit(count * SLOTS)?);
        let strips = pattern.size().rows;
        let [short, long] = WINDOWS;
        let is_short = count / strips.max(1) <= short / 2;
        let window = if is_short { short } else { long };
        self.gpu.real(T::KIND)?;
        tile_products::tile_product(
            strips,
            (&a.pattern, &a.maps, &a.values),
            (&b.pattern, &b.maps, &b.values),
            &pattern,
            &mut maps,
            &mut values,
        )?
        .with(&[("SIZE", literal(window)), ("DENSE", dense::<T>())])
        .run(self.gpu, strips.div_ceil(2))?;
        Ok(TileArrays {
            pattern,
            maps,
            values,
        })
    }

    /// `A B` of matrices in rows, in tiles on the way; by entries for values that are not added in their own type.
    pub(crate) fn multiply_in_tiles<T: Scalar>(&self, a: &Csr<T>, b: &Csr<T>) -> Result<Csr<T>> {
        if !are_plain::<T>() {
            return self.multiply(a, b);
        }
        let tiled = |m: &Csr<T>| -> Result<TileArrays<T>> {
            self.fill_tiles(m, self.tile_pattern(m.pattern())?)
        };
        let left = tiled(a)?;
        let right = match std::ptr::eq(a, b) {
            true => None,
            false => Some(tiled(b)?),
        };
        let product = self.multiply_tiles(&left, right.as_ref().unwrap_or(&left))?;
        let size = Size::new(a.size().rows, b.size().cols);
        self.rows_of_tiles(&product, size)
    }
}

/// Entries of a tile of `A` from which tensor cores multiply, where they have the type. The paper has ten; on an H200 all tiles were faster: `A A` of `beam:o3,l3` took 15.1 ms
/// instead of 17.4, of `elasticity:60x20x20` 1.39 instead of 1.55.
fn dense<T: Scalar>() -> &'static str {
    match size_of::<T>() {
        8 => "1",
        _ => "17",
    }
}
