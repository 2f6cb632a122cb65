//! The BSR kernel, with the products of a block side by side for the usual sizes of blocks.

use std::marker::PhantomData;

use num_traits::Zero;

use crate::multiversion;
use crate::reference;
use crate::reference::bsr::BsrArrays;
use crate::reference::rows::{Column, Sum};
use crate::scalar::{Mixes, Scalar};

/// Adds one column of `A x` to the sums of the rows from `first` on, which begins a block row.
pub fn add<M: Mixes<X, Y>, X: Scalar, Y: Scalar>(
    a: BsrArrays<'_, M>,
    first: usize,
    sums: &mut [Sum<M, X, Y>],
    x: Column<'_, X>,
) {
    match a.block {
        (2, 2) => add_sized(a, first, sums, x, BlockShape::<Y, 2, 4>(PhantomData)),
        (3, 3) => add_sized(a, first, sums, x, BlockShape::<Y, 3, 9>(PhantomData)),
        (6, 6) => add_sized(a, first, sums, x, BlockShape::<Y, 6, 36>(PhantomData)),
        _ => reference::bsr::add::<M, X, Y>(a, first, sums, x),
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
        reference::bsr::add::<M, X, Y>(a, first, sums, x)
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
