//! Many vectors in fewer bits: products with all of them, sums of them.

use vcycle_kernels::compiled_fn;
use vcycle_kernels::reference::packed::Packing;

use num_traits::One;

use super::reductions::add_team_sums;
use crate::arrays::{Packed, Vector, filled, segment_of, stores, with_codes};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::launch;
use crate::scalar::{Code, Field, Scalar};
use crate::{cpu, reference};

compiled_fn! {
    /// The numbers become the products of the first `count` vectors with `w`.
    pub(crate) fn dots[any T: Scalar](packed: &mut Packed<T>, count: usize, w: &Vector<T>) -> Result<()> {
        if let Executor::Gpu(gpu) = packed.executor.clone() {
            return launch::packed::dots(&gpu, packed, count, w);
        }
        let (stride, cols) = (packed.stride(), packed.cols);
        let out = &mut packed.numbers.in_place_mut()?[..count * cols];
        for (segment, first, here) in filled(&packed.segments, count) {
            let out = &mut out[first * cols..(first + here) * cols];
            with_codes!(&segment.codes, codes => products(codes, stride, w, out)?);
        }
        for (number, scale) in out.iter_mut().zip(packed.scales.in_place()?) {
            *number *= *scale;
        }
        add_team_sums(w.executor(), out)
    }
}

fn products<S: Code, T: Scalar>(
    codes: &Buffer<S>,
    stride: usize,
    w: &Vector<T>,
    out: &mut [T::Arith],
) -> Result<()> {
    // A constant: what cannot be stored is not compiled.
    if const { stores::<S, T>() } {
        let (codes, cols) = ((codes.in_place()?, stride), w.cols());
        match w.executor() {
            Executor::Cpu(threads) => cpu::packed::dots(threads, codes, w.host()?, cols, out),
            _ => reference::packed::dots(codes, w.host()?, cols, out),
        }
    }
    Ok(())
}

compiled_fn! {
    /// `w -= number v` for the first `count` vectors; then the norms of `w` follow the numbers.
    pub(crate) fn take_away[any T: Scalar](packed: &mut Packed<T>, count: usize, w: &mut Vector<T>) -> Result<()> {
        if let Executor::Gpu(gpu) = packed.executor.clone() {
            return launch::packed::take_away(&gpu, packed, count, w);
        }
        combine(packed, count, -1.0, w)?;
        let cols = packed.cols;
        let norms = &mut packed.numbers.in_place_mut()?[count * cols..(count + 1) * cols];
        let largest = packed.largest.in_place_mut()?;
        match w.executor() {
            Executor::Cpu(threads) => cpu::packed::measure(threads, w.host()?, norms, largest),
            _ => reference::packed::measure(w.host()?, norms, largest),
        }
        add_team_sums(w.executor(), norms)?;
        norms.iter_mut().for_each(|norm| *norm = norm.square_root());
        Ok(())
    }
}

compiled_fn! {
    /// `y += number v` for the first `count` vectors.
    pub(crate) fn add[any T: Scalar](packed: &mut Packed<T>, count: usize, y: &mut Vector<T>) -> Result<()> {
        match packed.executor.clone() {
            Executor::Gpu(gpu) => launch::packed::add(&gpu, packed, count, y),
            _ => combine(packed, count, 1.0, y),
        }
    }
}

fn combine<T: Scalar>(
    packed: &mut Packed<T>,
    count: usize,
    sign: f64,
    w: &mut Vector<T>,
) -> Result<()> {
    let (stride, cols, sign) = (packed.stride(), packed.cols, T::Arith::from_f64(sign));
    let coefficients = &mut packed.coefficients[..count * cols];
    let factors = packed
        .numbers
        .in_place()?
        .iter()
        .zip(packed.scales.in_place()?);
    for (coefficient, (&number, &scale)) in coefficients.iter_mut().zip(factors) {
        *coefficient = sign * number * scale;
    }
    for (segment, first, here) in filled(&packed.segments, count) {
        let coefficients = &coefficients[first * cols..(first + here) * cols];
        with_codes!(&segment.codes, codes => combined((codes, stride), coefficients, w)?);
    }
    Ok(())
}

fn combined<S: Code, T: Scalar>(
    (codes, stride): (&Buffer<S>, usize),
    coefficients: &[T::Arith],
    w: &mut Vector<T>,
) -> Result<()> {
    if const { stores::<S, T>() } {
        let (codes, cols) = ((codes.in_place()?, stride), w.cols());
        match w.executor().clone() {
            Executor::Cpu(threads) => {
                cpu::packed::combine(&threads, codes, coefficients, w.host_mut()?, cols);
            }
            _ => reference::packed::combine(codes, coefficients, w.host_mut()?, 0, cols),
        }
    }
    Ok(())
}

compiled_fn! {
    /// Vector `index` becomes `w`, over its norms where it is to be a `unit`; then `w` is what was kept.
    pub(crate) fn keep[any T: Scalar](packed: &mut Packed<T>, index: usize, unit: bool, w: &mut Vector<T>) -> Result<()> {
        if let Executor::Gpu(gpu) = packed.executor.clone() {
            return launch::packed::keep(&gpu, packed, index, unit, w);
        }
        let (stride, places) = (packed.stride(), index * packed.cols..(index + 1) * packed.cols);
        packed.reserve(index)?;
        let (segment, first) = segment_of(&mut packed.segments, index);
        let limit = with_codes!(&segment.codes, codes => limit(codes));
        for (column, place) in places.clone().enumerate() {
            let norm = if unit { packed.numbers.in_place()?[place] } else { T::Arith::one() };
            let (factor, scale) = packing(limit, norm, packed.largest.in_place()?[column]);
            packed.coefficients[place] = factor;
            packed.scales.in_place_mut()?[place] = scale;
        }
        let packing = Packing {
            factors: &packed.coefficients[places.clone()],
            scales: &packed.scales.in_place()?[places],
        };
        let start = (index - first) * stride;
        with_codes!(&mut segment.codes, codes => encoded(packing, w, codes, start))
    }
}

fn limit<S: Code>(_codes: &Buffer<S>) -> f64 {
    S::LIMIT
}

/// What numbers are multiplied with to become codes, and codes to become numbers over the norm. Zero for a zero vector.
fn packing<A: Field>(limit: f64, norm: A, largest: A) -> (A, A) {
    let over = |a: A, b: A| if b.is_zero() { A::zero() } else { a / b };
    let limit = A::from_f64(limit);
    match limit.is_zero() {
        true => (over(A::one(), norm), A::one()),
        false => (over(limit, largest), over(largest / limit, norm)),
    }
}

fn encoded<S: Code, T: Scalar>(
    packing: Packing<'_, T::Arith>,
    w: &mut Vector<T>,
    codes: &mut Buffer<S>,
    start: usize,
) -> Result<()> {
    if const { stores::<S, T>() } {
        let codes = &mut codes.in_place_mut()?[start..start + w.rows() * w.cols()];
        match w.executor().clone() {
            Executor::Cpu(threads) => cpu::packed::pack(&threads, packing, w.host_mut()?, codes),
            _ => reference::packed::pack(packing, w.host_mut()?, codes),
        }
    }
    Ok(())
}
