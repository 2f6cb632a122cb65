//! Products of matrices in tiles of 4 by 4 with bitmaps (mBSR), as AmgT forms them.

use crate::arrays::{Csr, SLOTS, TileArrays};
use crate::error::Result;
use crate::gpu::{kernels::tile_products as kernels, literal};
use crate::launch::Queue;
use crate::operations::products::factors::are_plain;
use crate::operations::products::tables::Product;
use crate::scalar::Scalar;
use crate::size::Size;

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
        let (mut maps, mut values) = (self.room(count)?, self.room(count * SLOTS)?);
        let strips = pattern.size().rows;
        let mean = count / strips.max(1);
        let [short, long] = WINDOWS;
        let window = if mean <= short / 2 { short } else { long };
        self.gpu.real(T::KIND)?;
        kernels::tile_product(
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
