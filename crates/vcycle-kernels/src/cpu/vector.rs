//! Vector kernels over pieces that fit the first-level cache.

use std::ops::Range;

use num_traits::{One, Zero};

use super::{Shared, Threads};
use crate::convert::convert_slice;
use crate::factor::Factor;
use crate::multiversion;
use crate::reference;
use crate::scalar::{Field, Mixes, Scalar};

/// Values in one piece of an elementwise operation.
pub(super) const PIECE: usize = 4096;
/// A reduction has at most this many partial sums, whatever its length.
const PARTIAL_SUMS: usize = 256;
/// Columns for which rows of several columns are cut.
const SEVERAL: usize = 8;
/// Independent sums inside a piece, so that additions do not wait for each other.
pub(super) const LANES: usize = 16;

/// `y = value` everywhere.
pub fn fill<T: Scalar>(threads: &Threads, value: T, y: &mut [T]) {
    threads.for_pieces(y, PIECE, &|_, y| y.fill(value));
}

/// `y = x`, converted; both are of one length.
pub fn copy<S: Scalar, T: Scalar>(threads: &Threads, x: &[S], y: &mut [T]) {
    threads.for_pieces(y, PIECE, &|start, y| {
        convert_slice(&x[start..start + y.len()], y);
    });
}

/// `y = s x` with a sign `s` per row that looks random.
pub fn flip_signs<T: Scalar>(threads: &Threads, x: &[T], y: &mut [T], cols: usize) {
    threads.for_pieces(y, piece(cols), &|start, y| {
        let x = &x[start..start + y.len()];
        reference::vector::flip_signs(start / cols, x, y, cols);
    });
}

/// Whole rows in a piece.
pub(super) fn piece(cols: usize) -> usize {
    (PIECE / cols.max(1)).max(1) * cols.max(1)
}

/// `y = alpha x + beta y`, column by column of `cols`.
pub fn axpby<T: Scalar>(
    threads: &Threads,
    alpha: Factor<'_, T>,
    x: &[T],
    beta: Factor<'_, T>,
    y: &mut [T],
    cols: usize,
) {
    if cols != 1 {
        threads.for_pieces(y, piece(cols), &|start, y| {
            let x = &x[start..start + y.len()];
            reference::vector::axpby(alpha, x, beta, y, cols);
        });
        return;
    }
    let (a, b) = (alpha.evaluate(0), beta.evaluate(0));
    if a.is_zero() && b.is_one() {
        return;
    }
    threads.for_pieces(y, PIECE, &|start, y| {
        axpby_column(a, &x[start..start + y.len()], b, y);
    });
}

multiversion! {
    fn axpby_column[T: Scalar](a: T::Arith, x: &[T], b: T::Arith, y: &mut [T]) {
        let pairs = y.iter_mut().zip(x);
        if b.is_zero() {
            pairs.for_each(|(y, x)| *y = T::store(a * x.load()));
        } else if a.is_zero() {
            pairs.for_each(|(y, _)| *y = T::store(b * y.load()));
        } else if b.is_one() {
            pairs.for_each(|(y, x)| *y = T::store(a * x.load() + y.load()));
        } else {
            pairs.for_each(|(y, x)| *y = T::store(a * x.load() + b * y.load()));
        }
    }
}

/// `y = alpha y`, column by column of `cols`.
pub fn scale<T: Scalar>(threads: &Threads, alpha: Factor<'_, T>, y: &mut [T], cols: usize) {
    if cols != 1 {
        threads.for_pieces(y, piece(cols), &|_, y| {
            reference::vector::scale(alpha, y, cols);
        });
        return;
    }
    let a = alpha.evaluate(0);
    if !a.is_one() {
        threads.for_pieces(y, PIECE, &|_, y| scale_column(a, y));
    }
}

multiversion! {
    fn scale_column[T: Scalar](a: T::Arith, y: &mut [T]) {
        if a.is_zero() {
            y.fill(T::default());
        } else {
            y.iter_mut().for_each(|y| *y = T::store(a * y.load()));
        }
    }
}

/// `y = d x` with one `d` per row, conjugated where asked.
pub fn scale_rows<D: Mixes<T, T>, T: Scalar>(
    threads: &Threads,
    d: &[D],
    conjugate: bool,
    x: &[T],
    y: &mut [T],
    cols: usize,
) {
    threads.for_pieces(y, piece(cols), &|start, y| {
        let rows = start / cols..(start + y.len()) / cols;
        scale_piece(&d[rows], conjugate, &x[start..start + y.len()], y, cols);
    });
}

multiversion! {
    fn scale_piece[D: Mixes<T, T>, T: Scalar](
        d: &[D],
        conjugate: bool,
        x: &[T],
        y: &mut [T],
        cols: usize,
    ) {
        if cols == 1 && !conjugate {
            for (y, (d, x)) in y.iter_mut().zip(d.iter().zip(x)) {
                *y = D::result(d.matrix() * D::input(*x));
            }
        } else {
            reference::vector::scale_rows(d, conjugate, x, y, cols);
        }
    }
}

/// `y = alpha d x + beta y` with one `d` per row, conjugated where asked.
pub fn combine_rows<D: Mixes<T, T>, T: Scalar>(
    threads: &Threads,
    alpha: Factor<'_, T>,
    (d, conjugate): (&[D], bool),
    x: &[T],
    beta: Factor<'_, T>,
    y: &mut [T],
    cols: usize,
) {
    let (a, b) = match cols {
        1 => (alpha.evaluate(0), beta.evaluate(0)),
        _ => (T::Arith::zero(), T::Arith::zero()),
    };
    let plain = !conjugate && !a.is_zero() && cols == 1;
    threads.for_pieces(y, piece(cols), &|start, y| {
        let (rows, x) = (
            start / cols..(start + y.len()) / cols,
            &x[start..start + y.len()],
        );
        if plain {
            combine_piece(D::coefficient(a), &d[rows], x, D::coefficient(b), y);
        } else {
            let d = (&d[rows], conjugate);
            reference::vector::combine_rows(alpha, d, x, beta, y, cols);
        }
    });
}

multiversion! {
    fn combine_piece[D: Mixes<T, T>, T: Scalar](
        a: D::Accumulator,
        d: &[D],
        x: &[T],
        b: D::Accumulator,
        y: &mut [T],
    ) {
        let rows = y.iter_mut().zip(d.iter().zip(x));
        if b.is_zero() {
            rows.for_each(|(y, (d, x))| *y = D::result(a * (d.matrix() * D::input(*x))));
        } else {
            rows.for_each(|(y, (d, x))| {
                *y = D::result(a * (d.matrix() * D::input(*x)) + b * D::output(*y));
            });
        }
    }
}

/// `out = sum of conj(x) y`, column by column: `out` has `cols` numbers.
pub fn dot<T: Scalar>(threads: &Threads, x: &[T], y: &[T], out: &mut [T::Arith], cols: usize) {
    if let [out] = out {
        [*out] = reduce(threads, x, 1, |start, x| {
            [dot_column(x, &y[start..start + x.len()])]
        });
        return;
    }
    let mut column = 0;
    while column < cols {
        column += match cols - column {
            8.. => dot_block::<T, 8>(threads, x, y, out, column),
            4.. => dot_block::<T, 4>(threads, x, y, out, column),
            2.. => dot_block::<T, 2>(threads, x, y, out, column),
            _ => dot_block::<T, 1>(threads, x, y, out, column),
        };
    }
}

/// `COLS` columns of a [`dot`] in one pass over the rows; returns their number.
fn dot_block<T: Scalar, const COLS: usize>(
    threads: &Threads,
    x: &[T],
    y: &[T],
    out: &mut [T::Arith],
    column: usize,
) -> usize {
    let cols = out.len();
    let sums = reduce(threads, x, cols, |start, x| {
        let mut sums = [T::Arith::zero(); COLS];
        dot_columns(x, &y[start..start + x.len()], column, cols, &mut sums);
        sums
    });
    out[column..column + COLS].copy_from_slice(&sums);
    COLS
}

/// Of one column, the products of `x` with `y` and with `z`.
pub fn dot2<T: Scalar>(threads: &Threads, x: &[T], y: &[T], z: &[T]) -> [T::Arith; 2] {
    reduce(threads, x, 1, |start, x| {
        let range = start..start + x.len();
        [dot_column(x, &y[range.clone()]), dot_column(x, &z[range])]
    })
}

/// `y = y + a x` of one column, and the square of its norm.
pub fn axpy_square<T: Scalar>(threads: &Threads, a: T::Arith, x: &[T], y: &mut [T]) -> T::Arith {
    assert_eq!(y.len(), x.len());
    let whole = Shared(y.as_mut_ptr());
    let [square] = reduce(threads, x, 1, |start, x| {
        // SAFETY: the pieces of a reduction do not overlap, and each is given to one call.
        let y = unsafe { whole.slice(start..start + x.len()) };
        let pieces = y.chunks_mut(PIECE).zip(x.chunks(PIECE));
        [pieces
            .map(|(y, x)| {
                axpby_column(a, x, T::Arith::one(), y);
                dot_column(y, y)
            })
            .sum()]
    });
    square
}

/// Values of whole rows in one part of a reduction. Of several columns each has the same parts whatever their number is,
/// so that the sums of those that go on do not change when others leave.
fn reduction_step(length: usize, cols: usize) -> usize {
    let rows = length / cols;
    let least = if cols == 1 { PIECE } else { PIECE / SEVERAL };
    rows.div_ceil(PARTIAL_SUMS).max(least) * cols
}

/// Adds `part(start, piece)` over pieces of whole rows of `x`, always in the same order.
pub(super) fn reduce<T: Scalar, const N: usize>(
    threads: &Threads,
    x: &[T],
    cols: usize,
    part: impl Fn(usize, &[T]) -> [T::Arith; N] + Sync + Send,
) -> [T::Arith; N] {
    reduce_ranges::<T, N>(threads, x.len(), cols, &|range| {
        part(range.start, &x[range])
    })
}

/// Adds `part(range)` over ranges of whole rows of vectors with `length` numbers, always in the same order. The part is behind
/// a pointer, so that this is compiled once for all reductions.
pub(super) fn reduce_ranges<T: Scalar, const N: usize>(
    threads: &Threads,
    length: usize,
    cols: usize,
    part: &(dyn Fn(Range<usize>) -> [T::Arith; N] + Sync),
) -> [T::Arith; N] {
    let step = reduction_step(length, cols);
    let mut sums = [[T::Arith::zero(); N]; PARTIAL_SUMS];
    let parts = Shared(sums.as_mut_ptr());
    threads.for_each(length.div_ceil(step), length * size_of::<T>(), &|index| {
        let range = index * step..((index + 1) * step).min(length);
        assert!(index < PARTIAL_SUMS);
        // SAFETY: the index is one of `sums`, and each is given to one call.
        unsafe { parts.slice(index..index + 1)[0] = part(range) };
    });
    std::array::from_fn(|lane| sums.iter().map(|sum| sum[lane]).sum())
}

multiversion! {
    pub(super) fn dot_column[T: Scalar](x: &[T], y: &[T]) -> T::Arith {
        let mut lanes = [T::Arith::zero(); LANES];
        let (x_body, x_tail) = x.as_chunks::<LANES>();
        let (y_body, y_tail) = y.as_chunks::<LANES>();
        for (x, y) in x_body.iter().zip(y_body) {
            for lane in 0..LANES {
                lanes[lane] += x[lane].load().conj() * y[lane].load();
            }
        }
        let mut sum: T::Arith = lanes.into_iter().sum();
        for (x, y) in x_tail.iter().zip(y_tail) {
            sum += x.load().conj() * y.load();
        }
        sum
    }
}

multiversion! {
    fn dot_columns[T: Scalar, const COLS: usize](
        x: &[T],
        y: &[T],
        column: usize,
        cols: usize,
        sums: &mut [T::Arith; COLS],
    ) {
        for (x, y) in x.chunks_exact(cols).zip(y.chunks_exact(cols)) {
            let (x, y) = (&x[column..column + COLS], &y[column..column + COLS]);
            for lane in 0..COLS {
                sums[lane] += x[lane].load().conj() * y[lane].load();
            }
        }
    }
}
