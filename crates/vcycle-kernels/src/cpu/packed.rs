//! Vectors side by side in an array of codes, as in [`reference::packed`].

use std::ops::Range;

use num_traits::{Float, Zero};

use super::vector::{LANES, PIECE, dot_column, piece, reduce, reduce_ranges};
use super::{Shared, Threads};
use crate::multiversion;
use crate::reference;
use crate::reference::packed::Packing;
use crate::scalar::{Code, Field, RealOf, Scalar};

/// Vectors that one pass over `w` multiplies with.
pub const TOGETHER: usize = 8;

/// For every vector `v` and column of `cols` the sum of `conj(v) w`, without the factors of the vectors.
pub fn dots<S: Code, T: Scalar>(
    threads: &Threads,
    (codes, stride): (&[S], usize),
    w: &[T],
    cols: usize,
    out: &mut [T::Arith],
) {
    for (vector, out) in out.chunks_exact_mut(cols).enumerate() {
        let codes = &codes[vector * stride..][..w.len()];
        for (column, out) in out.iter_mut().enumerate() {
            [*out] = reduce(threads, w, cols, |start, w| {
                let codes = codes[start..].iter().skip(column).step_by(cols);
                let pairs = codes.zip(w.iter().skip(column).step_by(cols));
                let product = |(code, w): (&S, &T)| code.decode::<T::Arith>().conj() * w.load();
                [pairs.map(product).sum()]
            });
        }
    }
}

/// Some vectors of one column, from which a [`turn`] takes or with which it multiplies.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a, S> {
    /// The first vector and all that follows.
    pub codes: &'a [S],
    /// Codes from one vector to the next.
    pub stride: usize,
    /// How many vectors, at most [`TOGETHER`].
    pub count: usize,
}

impl<'a, S> Group<'a, S> {
    /// No vectors.
    pub const EMPTY: Self = Self {
        codes: &[],
        stride: 0,
        count: 0,
    };

    /// A range of rows of every vector.
    fn parts(self, rows: Range<usize>) -> impl Iterator<Item = &'a [S]> {
        let start = move |vector| vector * self.stride + rows.start;
        (0..self.count).map(move |vector| &self.codes[start(vector)..][..rows.len()])
    }

    /// Adds the products of a range of rows.
    fn add_products<T: Scalar>(self, rows: Range<usize>, w: &[T], sums: &mut [T::Arith])
    where
        S: Code,
    {
        for (sum, codes) in sums.iter_mut().zip(self.parts(rows)) {
            *sum += dot_codes(codes, w);
        }
    }
}

/// One turn of an orthogonalisation by groups, in one pass: `w += coefficient v` for the vectors of the `last` group,
/// then the products of `w` with those of the `next` one, without their factors. An empty `next` group stands for `w`
/// itself: the first number is the square of its norm.
///
/// Numbers of the last group are still in a cache from its own turn where it is small enough.
pub fn turn<S: Code, T: Scalar>(
    threads: &Threads,
    (last, coefficients): (Group<'_, S>, &[T::Arith]),
    next: Group<'_, S>,
    w: &mut [T],
) -> [T::Arith; TOGETHER] {
    let (length, whole) = (w.len(), Shared(w.as_mut_ptr()));
    piecewise::<T>(threads, length, &|rows, sums| {
        // SAFETY: the ranges of a reduction do not overlap, and each is given to one call.
        let w = unsafe { whole.slice(rows.clone()) };
        for (codes, &coefficient) in last.parts(rows.clone()).zip(coefficients) {
            if !coefficient.is_zero() {
                add_column(coefficient, codes, w);
            }
        }
        if next.count == 0 {
            sums[0] += dot_column(w, w);
        }
        next.add_products(rows, w, sums);
    })
}

/// Products of `w` with the vectors of a group, without their factors, in one pass.
pub fn multiply<S: Code, T: Scalar>(
    threads: &Threads,
    group: Group<'_, S>,
    w: &[T],
) -> [T::Arith; TOGETHER] {
    piecewise::<T>(threads, w.len(), &|rows, sums| {
        group.add_products(rows.clone(), &w[rows], sums);
    })
}

/// Adds the products of a piece of rows to sums.
type Add<'a, T> = dyn Fn(Range<usize>, &mut [<T as Scalar>::Arith; TOGETHER]) + Sync + 'a;

/// The sums of what `add` adds for pieces of `length` rows.
fn piecewise<T: Scalar>(
    threads: &Threads,
    length: usize,
    add: &Add<'_, T>,
) -> [T::Arith; TOGETHER] {
    reduce_ranges::<T, TOGETHER>(threads, length, 1, &|range| {
        let mut sums = [T::Arith::zero(); TOGETHER];
        for start in range.clone().step_by(PIECE) {
            add(start..(start + PIECE).min(range.end), &mut sums);
        }
        sums
    })
}

multiversion! {
    fn dot_codes[S: Code, T: Scalar](codes: &[S], w: &[T]) -> T::Arith {
        let mut lanes = [T::Arith::zero(); LANES];
        let (codes_body, codes_tail) = codes.as_chunks::<LANES>();
        let (w_body, w_tail) = w.as_chunks::<LANES>();
        for (codes, w) in codes_body.iter().zip(w_body) {
            for lane in 0..LANES {
                lanes[lane] += codes[lane].decode::<T::Arith>().conj() * w[lane].load();
            }
        }
        let mut sum: T::Arith = lanes.into_iter().sum();
        for (code, w) in codes_tail.iter().zip(w_tail) {
            sum += code.decode::<T::Arith>().conj() * w.load();
        }
        sum
    }
}

/// `w += coefficient v` for every vector, with a coefficient a column. A vector with the coefficient zero is not read.
pub fn combine<S: Code, T: Scalar>(
    threads: &Threads,
    (codes, stride): (&[S], usize),
    coefficients: &[T::Arith],
    w: &mut [T],
    cols: usize,
) {
    threads.for_pieces(w, piece(cols), &|start, w| {
        if cols != 1 {
            reference::packed::combine((codes, stride), coefficients, w, start, cols);
            return;
        }
        for (vector, &coefficient) in coefficients.iter().enumerate() {
            if !coefficient.is_zero() {
                add_column(coefficient, &codes[vector * stride + start..][..w.len()], w);
            }
        }
    });
}

/// [`combine`] with two vectors, each with coefficients of its own, in one pass over the others.
pub fn combine_both<T: Scalar>(
    threads: &Threads,
    (codes, stride): (&[T], usize),
    coefficients: [&[T::Arith]; 2],
    (z, w): (&mut [T], &mut [T]),
    cols: usize,
) {
    assert_eq!(z.len(), w.len());
    let whole = Shared(w.as_mut_ptr());
    threads.for_pieces(z, piece(cols), &|start, z| {
        // SAFETY: pieces of `z` do not overlap, and `w` has as many numbers.
        let w = unsafe { whole.slice(start..start + z.len()) };
        let [for_z, for_w] = coefficients;
        if cols != 1 {
            reference::packed::combine((codes, stride), for_z, z, start, cols);
            reference::packed::combine((codes, stride), for_w, w, start, cols);
            return;
        }
        for (vector, (&a, &b)) in for_z.iter().zip(for_w).enumerate() {
            let codes = &codes[vector * stride + start..][..z.len()];
            add_column(a, codes, z);
            add_column(b, codes, w);
        }
    });
}

/// `z` times the factor of its column becomes a vector, and `w` that factor times `w` and a multiple of the vector.
pub fn step<T: Scalar>(
    threads: &Threads,
    (factors, multiples): (&[T::Arith], &[T::Arith]),
    (z, w): (&mut [T], &mut [T]),
    next: &mut [T],
) {
    assert!(w.len() == z.len() && next.len() == z.len());
    let (w, next) = (Shared(w.as_mut_ptr()), Shared(next.as_mut_ptr()));
    threads.for_pieces(z, piece(factors.len()), &|start, z| {
        let range = start..start + z.len();
        // SAFETY: pieces of `z` do not overlap, and both others have as many numbers.
        let (w, next) = unsafe { (w.slice(range.clone()), next.slice(range)) };
        step_piece(factors, multiples, z, w, next);
    });
}

multiversion! {
    fn step_piece[T: Scalar](factors: &[T::Arith], multiples: &[T::Arith], z: &mut [T], w: &mut [T], next: &mut [T]) {
        reference::packed::step(factors, multiples, z, w, next);
    }
}

multiversion! {
    fn add_column[S: Code, T: Scalar](a: T::Arith, codes: &[S], w: &mut [T]) {
        for (w, code) in w.iter_mut().zip(codes) {
            *w = T::store(a * code.decode::<T::Arith>() + w.load());
        }
    }
}

/// The largest modulus of every column.
pub fn largest<T: Scalar>(threads: &Threads, w: &[T], largest: &mut [T::Arith]) {
    let cols = largest.len();
    for (column, largest) in largest.iter_mut().enumerate() {
        let mut most = [RealOf::<T>::zero(); MOST_PIECES];
        let step = (w.len() / cols).div_ceil(MOST_PIECES).max(PIECE) * cols;
        let parts = Shared(most.as_mut_ptr());
        threads.for_each(w.len().div_ceil(step), size_of_val(w), &|index| {
            let range = index * step..((index + 1) * step).min(w.len());
            assert!(index < MOST_PIECES);
            // SAFETY: the index is one of `most`, and each is given to one call.
            unsafe { parts.slice(index..index + 1)[0] = largest_of(&w[range], column, cols) };
        });
        *largest = T::Arith::from_real(most.into_iter().fold(Zero::zero(), Float::max));
    }
}

multiversion! {
    fn largest_of[T: Scalar](w: &[T], column: usize, cols: usize) -> RealOf<T> {
        let moduli = w.iter().skip(column).step_by(cols).map(|value| value.load().modulus());
        moduli.fold(Zero::zero(), Float::max)
    }
}

/// Pieces that the search for the largest number is cut into, at most.
const MOST_PIECES: usize = 64;

/// Numbers become codes, and then what the codes stand for.
pub fn pack<S: Code, T: Scalar>(
    threads: &Threads,
    packing: Packing<'_, T::Arith>,
    w: &mut [T],
    codes: &mut [S],
) {
    assert_eq!(codes.len(), w.len());
    let whole = Shared(codes.as_mut_ptr());
    threads.for_pieces(w, piece(packing.scales.len()), &|start, w| {
        // SAFETY: pieces of `w` do not overlap, and the codes are as many as its numbers.
        let codes = unsafe { whole.slice(start..start + w.len()) };
        pack_piece(packing, w, codes);
    });
}

multiversion! {
    fn pack_piece[S: Code, T: Scalar](packing: Packing<'_, T::Arith>, w: &mut [T], codes: &mut [S]) {
        reference::packed::pack(packing, w, codes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::f16;

    /// Products, sums and measures of vectors with small integers, which every order of adding finds exactly.
    fn check<S: Code>(cols: usize) {
        let (threads, rows, vectors) = (Threads::new(2).unwrap(), 9001, 11);
        let stride = (rows * cols).next_multiple_of(8);
        let number = |i: usize| ((i * 7) % 5) as f64 - 2.0;
        let codes: Vec<S> = (0..vectors * stride)
            .map(|i| S::encode(number(i)))
            .collect();
        let w: Vec<f64> = (0..rows * cols).map(|i| number(i + 3)).collect();
        let mut expected = vec![0.0; vectors * cols];
        let mut found = expected.clone();
        reference::packed::dots((&codes[..], stride), &w, cols, &mut expected);
        dots(&threads, (&codes[..], stride), &w, cols, &mut found);
        assert_eq!(found, expected);
        let (mut once, mut again) = (w.clone(), w);
        expected[cols] = 0.0;
        reference::packed::combine((&codes[..], stride), &expected, &mut once, 0, cols);
        combine(&threads, (&codes[..], stride), &expected, &mut again, cols);
        assert_eq!(once, again);
        let (mut most, mut own) = (vec![0.0; cols], vec![0.0; cols]);
        reference::packed::largest(&once, &mut most);
        largest(&threads, &once, &mut own);
        assert_eq!(own, most);
    }

    /// A turn is products and sums of the reference, one after the other.
    fn check_turn<S: Code>() {
        let (threads, rows) = (Threads::new(2).unwrap(), 9001_usize);
        let stride = rows.next_multiple_of(8);
        let number = |i: usize| ((i * 7) % 5) as f64 - 2.0;
        let codes: Vec<S> = (0..7 * stride).map(|i| S::encode(number(i))).collect();
        let mut w: Vec<f64> = (0..rows).map(|i| number(i + 3)).collect();
        let mut expected = w.clone();
        let group = |first: usize, count| Group {
            codes: &codes[first * stride..],
            stride,
            count,
        };
        let coefficients = [1.0, 0.0, -2.0];
        reference::packed::combine((&codes, stride), &coefficients, &mut expected, 0, 1);
        let mut products = [0.0; 4];
        let rest = (&codes[3 * stride..], stride);
        reference::packed::dots(rest, &expected, 1, &mut products);
        let found = turn(&threads, (group(0, 3), &coefficients), group(3, 4), &mut w);
        assert_eq!(found[..4], products);
        let nothing = (Group::<S>::EMPTY, &[][..]);
        let square: f64 = w.iter().map(|w| w * w).sum();
        assert_eq!(turn(&threads, nothing, Group::EMPTY, &mut w)[0], square);
        assert_eq!(w, expected);
    }

    #[test]
    fn threads_do_as_the_reference_does() {
        for cols in [1, 3] {
            check::<f64>(cols);
            check::<f32>(cols);
            check::<f16>(cols);
            check::<i32>(cols);
            check::<i16>(cols);
        }
        check_turn::<f64>();
        check_turn::<f16>();
        check_turn::<i32>();
    }
}
