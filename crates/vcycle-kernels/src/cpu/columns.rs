//! Vectors of several columns taken as matrices, as in [`reference::columns`].

use std::ops::Range;

use num_traits::Zero;

use super::Threads;
use super::vector::{piece, reduce_ranges};
use crate::multiversion;
use crate::reference;
use crate::scalar::{Field, Scalar};

/// Columns of either vector whose products are found in one pass.
const TILE: usize = 4;

/// `out = X^H Y`, row after row, of `p` columns of `x` and `q` of `y`.
pub fn products<T: Scalar>(
    threads: &Threads,
    (x, p): (&[T], usize),
    (y, q): (&[T], usize),
    out: &mut [T::Arith],
) {
    let rows = x.len().checked_div(p).unwrap_or(0);
    for first in (0..p).step_by(TILE) {
        for second in (0..q).step_by(TILE) {
            let columns = [first..(first + TILE).min(p), second..(second + TILE).min(q)];
            let sums = reduce_ranges::<T, { TILE * TILE }>(threads, rows, 1, &|rows| {
                let parts = [
                    &x[rows.start * p..rows.end * p],
                    &y[rows.start * q..rows.end * q],
                ];
                tile(parts, [p, q], columns.clone())
            });
            for (row, i) in columns[0].clone().enumerate() {
                for (column, j) in columns[1].clone().enumerate() {
                    out[i * q + j] = sums[row * TILE + column];
                }
            }
        }
    }
}

multiversion! {
    fn tile[T: Scalar](vectors: [&[T]; 2], widths: [usize; 2], columns: [Range<usize>; 2]) -> [T::Arith; TILE * TILE] {
        let first = [columns[0].start, columns[1].start];
        match [columns[0].len(), columns[1].len()] {
            [1, 1] if widths == [1, 1] => one_column(vectors),
            [1, 1] => tile_of::<T, 1, 1>(vectors, widths, first),
            [TILE, 1] => tile_of::<T, TILE, 1>(vectors, widths, first),
            [1, TILE] => tile_of::<T, 1, TILE>(vectors, widths, first),
            [TILE, TILE] => tile_of::<T, TILE, TILE>(vectors, widths, first),
            _ => any_tile(vectors, widths, columns),
        }
    }
}

/// Products of `P` and `Q` columns from the given ones on.
#[inline(always)]
fn tile_of<T: Scalar, const P: usize, const Q: usize>(
    [x, y]: [&[T]; 2],
    [p, q]: [usize; 2],
    first: [usize; 2],
) -> [T::Arith; TILE * TILE] {
    let mut sums = [[T::Arith::zero(); Q]; P];
    for (x, y) in x.chunks_exact(p).zip(y.chunks_exact(q)) {
        let (x, y) = (&x[first[0]..][..P], &y[first[1]..][..Q]);
        for (sums, x) in sums.iter_mut().zip(x) {
            let x = x.load().conj();
            for (sum, y) in sums.iter_mut().zip(y) {
                *sum += x * y.load();
            }
        }
    }
    let mut tile = [T::Arith::zero(); TILE * TILE];
    for (tile, sums) in tile.chunks_exact_mut(TILE).zip(&sums) {
        tile[..Q].copy_from_slice(sums);
    }
    tile
}

/// The product of vectors of one column, in sums that do not wait for each other.
#[inline(always)]
fn one_column<T: Scalar>([x, y]: [&[T]; 2]) -> [T::Arith; TILE * TILE] {
    let mut sums = [T::Arith::zero(); TILE * TILE];
    for (x, y) in x.chunks(sums.len()).zip(y.chunks(sums.len())) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x.load().conj() * y.load();
        }
    }
    let all = sums.iter().copied().sum();
    let mut tile = [T::Arith::zero(); TILE * TILE];
    tile[0] = all;
    tile
}

#[inline(always)]
fn any_tile<T: Scalar>(
    [x, y]: [&[T]; 2],
    [p, q]: [usize; 2],
    columns: [Range<usize>; 2],
) -> [T::Arith; TILE * TILE] {
    let mut sums = [T::Arith::zero(); TILE * TILE];
    for (x, y) in x.chunks_exact(p).zip(y.chunks_exact(q)) {
        let (x, y) = (&x[columns[0].clone()], &y[columns[1].clone()]);
        for (sums, x) in sums.chunks_exact_mut(TILE).zip(x) {
            let x = x.load().conj();
            for (sum, y) in sums.iter_mut().zip(y) {
                *sum += x * y.load();
            }
        }
    }
    sums
}

/// `Y += X C` with coefficients row after row: one for each of `p` columns of `x` and `q` of `y`. A zero does not touch its column.
pub fn add_combination<T: Scalar>(
    threads: &Threads,
    (x, p): (&[T], usize),
    coefficients: &[T::Arith],
    (y, q): (&mut [T], usize),
) {
    threads.for_pieces(y, piece(q), &|start, y| {
        let x = &x[start / q * p..][..y.len() / q * p];
        add_piece((x, p), coefficients, (y, q));
    });
}

multiversion! {
    fn add_piece[T: Scalar](x: (&[T], usize), coefficients: &[T::Arith], y: (&mut [T], usize)) {
        let has_zeros = coefficients.iter().any(Zero::is_zero);
        match y.1 {
            _ if has_zeros => reference::columns::add_combination(x, coefficients, y),
            1 if x.1 == 1 => add_column(x.0, coefficients[0], y.0),
            1 => add_to::<T, 1>(x, coefficients, y.0),
            4 => add_to::<T, 4>(x, coefficients, y.0),
            8 => add_to::<T, 8>(x, coefficients, y.0),
            _ => reference::columns::add_combination(x, coefficients, y),
        }
    }
}

#[inline(always)]
fn add_column<T: Scalar>(x: &[T], coefficient: T::Arith, y: &mut [T]) {
    for (x, y) in x.iter().zip(y) {
        *y = T::store(y.load() + coefficient * x.load());
    }
}

/// The same for `Q` columns of `y` and coefficients that are not zero.
#[inline(always)]
fn add_to<T: Scalar, const Q: usize>(
    (x, p): (&[T], usize),
    coefficients: &[T::Arith],
    y: &mut [T],
) {
    for (x, y) in x.chunks_exact(p).zip(y.chunks_exact_mut(Q)) {
        let mut sums = [T::Arith::zero(); Q];
        for (sum, y) in sums.iter_mut().zip(&*y) {
            *sum = y.load();
        }
        for (x, coefficients) in x.iter().zip(coefficients.chunks_exact(Q)) {
            let x = x.load();
            for (sum, coefficient) in sums.iter_mut().zip(coefficients) {
                *sum += *coefficient * x;
            }
        }
        for (sum, y) in sums.into_iter().zip(y) {
            *y = T::store(sum);
        }
    }
}
