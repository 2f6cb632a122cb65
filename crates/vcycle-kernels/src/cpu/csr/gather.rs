//! Products with a single vector in registers.
//!
//! Rows that repeat the row above, moved by one column, lie across the lanes: the vector is read
//! in order and columns not at all. Values of the vector for other rows are gathered.

use super::column::{LONG, RowSum, long_sum};
use super::nodes::together;
use super::{Combination, Product};
use crate::cpu::stencil::Vectors;
use crate::runs::Alike;
use crate::scalar::{Field, Kind, Scalar};
use crate::simd::{Level, Simd, level};

/// Bytes between what is read and what is asked for.
const AHEAD: usize = 2048;

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
    // SAFETY: the host has the instructions that `level` found, AVX2 at least; the product and its rows are as this
    // function asks.
    unsafe {
        match level() {
            Level::Avx512 => rows_avx512(product, by, alike, first, y),
            _ => rows_avx2(product, by, alike, first, y),
        }
    }
}

macro_rules! rows_of_level {
    ($($name:ident: $simd:ident, $singles:literal, $features:literal;)*) => {$(
        /// # Safety
        /// As for [`rows`].
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
            // SAFETY: these are the instructions of the registers, of which there is one for the type of the sums, `A`;
            // the product and its rows are as this function asks. `sum` is called with rows of the product.
            unsafe {
                if const { matches!(A::KIND, Kind::F32) } {
                    // Closures have the instructions of the function they stand in.
                    let sum = |columns: &[u32], values: &[M]| {
                        sum::<A::$simd, M, X, SINGLES>(columns, values, product.x)
                    };
                    run::<A::$simd, M, X, Y, SINGLES>(product, by, alike, first, y, &sum);
                } else {
                    let sum = |columns: &[u32], values: &[M]| {
                        sum::<A::$simd, M, X, DOUBLES>(columns, values, product.x)
                    };
                    run::<A::$simd, M, X, Y, DOUBLES>(product, by, alike, first, y, &sum);
                }
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
    // SAFETY: the host has the instructions of `S`, and columns of the matrix are places of `x`; the rows are `alike`.
    // These are conditions of this function.
    unsafe {
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
        // SAFETY: the host has the instructions of `S`, and columns of the matrix are places of `x`, conditions of
        // this function. A chunk has at most `LANES` rows.
        unsafe {
            let sums = gathered::<S, M, X, Y, LANES>(product, row, y.len());
            store::<S, M, X, Y, LANES>(product, by, sums, row, y);
        }
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
        product.store(by, [value], (row, 0), std::array::from_mut(y));
    }
}

/// Stores the combinations of the sums in a register.
///
/// # Safety
/// The host has the instructions of `S`.
#[inline(always)]
pub(super) unsafe fn store<S: Simd, M: Scalar, X: Scalar, Y: Scalar, const LANES: usize>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<S::Real>,
    register: S::Register,
    first: usize,
    y: &mut [Y],
) {
    // SAFETY: the host has the instructions of `S`, a condition of this function.
    let sums = unsafe { numbers::<S, LANES>(register) };
    match <&mut [Y; LANES]>::try_from(&mut *y) {
        Ok(y) => product.store(by, sums, (first, 0), y),
        Err(_) => store_some(product, by, &sums, first, y),
    }
}

/// The lanes of a register.
///
/// # Safety
/// The host has the instructions of `S`.
#[inline(always)]
unsafe fn numbers<S: Simd, const LANES: usize>(register: S::Register) -> [S::Real; LANES] {
    let mut lanes = [S::Real::from_f64(0.0); LANES];
    // SAFETY: the host has the instructions of `S`, a condition of this function; `LANES` numbers for `LANES` lanes.
    unsafe { S::store(register, &mut lanes) };
    lanes
}

/// Stores the combinations of the first sums, one for each of `y`. A call, not a copy at the end of every
/// kernel: runs of rows end with it once.
#[inline(never)]
fn store_some<A: Field, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<A>,
    sums: &[A],
    first: usize,
    y: &mut [Y],
) {
    for (index, (y, &sum)) in y.iter_mut().zip(sums).enumerate() {
        product.store(by, [sum], (first + index, 0), std::array::from_mut(y));
    }
}

/// Rows that repeat the first. Of the pattern only that one is read.
///
/// # Safety
/// The host has the instructions of `S`, and `product` is as [`rows`] asks. Each of the rows from `first`
/// on, as many as in `y`, has the columns of the row before it, moved by one.
#[inline(always)]
unsafe fn repeating<S: Simd, M: Scalar, X: Scalar, Y: Scalar, const LANES: usize>(
    product: &Product<'_, M, X, Y>,
    by: &Combination<S::Real>,
    first: usize,
    y: &mut [Y],
) {
    let (columns, _) = product.row(first);
    let start = product.a.offsets[first];
    let all = y.len();
    for (block, y) in y.chunks_mut(LANES).enumerate() {
        let lead = block * LANES;
        // The last rows once more, of which the first are there already.
        let (from, count) = match y.len() < LANES && all > LANES {
            true => (all - LANES, LANES),
            false => (lead, y.len()),
        };
        // SAFETY: the `count` rows from `first + from` on are among those of this function, which repeat the first:
        // they are as long as it, so their values begin there, and `x` is readable at every column of `first` moved by
        // `from` up to `from + count - 1`.
        let sums = unsafe {
            let values = product.a.values.as_ptr().add(start + from * columns.len());
            let x = product.x.as_ptr().add(from);
            numbers::<S, LANES>(moved_sums::<S, M, X, LANES>(columns, values, x, count))
        };
        match <&mut [Y; LANES]>::try_from(&mut *y) {
            Ok(y) => product.store(by, sums, (first + lead, 0), y),
            Err(_) => store_some(product, by, &sums[count - y.len()..], first + lead, y),
        }
    }
}

/// The sums of `count` rows with these columns, each row moved by one, row by lane.
///
/// # Safety
/// The host has the instructions of `S`, and `count` is at most `LANES`. `values` points to `count` rows of as many
/// values as there are columns, and for every column `count` numbers are readable from `x + column` on.
#[inline(always)]
unsafe fn moved_sums<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
    count: usize,
) -> S::Register {
    // SAFETY: `values` points to `count` rows, and from `x + column` on `count` numbers are readable for every column,
    // conditions of this function. A constant count is compiled without branches.
    unsafe {
        match (count == LANES, columns.len() <= LANES) {
            (true, true) => one_square::<S, M, X, LANES>(columns, values, x),
            (true, false) => across::<S, M, X, LANES>(columns, values, x, LANES),
            (false, _) => across::<S, M, X, LANES>(columns, values, x, count),
        }
    }
}

/// The sums of rows with these columns, each row moved by one, row by lane.
///
/// # Safety
/// As for [`moved_sums`].
#[inline(always)]
unsafe fn across<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
    count: usize,
) -> S::Register {
    let length = columns.len();
    // SAFETY: `values` points to `count` rows of `length` values, and from `x + column` on `count` numbers are
    // readable for every column, conditions of this function.
    unsafe {
        let mut sums = [S::zero(); 2];
        let (squares, rest) = columns.as_chunks::<LANES>();
        for (index, columns) in squares.iter().enumerate() {
            let square = square::<S, M, LANES>(values.add(index * LANES), length, count, LANES);
            for lane in 0..LANES {
                let x = S::load(x.add(columns[lane] as usize), count);
                sums[lane % 2] = S::multiply_add(square[lane], x, sums[lane % 2]);
            }
        }
        if !rest.is_empty() {
            let values = values.add(length - rest.len());
            let square = square::<S, M, LANES>(values, length, count, rest.len());
            for lane in 0..LANES {
                if lane < rest.len() {
                    let x = S::load(x.add(rest[lane] as usize), count);
                    sums[lane % 2] = S::multiply_add(square[lane], x, sums[lane % 2]);
                }
            }
        }
        S::add(sums[0], sums[1])
    }
}

/// As [`across`], of as many rows as lanes and no more columns.
///
/// # Safety
/// As for [`moved_sums`] with `count` equal to `LANES`; there are at most `LANES` columns.
#[inline(always)]
unsafe fn one_square<S: Simd, M: Scalar, X: Scalar, const LANES: usize>(
    columns: &[u32],
    values: *const M,
    x: *const X,
) -> S::Register {
    // SAFETY: `values` points to `LANES` rows of as many values as there are columns, at most `LANES`, and from
    // `x + column` on `LANES` numbers are readable for every column, conditions of this function.
    unsafe {
        let square = square::<S, M, LANES>(values, columns.len(), LANES, columns.len());
        let mut sum = S::zero();
        for lane in 0..LANES {
            if lane < columns.len() {
                let x = S::load(x.add(columns[lane] as usize), LANES);
                sum = S::multiply_add(square[lane], x, sum);
            }
        }
        sum
    }
}

/// The first `width` values of `count` rows of some `length`, row by lane.
///
/// # Safety
/// The host has the instructions of `S`; `width` is at most `LANES`. From `values` on there are `count` rows, `length`
/// apart, of at least `width` values.
#[inline(always)]
unsafe fn square<S: Simd, M: Scalar, const LANES: usize>(
    values: *const M,
    length: usize,
    count: usize,
    width: usize,
) -> [S::Register; LANES] {
    // SAFETY: `values` points to `count` rows, `length` apart, of at least `width <= LANES` values, a condition of
    // this function.
    unsafe {
        let mut square = [S::zero(); LANES];
        for row in 0..LANES {
            if row < count {
                let values = values.add(row * length);
                prefetch(values);
                square[row] = S::load(values, width);
            }
        }
        S::transpose(&mut square);
        square
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
    // SAFETY: the host has the instructions of `S`, and columns of the matrix are places of `x`; `count` is at
    // most `LANES`. These are conditions of this function.
    unsafe {
        let mut rows = [S::zero(); LANES];
        for index in 0..count {
            let (columns, values) = product.row(first + index);
            rows[index] = lanes::<S, M, X>(columns, values, product.x);
        }
        S::sums(&mut rows)
    }
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
    // SAFETY: the host has the instructions of `S`, and columns are places of `x`, conditions of this function.
    unsafe {
        let mut rows = [S::zero(); LANES];
        rows[0] = lanes::<S, M, X>(columns, values, x);
        S::store(S::sums(&mut rows), &mut sum);
    }
    sum[0]
}

/// Asks for what will be read soon; the processor's own prefetching ends at every page.
#[inline(always)]
pub(super) fn prefetch<T>(from: *const T) {
    let ahead = from.cast::<i8>().wrapping_add(AHEAD);
    // SAFETY: a hint, allowed for any address.
    unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(ahead) };
}

/// The products of one row, summed in the lanes of a register.
///
/// # Safety
/// As for [`sum`].
#[inline(always)]
unsafe fn lanes<S: Simd, M: Scalar, X: Scalar>(
    columns: &[u32],
    values: &[M],
    x: &[X],
) -> S::Register {
    let (mut columns, mut values, mut left) = (columns.as_ptr(), values.as_ptr(), columns.len());
    // SAFETY: columns are places of `x`, a condition of this function; both pointers move on only while more than a
    // register is left.
    unsafe {
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
}
