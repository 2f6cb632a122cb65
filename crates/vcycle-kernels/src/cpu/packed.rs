//! Vectors side by side in an array of codes, as in [`reference::packed`].

use num_traits::{Float, Zero};

use super::vector::{LANES, PIECE, piece, reduce};
use super::{Shared, Threads};
use crate::multiversion;
use crate::reference;
use crate::reference::packed::Packing;
use crate::scalar::{Code, Field, RealOf, Scalar};

/// Vectors that one pass over `w` multiplies with.
const TOGETHER: usize = 8;

/// For every vector `v` and column of `cols` the sum of `conj(v) w`, without the factors of the vectors.
pub fn dots<S: Code, T: Scalar>(
    threads: &Threads,
    (codes, stride): (&[S], usize),
    w: &[T],
    cols: usize,
    out: &mut [T::Arith],
) {
    let vector = |index: usize| &codes[index * stride..][..w.len()];
    if cols == 1 {
        for (group, out) in out.chunks_mut(TOGETHER).enumerate() {
            let products: [T::Arith; TOGETHER] = reduce(threads, w, 1, |start, w| {
                let mut products = [T::Arith::zero(); TOGETHER];
                for (place, product) in products[..out.len()].iter_mut().enumerate() {
                    let codes = &vector(group * TOGETHER + place)[start..start + w.len()];
                    *product = dot_codes(codes, w);
                }
                products
            });
            out.copy_from_slice(&products[..out.len()]);
        }
        return;
    }
    for (index, out) in out.chunks_exact_mut(cols).enumerate() {
        for (column, out) in out.iter_mut().enumerate() {
            [*out] = reduce(threads, w, cols, |start, w| {
                let codes = vector(index)[start..].iter().skip(column).step_by(cols);
                let pairs = codes.zip(w.iter().skip(column).step_by(cols));
                let product = |(code, w): (&S, &T)| code.decode::<T::Arith>().conj() * w.load();
                [pairs.map(product).sum()]
            });
        }
    }
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
    threads.for_pieces(w, piece(cols), |start, w| {
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

multiversion! {
    fn add_column[S: Code, T: Scalar](a: T::Arith, codes: &[S], w: &mut [T]) {
        for (w, code) in w.iter_mut().zip(codes) {
            *w = T::store(a * code.decode::<T::Arith>() + w.load());
        }
    }
}

/// The sum of squares and the largest modulus of every column.
pub fn measure<T: Scalar>(
    threads: &Threads,
    w: &[T],
    squares: &mut [T::Arith],
    largest: &mut [T::Arith],
) {
    super::vector::dot(threads, w, w, squares, squares.len());
    let cols = squares.len();
    for (column, largest) in largest.iter_mut().enumerate() {
        let mut most = [RealOf::<T>::zero(); MOST_PIECES];
        let step = (w.len() / cols).div_ceil(MOST_PIECES).max(PIECE) * cols;
        let parts = Shared(most.as_mut_ptr());
        threads.for_each(w.len().div_ceil(step), size_of_val(w), &|index| {
            let range = index * step..((index + 1) * step).min(w.len());
            let values = w[range].iter().skip(column).step_by(cols);
            let most = values.fold(RealOf::<T>::zero(), |most, value| {
                Float::max(most, value.load().modulus())
            });
            // SAFETY: there are at most `MOST_PIECES` pieces, each given to one call.
            unsafe { parts.slice(index..index + 1)[0] = most };
        });
        *largest = T::Arith::from_real(most.into_iter().fold(Zero::zero(), Float::max));
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
    let whole = Shared(codes.as_mut_ptr());
    threads.for_pieces(w, piece(packing.scales.len()), |start, w| {
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
        let (mut squares, mut largest) = (vec![0.0; cols], vec![0.0; cols]);
        let (mut own_squares, mut own_largest) = (squares.clone(), largest.clone());
        reference::packed::measure(&once, &mut squares, &mut largest);
        measure(&threads, &once, &mut own_squares, &mut own_largest);
        assert_eq!((own_squares, own_largest), (squares, largest));
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
    }
}
