//! Vector kernels over pieces that fit the first-level cache.

use num_traits::Zero;
use rayon::prelude::*;

use super::Threads;
use crate::backend::reference;
use crate::error::Result;
use crate::scalar::{Field, Mixes, Scalar, convert_slice};
use crate::vector::{Coefficient, is_one};

/// Values in one piece of an elementwise operation.
const PIECE: usize = 4096;
/// A reduction has at most this many partial sums, whatever its length.
const PARTIAL_SUMS: usize = 256;
/// Independent sums inside a piece, so that additions do not wait for each other.
const LANES: usize = 16;

pub(crate) fn fill<T: Scalar>(threads: &Threads, value: T, y: &mut [T]) {
    threads.for_pieces(y, PIECE, |_, y| y.fill(value));
}

pub(crate) fn copy<S: Scalar, T: Scalar>(threads: &Threads, x: &[S], y: &mut [T]) {
    threads.for_pieces(y, PIECE, |start, y| {
        convert_slice(&x[start..start + y.len()], y);
    });
}

/// Whole rows in a piece.
fn piece(cols: usize) -> usize {
    (PIECE / cols.max(1)).max(1) * cols.max(1)
}

pub(crate) fn axpby<T: Scalar>(
    threads: &Threads,
    alpha: Coefficient<'_, T>,
    x: &[T],
    beta: Coefficient<'_, T>,
    y: &mut [T],
    cols: usize,
) -> Result<()> {
    if cols != 1 {
        threads.for_pieces(y, piece(cols), |start, y| {
            let x = &x[start..start + y.len()];
            // The coefficients were readable when the operands were checked.
            let _ = reference::vector::axpby(alpha, x, beta, y, cols);
        });
        return Ok(());
    }
    let (a, b) = (alpha.evaluate(0)?, beta.evaluate(0)?);
    if a.is_zero() && is_one(b) {
        return Ok(());
    }
    threads.for_pieces(y, PIECE, |start, y| {
        axpby_column(a, &x[start..start + y.len()], b, y);
    });
    Ok(())
}

fn axpby_column<T: Scalar>(a: T::Arith, x: &[T], b: T::Arith, y: &mut [T]) {
    let pairs = y.iter_mut().zip(x);
    if b.is_zero() {
        pairs.for_each(|(y, x)| *y = T::store(a * x.load()));
    } else if a.is_zero() {
        pairs.for_each(|(y, _)| *y = T::store(b * y.load()));
    } else if is_one(b) {
        pairs.for_each(|(y, x)| *y = T::store(a * x.load() + y.load()));
    } else {
        pairs.for_each(|(y, x)| *y = T::store(a * x.load() + b * y.load()));
    }
}

pub(crate) fn scale<T: Scalar>(
    threads: &Threads,
    alpha: Coefficient<'_, T>,
    y: &mut [T],
    cols: usize,
) -> Result<()> {
    threads.for_pieces(y, piece(cols), |_, y| {
        // The coefficient was readable when the operands were checked.
        let _ = reference::vector::scale(alpha, y, cols);
    });
    Ok(())
}

pub(crate) fn scale_rows<D: Mixes<T, T>, T: Scalar>(
    threads: &Threads,
    d: &[D],
    conjugate: bool,
    x: &[T],
    y: &mut [T],
    cols: usize,
) {
    threads.for_pieces(y, piece(cols), |start, y| {
        let rows = start / cols..(start + y.len()) / cols;
        reference::vector::scale_rows(&d[rows], conjugate, &x[start..start + y.len()], y, cols);
    });
}

pub(crate) fn dot<T: Scalar>(
    threads: &Threads,
    x: &[T],
    y: &[T],
    out: &mut [T::Arith],
    cols: usize,
) {
    for (column, out) in out.iter_mut().enumerate() {
        *out = reduce(threads, x.len(), cols, |start, end| match cols {
            1 => dot_column(&x[start..end], &y[start..end]),
            _ => dot_strided(&x[start..end], &y[start..end], column, cols),
        });
    }
}

/// Adds `part(start, end)` over pieces of whole rows, always in the same order.
fn reduce<A: Field>(
    threads: &Threads,
    length: usize,
    cols: usize,
    part: impl Fn(usize, usize) -> A + Sync + Send,
) -> A {
    let rows = length / cols.max(1);
    let step = rows.div_ceil(PARTIAL_SUMS).max(PIECE / cols.max(1)).max(1) * cols.max(1);
    let mut sums = [A::zero(); PARTIAL_SUMS];
    let pieces = length.div_ceil(step);
    let each = |(index, sum): (usize, &mut A)| {
        *sum = part(index * step, ((index + 1) * step).min(length));
    };
    match threads.worth(length * size_of::<A>()) {
        Some(pool) => pool.install(|| sums[..pieces].par_iter_mut().enumerate().for_each(each)),
        None => sums[..pieces].iter_mut().enumerate().for_each(each),
    }
    sums[..pieces].iter().copied().sum()
}

fn dot_column<T: Scalar>(x: &[T], y: &[T]) -> T::Arith {
    let mut lanes = [T::Arith::zero(); LANES];
    let (x_body, x_tail) = x.as_chunks::<LANES>();
    let (y_body, y_tail) = y.as_chunks::<LANES>();
    for (x, y) in x_body.iter().zip(y_body) {
        for lane in 0..LANES {
            lanes[lane] += x[lane].load().conj() * y[lane].load();
        }
    }
    let tail: T::Arith = x_tail
        .iter()
        .zip(y_tail)
        .map(|(x, y)| x.load().conj() * y.load())
        .sum();
    lanes.iter().copied().sum::<T::Arith>() + tail
}

fn dot_strided<T: Scalar>(x: &[T], y: &[T], column: usize, cols: usize) -> T::Arith {
    x.iter()
        .zip(y)
        .skip(column)
        .step_by(cols)
        .map(|(x, y)| x.load().conj() * y.load())
        .sum()
}
