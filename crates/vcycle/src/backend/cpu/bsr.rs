//! The BSR kernel, with the sums of a block row in registers for the usual sizes of blocks.

use crate::backend::reference;
use crate::backend::reference::bsr::BsrArrays;
use crate::backend::reference::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

/// Adds one column of `A x` to the sums of the rows from `first` on, which begins a block row.
pub(crate) fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: BsrArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    match a.block {
        (2, 2) => add_sized::<M, X, Y, 2>(a, first, sums, x),
        (3, 3) => add_sized::<M, X, Y, 3>(a, first, sums, x),
        (6, 6) => add_sized::<M, X, Y, 6>(a, first, sums, x),
        _ => reference::bsr::add::<M, X, Y>(a, first, sums, x),
    }
}

fn add_sized<M: Mixes<X, Y>, X: Scalar, Y: Scalar, const N: usize>(
    a: BsrArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    for (node, sums) in (first / N..).zip(sums.chunks_exact_mut(N)) {
        let mut row: [Sum<M, X, Y>; N] = std::array::from_fn(|part| sums[part]);
        let places = a.offsets[node]..a.offsets[node + 1];
        let blocks = a.values[places.start * N * N..places.end * N * N].chunks_exact(N * N);
        for (&column, block) in a.columns[places].iter().zip(blocks) {
            let x: [_; N] = std::array::from_fn(|part| M::input(x[column as usize * N + part]));
            for (sum, values) in row.iter_mut().zip(block.chunks_exact(N)) {
                for (value, &x) in values.iter().zip(&x) {
                    *sum += value.matrix() * x;
                }
            }
        }
        sums.copy_from_slice(&row);
    }
}
