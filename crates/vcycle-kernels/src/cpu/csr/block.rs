//! Products with many vectors at once: every entry read serves all columns.

use num_traits::Zero;

use super::Product;
use crate::multiversion;
use crate::scalar::{Mixes, Scalar};

/// Rows done for one block of columns before the next block: their entries stay in cache.
const ROWS: usize = 64;

/// The rows of `y`, `first` being the number of the first.
pub(super) fn rows<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    y: &mut [Y],
) {
    let cols = product.cols;
    for (index, y) in y.chunks_mut(ROWS * cols).enumerate() {
        let first = first + index * ROWS;
        let mut column = 0;
        while column < cols {
            column += match cols - column {
                8.. => block(product, first, column, y, [(); 8]),
                4.. => block(product, first, column, y, [(); 4]),
                2.. => block(product, first, column, y, [(); 2]),
                _ => block(product, first, column, y, [(); 1]),
            };
        }
    }
}

multiversion! {
    /// `COLS` columns from `column` on; returns their number.
    fn block[M: Mixes<X, Y>, X: Scalar, Y: Scalar, const COLS: usize](
        product: &Product<'_, M, X, Y>,
        first: usize,
        column: usize,
        y: &mut [Y],
        _cols: [(); COLS],
    ) -> usize {
        let cols = product.cols;
        let by: [_; COLS] = std::array::from_fn(|lane| product.combination(column + lane));
        for (row, y) in (first..).zip(y.chunks_exact_mut(cols)) {
            let mut sums = [M::Accumulator::zero(); COLS];
            let (columns, values) = product.row(row);
            for (&place, value) in columns.iter().zip(values) {
                let start = place as usize * cols + column;
                // SAFETY: columns of the matrix are rows of `x`, of `cols` numbers each: see [`Product`].
                let x = unsafe { product.x.get_unchecked(start..start + COLS) };
                let value = value.matrix();
                for lane in 0..COLS {
                    sums[lane] += value * M::input(x[lane]);
                }
            }
            for lane in 0..COLS {
                let place = column + lane;
                let y = std::array::from_mut(&mut y[place]);
                product.store(&by[lane], [sums[lane]], (row, place), y);
            }
        }
        COLS
    }
}
