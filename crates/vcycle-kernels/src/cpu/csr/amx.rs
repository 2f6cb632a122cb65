//! Several columns of vectors in bf16 by tiles (AMX): the rows of a node with 32 of their columns at a time.

use std::arch::x86_64::*;

use super::Product;
use super::wide::{self, Neighbours};
use crate::cpu::stencil::Vectors;
use crate::runs::{Alike, Run, runs_within};
use crate::scalar::{Field, Kind, Scalar, convert};
use crate::simd::amx::{DEPTH, SIDE, Tiles};
use crate::simd::{Level, level};

/// Nodes done for one group of columns before the next one: their values stay in cache.
const NODES: usize = 32;
/// Columns of vectors that tiles are worth it for.
const FEWEST: usize = 8;

/// Whether this host multiplies vectors of so many columns and these types by tiles.
pub(super) fn suits<M: Scalar, X: Scalar, Y: Scalar>(cols: usize) -> bool {
    let is_bf16 = [M::KIND, X::KIND, Y::KIND] == [Kind::Bf16; 3];
    is_bf16 && cols > 0 && cols.is_multiple_of(FEWEST) && level() == Level::Amx
}

/// The rows of `y`, `first` being the number of the first, for types and columns that [suit](suits).
///
/// # Safety
/// `product` keeps the promises of [`Product`], and what `runs` say of the rows from `first` on holds. Types and columns [suit](suits), for which the host has AVX-512 and AMX.
pub(super) unsafe fn rows<A: Vectors, M: Scalar, X: Scalar, Y: Scalar>(
    product: &Product<'_, M, X, Y>,
    runs: &[Run],
    first: usize,
    y: &mut [Y],
) {
    debug_assert!(suits::<M, X, Y>(product.cols));
    let cols = product.cols;
    let mut inputs = Vec::new();
    for (alike, rows) in runs_within(runs, first..first + y.len() / cols) {
        let y = &mut y[(rows.start - first) * cols..(rows.end - first) * cols];
        let (Alike::Same(size) | Alike::Nodes(size)) = alike else {
            let first = rows.start;
            // SAFETY: the host has AVX-512, nothing is said of these rows, and the rest are conditions of this function.
            unsafe { wide::rows::<A, M, X, Y>(product, &[Run { first, alike }], first, y) };
            continue;
        };
        let size = usize::from(size);
        for (batch, y) in y.chunks_mut(NODES * size * cols).enumerate() {
            let first = rows.start + batch * NODES * size;
            let mut column = 0;
            while column < cols {
                let width = if cols - column >= SIDE { SIDE } else { FEWEST };
                // SAFETY: conditions of this function; a run ends with a whole node.
                unsafe {
                    match width {
                        SIDE => nodes::<A, M, X, Y, SIDE>(
                            product,
                            (size, first, column),
                            &mut inputs,
                            y,
                        ),
                        _ => nodes::<A, M, X, Y, FEWEST>(
                            product,
                            (size, first, column),
                            &mut inputs,
                            y,
                        ),
                    }
                }
                column += width;
            }
        }
    }
}

/// `WIDTH` columns of nodes of so many rows, from a row and a column on.
///
/// # Safety
/// As for [`rows`]; the rows of each node have the same columns, and `WIDTH` is 8 or 16.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn nodes<A: Field, M: Scalar, X: Scalar, Y: Scalar, const WIDTH: usize>(
    product: &Product<'_, M, X, Y>,
    (size, first, column): (usize, usize, usize),
    inputs: &mut Vec<__m512i>,
    y: &mut [Y],
) {
    let cols = product.cols;
    let neighbours = Neighbours::<A, WIDTH>::new(product, column);
    // SAFETY: the host has AMX, a condition of this function, and these are the only tiles of the thread.
    let tiles = unsafe { Tiles::new(size, WIDTH) };
    let (mut last, mut sums) = ([0; SIDE * DEPTH], [0.0_f32; SIDE * SIDE]);
    for (node, y) in y.chunks_exact_mut(size * cols).enumerate() {
        let row = first + node * size;
        let (columns, values) = product.row(row);
        let (length, values) = (columns.len(), values.as_ptr().cast::<u16>());
        let whole = length.saturating_sub(1) / DEPTH;
        last[..size * DEPTH].fill(0);
        let pairs = (whole + 1) * DEPTH / 2;
        inputs.resize(inputs.len().max(pairs), _mm512_setzero_si512());
        // SAFETY: the rows of a node have the same columns, hence the same length, and their values follow each other. Columns are rows of `x`. `inputs`
        // has room for pairs of all columns, up to whole tiles.
        unsafe {
            for place in 0..size {
                let from = values.add(place * length + whole * DEPTH);
                let to = last.as_mut_ptr().add(place * DEPTH);
                from.copy_to_nonoverlapping(to, length - whole * DEPTH);
            }
            let x = product.x.as_ptr().cast::<u16>().add(column);
            let b = inputs.as_mut_ptr().cast::<u16>();
            pair_up::<WIDTH>(columns, (x, cols), b);
            let a = (values, size_of::<M>() * length, whole);
            tiles.multiply(a, last.as_ptr(), b, sums.as_mut_ptr());
        }
        for place in 0..size {
            let mut lanes = [A::zero(); WIDTH];
            for (lane, sum) in lanes.iter_mut().zip(&sums[place * WIDTH..]) {
                *lane = convert(*sum);
            }
            let y = &mut y[place * cols + column..][..WIDTH];
            neighbours.store(product, lanes, (row + place, column), y);
        }
    }
}

/// The rows of the input at `columns` in pairs: a number of one, that of the next, and so on, with zeros behind them up to a whole tile.
///
/// # Safety
/// The host has AVX-512. From every one of the rows of `x`, which has `cols` columns, `WIDTH` numbers are readable, 8 or 16, and there is room for the pairs of whole tiles.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn pair_up<const WIDTH: usize>(
    columns: &[u32],
    (x, cols): (*const u16, usize),
    mut to: *mut u16,
) {
    let (pairs, rest) = columns.as_chunks::<2>();
    let left = (columns.len().div_ceil(DEPTH).max(1) * DEPTH - columns.len()) / 2;
    // SAFETY: conditions of this function.
    unsafe {
        for &[one, other] in pairs {
            write::<WIDTH>(
                load::<WIDTH>(x.add(one as usize * cols)),
                load::<WIDTH>(x.add(other as usize * cols)),
                to,
            );
            to = to.add(2 * WIDTH);
        }
        for &one in rest {
            write::<WIDTH>(
                load::<WIDTH>(x.add(one as usize * cols)),
                _mm512_setzero_si512(),
                to,
            );
            to = to.add(2 * WIDTH);
        }
        to.write_bytes(0, left * 2 * WIDTH);
    }
}

/// `WIDTH` numbers, each in the lower half of a word.
///
/// # Safety
/// The host has AVX-512, and so many numbers are readable.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn load<const WIDTH: usize>(from: *const u16) -> __m512i {
    // SAFETY: conditions of this function; what is masked is not read.
    let numbers = unsafe { _mm256_maskz_loadu_epi16(mask::<WIDTH>(), from.cast()) };
    _mm512_cvtepu16_epi32(numbers)
}

/// Pairs of numbers.
///
/// # Safety
/// The host has AVX-512, and there is room for `WIDTH` pairs.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn write<const WIDTH: usize>(one: __m512i, other: __m512i, to: *mut u16) {
    let pairs = _mm512_or_si512(one, _mm512_slli_epi32::<16>(other));
    // SAFETY: conditions of this function; what is masked is not written.
    unsafe { _mm512_mask_storeu_epi32(to.cast(), mask::<WIDTH>(), pairs) };
}

/// A bit for each of `WIDTH` lanes.
const fn mask<const WIDTH: usize>() -> __mmask16 {
    (u16::MAX) >> (16 - WIDTH)
}
