//! Short rows of different lengths: first all products, then the sums of rows.
//!
//! Unpredictable lengths make every branch on them a frequent misprediction. Here the
//! products of many rows are formed as if they were one row; a row's part of them is then loaded
//! with a mask, and the rows of a square of registers are summed together.

use std::ops::Range;

use super::lanes::{prefetch, store};
use super::{Combination, Product};
use crate::cpu::stencil::Vectors;
use crate::runs::SHORT;
use crate::scalar::{Field, Kind, Scalar};
use crate::simd::{Level, Simd, level};

/// Rows at a time: their products stay in the first cache.
const ROWS: usize = 64;
/// The widest register.
const WIDEST: usize = 16;

/// The products of some rows.
type Products<S> = [<S as Simd>::Real; ROWS * SHORT + WIDEST];

/// Rows from `first` on, all [short](crate::runs::Alike::Short).
///
/// # Safety
/// As for [`gather::rows`](super::gather::rows); the rows have at most [`SHORT`] entries.
pub(super) unsafe fn rows<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<A>,
    first: usize,
    y: &mut [Y],
) {
    match level() {
        Level::Avx512 => rows_avx512(product, by, first, y),
        _ => rows_avx2(product, by, first, y),
    }
}

macro_rules! rows_of_level {
    ($($name:ident: $simd:ident, $singles:literal, $features:literal;)*) => {$(
        #[target_feature(enable = $features)]
        unsafe fn $name<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
            product: &Product<'_, M, X, Y>,
            by: &Combination<A>,
            first: usize,
            y: &mut [Y],
        ) {
            if const { matches!(A::KIND, Kind::F32) } {
                blocks::<A::$simd, M, X, Y, $singles>(product, by, first, y);
            } else {
                blocks::<A::$simd, M, X, Y, { $singles / 2 }>(product, by, first, y);
            }
        }
    )*};
}

rows_of_level! {
    rows_avx512: Avx512, 16, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    rows_avx2: Avx2, 8, "avx2,fma,f16c";
}

/// Blocks of rows from `first` on.
///
/// # Safety
/// The host has the instructions of `S`, and `product` is as [`rows`] asks. The rows from `first` on, as
/// many as in `y`, are rows of its matrix with at most [`SHORT`] entries.
#[inline(always)]
unsafe fn blocks<S: Simd, M: Scalar, X: Scalar, Y: Scalar, const LANES: usize>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<S::Real>,
    first: usize,
    y: &mut [Y],
) {
    let mut products = [S::Real::from_f64(0.0); ROWS * SHORT + WIDEST];
    for (block, y) in y.chunks_mut(ROWS).enumerate() {
        let first = first + block * ROWS;
        let offsets = &product.a.offsets[first..=first + y.len()];
        // A block has at most `ROWS` of them, whose products fit into `products`.
        multiply::<S, M, X, Y>(product, offsets[0]..offsets[y.len()], &mut products);
        for (square, y) in y.chunks_mut(LANES).enumerate() {
            let row = square * LANES;
            let ends = &offsets[row..=row + y.len()];
            let sums = sums_of::<S, LANES>(ends, offsets[0], &products);
            store::<S, M, X, Y, LANES>(product, by, (sums, 0), first + row, y);
        }
    }
}

/// The products of a range of entries.
///
/// # Safety
/// The host has the instructions of `S`, and `product` is as [`rows`] asks.
#[inline(always)]
unsafe fn multiply<S: Simd, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    entries: Range<usize>,
    products: &mut Products<S>,
) {
    let columns = &product.a.columns[entries.clone()];
    let values = &product.a.values[entries];
    let parts = columns.chunks(S::LANES).zip(values.chunks(S::LANES));
    for (part, (columns, values)) in parts.enumerate() {
        prefetch(values.as_ptr());
        prefetch(columns.as_ptr());
        let x = S::gather(product.vectors.x.as_ptr(), columns.as_ptr(), columns.len());
        let values = S::load(values.as_ptr(), values.len());
        let to = &mut products[part * S::LANES..][..S::LANES];
        S::store(S::multiply_add(values, x, S::zero()), to);
    }
}

/// The sums of rows that end where `offsets` say, row by lane; `base` is the place of the first
/// product.
///
/// # Safety
/// The host has the instructions of `S`. Rows have at most [`SHORT`] products, and at most `ROWS * SHORT` in all.
#[inline(always)]
unsafe fn sums_of<S: Simd, const LANES: usize>(
    offsets: &[usize],
    base: usize,
    products: &Products<S>,
) -> S::Register {
    let mut starts = [products.as_ptr(); LANES];
    let mut counts = [0; LANES];
    for (row, ends) in offsets.windows(2).enumerate() {
        starts[row] = products[ends[0] - base..].as_ptr();
        counts[row] = ends[1] - ends[0];
    }
    if const { LANES >= SHORT } {
        return S::short_sums(starts, counts);
    }
    let mut rows = [S::zero(); LANES];
    for row in 0..LANES {
        let rest = counts[row].saturating_sub(LANES);
        rows[row] = S::add(
            S::load(starts[row], counts[row] - rest),
            S::load(starts[row].add(LANES), rest),
        );
    }
    S::sums(&mut rows)
}
