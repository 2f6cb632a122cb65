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
            let sums = reduce_ranges::<T, { TILE * TILE }>(threads, rows, 1, |rows| {
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
        let mut sums = [T::Arith::zero(); TILE * TILE];
        let ([x, y], [p, q]) = (vectors, widths);
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
}

/// `Y += X C` with coefficients row after row: one for each of `p` columns of `x` and `q` of `y`. A zero does not touch its column.
pub fn add_combination<T: Scalar>(
    threads: &Threads,
    (x, p): (&[T], usize),
    coefficients: &[T::Arith],
    (y, q): (&mut [T], usize),
) {
    threads.for_pieces(y, piece(q), |start, y| {
        let x = &x[start / q * p..][..y.len() / q * p];
        add_piece((x, p), coefficients, (y, q));
    });
}

multiversion! {
    fn add_piece[T: Scalar](x: (&[T], usize), coefficients: &[T::Arith], y: (&mut [T], usize)) {
        reference::columns::add_combination(x, coefficients, y);
    }
}
