//! Products with a single vector in registers.
//!
//! Rows that repeat the row above, moved by one column, lie across the lanes: the vector is read
//! in order and columns not at all. Values of the vector for other rows are gathered.

use super::column::{LONG, RowSum, long_sum};
use super::lanes::{prefetch, store};
use super::moved::repeating;
use super::nodes::together;
use super::{Combination, Product};
use crate::cpu::stencil::Vectors;
use crate::runs::Alike;
use crate::scalar::{Field, Kind, Scalar};
use crate::simd::{Level, Simd, level};

/// The rows of `y`, `first` being the number of the first.
///
/// # Safety
/// The host has AVX2 at least. `product` keeps the promises of [`Product`], it has one column, and the places of its
/// `x` fit 31 bits. `A` is a real type; `X` is one that is no half and, like `M`, no wider than `A`. The rows from
/// `first` on, as many as in `y`, have in common what `alike` says.
pub(super) unsafe fn rows<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<A>,
    alike: Alike,
    first: usize,
    y: &mut [Y],
) {
    match level() {
        Level::Avx512 => rows_avx512(product, by, alike, first, y),
        _ => rows_avx2(product, by, alike, first, y),
    }
}

macro_rules! rows_of_level {
    ($($name:ident: $simd:ident, $singles:literal, $features:literal;)*) => {$(
        #[target_feature(enable = $features)]
        unsafe fn $name<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
            product: &Product<'_, M, X, Y>,
            by: &Combination<A>,
            alike: Alike,
            first: usize,
            y: &mut [Y],
        ) {
            const SINGLES: usize = $singles;
            const DOUBLES: usize = SINGLES / 2;
            // `sum` is called with rows of the product.
            if const { matches!(A::KIND, Kind::F32) } {
                // Closures have the instructions of the function they stand in.
                let sum = |columns: &[u32], values: &[M]| {
                    sum::<A::$simd, M, X, SINGLES>(columns, values, product.vectors.x)
                };
                run::<A::$simd, M, X, Y, SINGLES>(product, by, alike, first, y, &sum);
            } else {
                let sum = |columns: &[u32], values: &[M]| {
                    sum::<A::$simd, M, X, DOUBLES>(columns, values, product.vectors.x)
                };
                run::<A::$simd, M, X, Y, DOUBLES>(product, by, alike, first, y, &sum);
            }
        }
    )*};
}

rows_of_level! {
    rows_avx512: Avx512, 16, "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c";
    rows_avx2: Avx2, 8, "avx2,fma,f16c";
}

/// Rows that are alike in some way; `sum` is that of a single row.
///
/// # Safety
/// The host has the instructions of `S`, and `product` is as [`rows`] asks. The rows from `first` on, as
/// many as in `y`, are rows of its matrix and have in common what `alike` says.
#[inline(always)]
unsafe fn run<S: Simd, M: Scalar, X: Scalar, Y: Scalar, const LANES: usize>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<S::Real>,
    alike: Alike,
    first: usize,
    y: &mut [Y],
    sum: RowSum<'_, M, S::Real>,
) {
    match alike {
        Alike::Moved => repeating::<S, M, X, Y, LANES>(product, by, first, y),
        Alike::Same(2) => together::<S, M, X, Y, LANES, 2, false>(product, by, first, y),
        Alike::Same(3) => together::<S, M, X, Y, LANES, 3, false>(product, by, first, y),
        Alike::Same(4) => together::<S, M, X, Y, LANES, 4, false>(product, by, first, y),
        Alike::Nodes(2) => together::<S, M, X, Y, LANES, 2, true>(product, by, first, y),
        Alike::Nodes(3) => together::<S, M, X, Y, LANES, 3, true>(product, by, first, y),
        Alike::Nodes(4) => together::<S, M, X, Y, LANES, 4, true>(product, by, first, y),
        _ => groups::<S, M, X, Y, LANES>(product, by, first, y, sum),
    }
}

/// Rows without order, as many at a time as there are lanes.
///
/// # Safety
/// The host has the instructions of `S`, and `product` is as [`rows`] asks. The rows from `first` on, as
/// many as in `y`, are rows of its matrix.
#[inline(always)]
unsafe fn groups<S: Simd, M: Scalar, X: Scalar, Y: Scalar, const LANES: usize>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<S::Real>,
    first: usize,
    y: &mut [Y],
    sum: RowSum<'_, M, S::Real>,
) {
    let offsets = product.a.offsets;
    for (group, y) in y.chunks_mut(LANES).enumerate() {
        let row = first + group * LANES;
        if offsets[row + y.len()] - offsets[row] > LONG {
            one_by_one::<S, M, X, Y>(product, by, row, y, sum);
            continue;
        }
        // A chunk has at most `LANES` rows.
        let sums = gathered::<S, M, X, Y, LANES>(product, row, y.len());
        store::<S, M, X, Y, LANES>(product, by, (sums, 0), row, y);
    }
}

/// Rows of which at least one may be long.
#[cold]
fn one_by_one<S: Simd, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<S::Real>,
    first: usize,
    y: &mut [Y],
    sum: RowSum<'_, M, S::Real>,
) {
    for (row, y) in (first..).zip(y) {
        let (columns, values) = product.row(row);
        let value = long_sum(columns, values, sum);
        product
            .vectors
            .store(by, [value], (row, 0), std::array::from_mut(y));
    }
}

/// The sums of `count` rows from `first` on, row by lane.
///
/// # Safety
/// The host has the instructions of `S`, and `product` is as [`rows`] asks. The `count` rows from `first`
/// on, at most `LANES`, are rows of its matrix.
#[inline(always)]
unsafe fn gathered<S: Simd, M: Scalar, X: Scalar, Y: Scalar, const LANES: usize>(
    product: &Product<'_, M, X, Y>,
    first: usize,
    count: usize,
) -> S::Register {
    let mut rows = [S::zero(); LANES];
    for index in 0..count {
        let (columns, values) = product.row(first + index);
        rows[index] = lanes::<S, M, X>(columns, values, product.vectors.x);
    }
    S::sums(&mut rows)
}

/// The sum of a single row.
///
/// # Safety
/// The host has the instructions of `S`. There are as many values as columns, and columns are places of
/// `x` below `2^31`.
#[inline(always)]
unsafe fn sum<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> S::Real {
    let mut sum = [S::Real::from_f64(0.0); LANES];
    let mut rows = [S::zero(); LANES];
    rows[0] = lanes::<S, M, X>(columns, values, x);
    S::store(S::sums(&mut rows), &mut sum);
    sum[0]
}

/// The products of one row, summed in the lanes of a register.
#[inline(always)]
unsafe fn lanes<S: Simd, M: Scalar, X: Scalar>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> S::Register {
    let (mut columns, mut values, mut left) = (columns.as_ptr(), values.as_ptr(), columns.len());
    let mut sum = S::zero();
    while left > S::LANES {
        prefetch(values);
        prefetch(columns);
        let x = S::gather(x.as_ptr(), columns, S::LANES);
        sum = S::multiply_add(S::load(values, S::LANES), x, sum);
        (columns, values) = (columns.add(S::LANES), values.add(S::LANES));
        left -= S::LANES;
    }
    prefetch(values);
    prefetch(columns);
    let x = S::gather(x.as_ptr(), columns, left);
    S::multiply_add(S::load(values, left), x, sum)
}
