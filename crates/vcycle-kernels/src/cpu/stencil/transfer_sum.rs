//! Sums of weighted lines, which restriction and prolongation are made of.

use super::{LineKernel, Vectors, store};
use crate::scalar::Scalar;
use crate::simd::Simd;

/// Registers that are done side by side.
const BLOCKS: usize = 4;

/// Numbers of a line, to be multiplied by weights and by others.
#[derive(Clone, Copy)]
pub(super) struct Term<'a, W, V> {
    pub(super) weights: Option<&'a [W]>,
    pub(super) values: &'a [V],
    pub(super) q: Option<&'a [V]>,
}

impl<'a, W, V> Term<'a, W, V> {
    pub(super) fn new(values: &'a [V]) -> Self {
        Self {
            weights: None,
            values,
            q: None,
        }
    }

    pub(super) fn weighted(weights: &'a [W], values: &'a [V]) -> Self {
        Self {
            weights: Some(weights),
            ..Self::new(values)
        }
    }

    pub(super) fn scaled(values: &'a [V], q: &'a [V]) -> Self {
        Self {
            q: Some(q),
            ..Self::new(values)
        }
    }
}

/// `out (+)= factors (terms added up)`; all are at least as long as `out`.
pub(super) struct TransferSum<'a, W, V> {
    terms: [Option<Term<'a, W, V>>; 3],
    pub(super) factors: Option<&'a [V]>,
    pub(super) add: bool,
    out: &'a mut [V],
}

impl<'a, W, V> TransferSum<'a, W, V> {
    pub(super) fn new(terms: [Option<Term<'a, W, V>>; 3], out: &'a mut [V]) -> Self {
        Self {
            terms,
            factors: None,
            add: false,
            out,
        }
    }
}

impl<W: Scalar, V: Vectors> LineKernel<V> for TransferSum<'_, W, V> {
    #[inline(always)]
    unsafe fn run<S: Simd<Real = V>>(&mut self) {
        let (length, out) = (self.out.len(), self.out.as_mut_ptr());
        for term in self.terms.iter().flatten() {
            let enough = |count: usize| assert!(count >= length);
            enough(term.values.len());
            enough(term.weights.map_or(length, <[W]>::len));
            enough(term.q.map_or(length, <[V]>::len));
        }
        assert!(self.factors.is_none_or(|factors| factors.len() >= length));
        let mut at = 0;
        while at + BLOCKS * S::LANES <= length {
            self.cells::<S, BLOCKS>(out, at, S::LANES);
            at += BLOCKS * S::LANES;
        }
        while at + S::LANES <= length {
            self.cells::<S, 1>(out, at, S::LANES);
            at += S::LANES;
        }
        if at < length {
            self.cells::<S, 1>(out, at, length - at);
        }
    }
}

impl<W: Scalar, V: Vectors> TransferSum<'_, W, V> {
    /// Several registers, `count` lanes of each.
    ///
    /// # Safety
    /// The host has the instructions of `S`; from `at` on `N` registers of `count` numbers are in all slices and in
    /// `out`.
    #[inline(always)]
    unsafe fn cells<S: Simd<Real = V>, const N: usize>(
        &self,
        out: *mut V,
        at: usize,
        count: usize,
    ) {
        let mut sums = [S::zero(); N];
        for term in self.terms.iter().flatten() {
            let mut values = registers::<S, V, N>(term.values.as_ptr().add(at), count);
            if let Some(q) = term.q {
                values = times::<S, N>(values, registers::<S, V, N>(q.as_ptr().add(at), count));
            }
            sums = match term.weights {
                None => plus::<S, N>(sums, values),
                Some(weights) => {
                    let weights = registers::<S, W, N>(weights.as_ptr().add(at), count);
                    plus::<S, N>(sums, times::<S, N>(weights, values))
                }
            };
        }
        if let Some(factors) = self.factors {
            sums = times::<S, N>(sums, registers::<S, V, N>(factors.as_ptr().add(at), count));
        }
        if self.add {
            let old = registers::<S, V, N>(out.add(at).cast_const(), count);
            sums = plus::<S, N>(old, sums);
        }
        for (block, sum) in sums.into_iter().enumerate() {
            store::<S>(sum, out.add(at + block * S::LANES), count);
        }
    }
}

/// Registers side by side, `count` lanes of each.
///
/// # Safety
/// The host has the instructions of `S`; `count` numbers are readable for each of the `N` registers.
#[inline(always)]
unsafe fn registers<S: Simd, M: Scalar, const N: usize>(
    from: *const M,
    count: usize,
) -> [S::Register; N] {
    let mut registers = [S::zero(); N];
    for (block, register) in registers.iter_mut().enumerate() {
        *register = S::load(from.add(block * S::LANES), count);
    }
    registers
}

#[inline(always)]
unsafe fn times<S: Simd, const N: usize>(
    mut a: [S::Register; N],
    b: [S::Register; N],
) -> [S::Register; N] {
    for (a, b) in a.iter_mut().zip(b) {
        *a = S::multiply_add(*a, b, S::zero());
    }
    a
}

#[inline(always)]
unsafe fn plus<S: Simd, const N: usize>(
    mut a: [S::Register; N],
    b: [S::Register; N],
) -> [S::Register; N] {
    for (a, b) in a.iter_mut().zip(b) {
        *a = S::add(*a, b);
    }
    a
}
