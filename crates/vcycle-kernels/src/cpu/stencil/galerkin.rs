//! Galerkin products along one axis.

use super::{LineKernel, dispatch, has_kernels, portable, store};
use crate::simd::Simd;

/// What makes the entries of a coarse line with the coarse cells before, at and behind it along the axis that is
/// halved, `P^T A P`. All slices have as many numbers as the line has cells; what is not there is zeros.
pub struct Product<'a> {
    /// Entries of the fine rows before, at and behind the coarse ones, by the step of their columns along the
    /// axis.
    pub entries: [[&'a [f64]; 3]; 3],
    /// Weights of the rows before and behind in the coarse ones.
    pub restricted: [&'a [f64]; 2],
    /// Weights, in the columns before the coarse ones, of the coarse cells before and at them.
    pub before: [&'a [f64]; 2],
    /// Weights, in the columns behind the coarse ones, of the coarse cells at and behind them.
    pub behind: [&'a [f64]; 2],
    /// Where the sums go.
    pub out: [Option<&'a mut [f64]>; 3],
}

impl Product<'_> {
    /// Writes the sums to `out`.
    ///
    /// # Panics
    /// When the results differ in length, or a slice is shorter than they are.
    pub fn form(self) {
        let counts = self.out.iter().flatten().map(|out| out.len());
        let length = counts.max().unwrap_or(0);
        let weights = [self.restricted, self.before, self.behind];
        let all = self
            .entries
            .iter()
            .flatten()
            .chain(weights.iter().flatten());
        assert!(all.copied().all(|numbers| numbers.len() >= length));
        assert!(self.out.iter().flatten().all(|out| out.len() == length));
        let mut sums = ProductSums {
            product: self,
            length,
        };
        match has_kernels::<f64, f64>() {
            true => dispatch::<f64, f64>(sums),
            false => portable(&mut sums),
        }
    }
}

struct ProductSums<'a> {
    product: Product<'a>,
    /// Of all slices, at least.
    length: usize,
}

impl LineKernel<f64> for ProductSums<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = f64>>(&mut self) {
        let mut x = 0;
        while x < self.length {
            let count = S::LANES.min(self.length - x);
            self.step::<S>(x, count);
            x += count;
        }
    }
}

impl ProductSums<'_> {
    /// # Safety
    /// The host has the instructions of `S`; from `x` on all slices have `count` numbers, at most a register.
    #[inline(always)]
    unsafe fn step<S: Simd<Real = f64>>(&mut self, x: usize, count: usize) {
        let Product {
            entries: [before, at, behind],
            restricted: [down, up],
            ..
        } = &self.product;
        let ([far, near], [close, wide]) = (self.product.before, self.product.behind);
        let (down, up) = (load::<S>(down, x, count), load::<S>(up, x, count));
        let (far, near) = (load::<S>(far, x, count), load::<S>(near, x, count));
        let (close, wide) = (load::<S>(close, x, count), load::<S>(wide, x, count));
        let [b0, b1, b2] = loads::<S>(before, x, count);
        let [a0, a1, a2] = loads::<S>(at, x, count);
        let [c0, c1, c2] = loads::<S>(behind, x, count);
        // Fine rows times the columns of P, then times those of P once more.
        let first = S::multiply_add(a0, far, S::zero());
        let first = S::multiply_add(down, S::multiply_add(b1, far, b0), first);
        let middle = S::multiply_add(a2, close, S::multiply_add(a0, near, a1));
        let middle = S::multiply_add(down, S::multiply_add(b1, near, b2), middle);
        let middle = S::multiply_add(up, S::multiply_add(c1, close, c0), middle);
        let last = S::multiply_add(a2, wide, S::zero());
        let last = S::multiply_add(up, S::multiply_add(c1, wide, c2), last);
        self.put::<S>(0, first, x, count);
        self.put::<S>(1, middle, x, count);
        self.put::<S>(2, last, x, count);
    }

    #[inline(always)]
    unsafe fn put<S: Simd<Real = f64>>(
        &mut self,
        place: usize,
        sum: S::Register,
        x: usize,
        count: usize,
    ) {
        if let Some(out) = &mut self.product.out[place] {
            store::<S>(sum, out.as_mut_ptr().add(x), count);
        }
    }
}

/// # Safety
/// The host has the instructions of `S`; from `x` on there are `count` numbers, at most a register.
#[inline(always)]
unsafe fn load<S: Simd<Real = f64>>(from: &[f64], x: usize, count: usize) -> S::Register {
    S::load(from.as_ptr().add(x), count)
}

#[inline(always)]
unsafe fn loads<S: Simd<Real = f64>>(
    from: &[&[f64]; 3],
    x: usize,
    count: usize,
) -> [S::Register; 3] {
    [
        load::<S>(from[0], x, count),
        load::<S>(from[1], x, count),
        load::<S>(from[2], x, count),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::testing::at_every_level;

    #[test]
    fn every_term_of_the_product_is_there() {
        let line = |seed: usize| -> Vec<f64> {
            (0..21)
                .map(|x| ((x * 7 + seed * 5) % 13) as f64 - 6.0)
                .collect()
        };
        let lines: Vec<Vec<f64>> = (0..15).map(line).collect();
        let row = |first: usize| [0, 1, 2].map(|step| lines[first + step].as_slice());
        let pair = |first: usize| [0, 1].map(|side| lines[first + side].as_slice());
        at_every_level(|_| {
            let mut out = [vec![0.0; 21], vec![0.0; 21], vec![0.0; 21]];
            let [first, middle, last] = &mut out;
            Product {
                entries: [row(0), row(3), row(6)],
                restricted: pair(9),
                before: pair(11),
                behind: pair(13),
                out: [Some(first), Some(middle), Some(last)],
            }
            .form();
            for x in 0..21 {
                // The fine cells -2 to 2 in terms of the coarse ones -1 to 1.
                let w = |line: usize| lines[line][x];
                let p = [
                    [1.0, 0.0, 0.0],
                    [w(11), w(12), 0.0],
                    [0.0, 1.0, 0.0],
                    [0.0, w(13), w(14)],
                    [0.0, 0.0, 1.0],
                ];
                let restricted = [w(9), 1.0, w(10)];
                for target in 0..3 {
                    let terms =
                        (0..9).map(|k| restricted[k / 3] * lines[k][x] * p[k / 3 + k % 3][target]);
                    assert_eq!(out[target][x], terms.sum::<f64>());
                }
            }
        });
    }
}
