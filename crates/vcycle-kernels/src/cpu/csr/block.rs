//! Products with many vectors at once: every entry read serves all columns.

use super::{Neighbours, Product, store_any};
use crate::scalar::{Field, Scalar, convert};

/// Rows done for one block of columns before the next block: their entries stay in cache.
const ROWS: usize = 64;

/// All columns in blocks of the widths, the widest first.
macro_rules! in_blocks {
    ($product:ident, $first:ident, $y:ident, [$($width:literal),*]) => {
        let cols = $product.vectors.cols;
        for (index, y) in $y.chunks_mut(ROWS * cols).enumerate() {
            let (first, mut column) = ($first + index * ROWS, 0);
            $(while cols - column >= $width {
                block::<A, M, X, Y, $width>($product, first, column, y);
                column += $width;
            })*
        }
    };
}

/// The rows of `y`, `first` being the number of the first, on any processor and for any types.
pub(super) fn rows<A: Field, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    y: &mut [Y],
) {
    in_blocks!(product, first, y, [4, 1]);
}

/// The same with wide registers; the sums are the same bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn rows_avx2<A: Field, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    y: &mut [Y],
) {
    in_blocks!(product, first, y, [8, 4, 2, 1]);
}

/// `COLS` columns from `column` on.
#[inline(always)]
fn block<A: Field, M: Scalar, X: Scalar, Y: Scalar, const COLS: usize>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    column: usize,
    y: &mut [Y],
) {
    let cols = product.vectors.cols;
    let by = Neighbours::<A, COLS>::new(&product.vectors, column);
    for (row, y) in (first..).zip(y.chunks_exact_mut(cols)) {
        let mut sums = [A::zero(); COLS];
        let (columns, values) = product.row(row);
        for (&place, &value) in columns.iter().zip(values) {
            let start = place as usize * cols + column;
            // SAFETY: columns of the matrix are rows of `x`.
            let x = unsafe { product.vectors.x.get_unchecked(start..start + COLS) };
            let value = convert::<M, A>(value);
            for lane in 0..COLS {
                sums[lane] += value * convert::<X, A>(x[lane]);
            }
        }
        let y = &mut y[column..column + COLS];
        by.store(&sums, (row, column), y, |by, sums, place, y| {
            store_any(&product.vectors, by, sums, place, y);
        });
    }
}
