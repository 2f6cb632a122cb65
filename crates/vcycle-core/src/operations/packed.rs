//! Many vectors in fewer bits: products with all of them, sums of them.

use std::ops::Range;

use num_traits::One;
use vcycle_kernels::compiled_fn;
use vcycle_kernels::cpu::Threads;
use vcycle_kernels::cpu::packed::{Group, TOGETHER};
use vcycle_kernels::reference::packed::Packing;

use super::reductions::{add_team_sums, join_team_norms};
use crate::arrays::{Packed, filled, segment_of, stores, with_codes};
use crate::launch;
use crate::prelude::*;
use crate::scalar::Code;
use crate::{cpu, reference};

compiled_fn! {
    /// Makes the columns of `w` that are `wanted` orthogonal to the first `count` vectors. The numbers become the products,
    /// zero for other columns, and then the norms of what is left of `w`.
    ///
    /// On the host vectors take turns in groups: a group is multiplied with what those before have left, as in modified
    /// Gram–Schmidt, where a group is one vector. On devices all are one group, which takes few launches.
    pub(crate) fn project[any T: Scalar](
        packed: &mut Packed<T>,
        count: usize,
        w: &mut Vector<T>,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Result<()> {
        match packed.executor.clone() {
            Executor::Gpu(gpu) => {
                let (numbers, is_shared) = (count * packed.cols, w.executor().team().is_some());
                launch::packed::dots(&gpu, packed, count, w)?;
                if is_shared {
                    add_team_sums(w.executor(), &mut packed.numbers.host_mut()?[..numbers])?;
                }
                if !(0..packed.cols).all(wanted) {
                    leave(&mut packed.numbers.host_mut()?[..numbers], packed.cols, wanted);
                }
                launch::packed::take_away(&gpu, packed, count, w)?;
                if is_shared {
                    let norms = numbers..numbers + packed.cols;
                    join_team_norms(w.executor(), &mut packed.numbers.host_mut()?[norms])?;
                }
                Ok(())
            }
            Executor::Cpu(threads) if packed.cols == 1 && count > 0 => by_turns(&threads, packed, count, w),
            _ => by_groups(packed, count, w, wanted),
        }
    }
}

/// Numbers of columns that are not wanted become zero.
fn leave<A: Field>(numbers: &mut [A], cols: usize, wanted: &dyn Fn(usize) -> bool) {
    for (place, number) in numbers.iter_mut().enumerate() {
        if !wanted(place % cols) {
            *number = A::zero();
        }
    }
}

/// [`project`] of one column, where each group is read together with the one before.
fn by_turns<T: Scalar>(
    threads: &Threads,
    packed: &mut Packed<T>,
    count: usize,
    w: &mut Vector<T>,
) -> Result<()> {
    let (stride, scales) = (packed.stride(), packed.scales.in_place()?);
    let (numbers, norm) = packed.numbers.in_place_mut()?.split_at_mut(count);
    for (segment, first, here) in filled(&packed.segments, count) {
        let vectors = first..first + here;
        let (scales, numbers) = (&scales[vectors.clone()], &mut numbers[vectors]);
        norm[0] = with_codes!(&segment.codes, codes => {
            turns(threads, (codes, stride), scales, w, numbers)?
        });
    }
    add_team_sums(w.executor(), &mut norm[..1])?;
    norm[0] = norm[0].square_root();
    Ok(())
}

/// The turns of the vectors of a segment; returns the square of the norm of what is left.
fn turns<S: Code, T: Scalar>(
    threads: &Threads,
    (codes, stride): (&Buffer<S>, usize),
    scales: &[T::Arith],
    w: &mut Vector<T>,
    numbers: &mut [T::Arith],
) -> Result<T::Arith> {
    // A constant: what cannot be stored is not compiled.
    if const { !stores::<S, T>() } {
        return Ok(T::Arith::default());
    }
    let (codes, executor) = (codes.in_place()?, w.executor().clone());
    let w = w.host_mut()?;
    let (mut last, mut coefficients) = (Group::EMPTY, [T::Arith::default(); TOGETHER]);
    let groups = numbers.chunks_mut(TOGETHER).zip(scales.chunks(TOGETHER));
    for (index, (numbers, scales)) in groups.enumerate() {
        let next = Group {
            codes: &codes[index * TOGETHER * stride..],
            stride,
            count: numbers.len(),
        };
        let sums = cpu::packed::turn(threads, (last, &coefficients), next, w);
        for (number, (sum, scale)) in numbers.iter_mut().zip(sums.into_iter().zip(scales)) {
            *number = sum * *scale;
        }
        add_team_sums(&executor, numbers)?;
        for (coefficient, (&number, &scale)) in
            coefficients.iter_mut().zip(numbers.iter().zip(scales))
        {
            *coefficient = -number * scale;
        }
        last = next;
    }
    let [square, ..] = cpu::packed::turn(threads, (last, &coefficients), Group::EMPTY, w);
    Ok(square)
}

/// [`project`] of any number of columns.
fn by_groups<T: Scalar>(
    packed: &mut Packed<T>,
    count: usize,
    w: &mut Vector<T>,
    wanted: &dyn Fn(usize) -> bool,
) -> Result<()> {
    let cols = packed.cols;
    for first in (0..count).step_by(TOGETHER) {
        let vectors = first..(first + TOGETHER).min(count);
        dots(packed, vectors.clone(), w)?;
        let places = first * cols..vectors.end * cols;
        leave(&mut packed.numbers.in_place_mut()?[places], cols, wanted);
        combine(packed, vectors, -1.0, w)?;
    }
    let norms = &mut packed.numbers.in_place_mut()?[count * cols..(count + 1) * cols];
    dispatch!(w.executor(), vector::dot(w.host()?, w.host()?, norms, cols));
    add_team_sums(w.executor(), norms)?;
    norms.iter_mut().for_each(|norm| *norm = norm.square_root());
    Ok(())
}

/// The numbers of some vectors become their products with `w`.
fn dots<T: Scalar>(packed: &mut Packed<T>, vectors: Range<usize>, w: &Vector<T>) -> Result<()> {
    let (stride, cols) = (packed.stride(), packed.cols);
    let numbers = packed.numbers.in_place_mut()?;
    for (segment, first, here) in filled(&packed.segments, vectors.end) {
        let own = first.max(vectors.start)..first + here;
        if !own.is_empty() {
            let (start, out) = (
                (own.start - first) * stride,
                &mut numbers[own.start * cols..own.end * cols],
            );
            with_codes!(&segment.codes, codes => products((codes, start, stride), w, out)?);
        }
    }
    let places = vectors.start * cols..vectors.end * cols;
    let out = &mut numbers[places.clone()];
    for (number, scale) in out.iter_mut().zip(&packed.scales.in_place()?[places]) {
        *number *= *scale;
    }
    add_team_sums(w.executor(), out)
}

fn products<S: Code, T: Scalar>(
    (codes, start, stride): (&Buffer<S>, usize, usize),
    w: &Vector<T>,
    out: &mut [T::Arith],
) -> Result<()> {
    if const { stores::<S, T>() } {
        let (codes, cols) = ((&codes.in_place()?[start..], stride), w.cols());
        dispatch!(w.executor(), packed::dots(codes, w.host()?, cols, out));
    }
    Ok(())
}

compiled_fn! {
    /// `y += number v` for the first `count` vectors.
    pub(crate) fn add[any T: Scalar](packed: &mut Packed<T>, count: usize, y: &mut Vector<T>) -> Result<()> {
        match packed.executor.clone() {
            Executor::Gpu(gpu) => launch::packed::add(&gpu, packed, count, y),
            _ => combine(packed, 0..count, 1.0, y),
        }
    }
}

/// `w += sign number v` for some vectors.
fn combine<T: Scalar>(
    packed: &mut Packed<T>,
    vectors: Range<usize>,
    sign: f64,
    w: &mut Vector<T>,
) -> Result<()> {
    let (stride, cols, sign) = (packed.stride(), packed.cols, T::Arith::from_f64(sign));
    let coefficients = &mut packed.coefficients;
    let factors = packed
        .numbers
        .in_place()?
        .iter()
        .zip(packed.scales.in_place()?);
    for (coefficient, (&number, &scale)) in coefficients.iter_mut().zip(factors) {
        *coefficient = sign * number * scale;
    }
    for (segment, first, here) in filled(&packed.segments, vectors.end) {
        let own = first.max(vectors.start)..first + here;
        if !own.is_empty() {
            let start = (own.start - first) * stride;
            let coefficients = &coefficients[own.start * cols..own.end * cols];
            with_codes!(&segment.codes, codes => combined((codes, start, stride), coefficients, w)?);
        }
    }
    Ok(())
}

fn combined<S: Code, T: Scalar>(
    (codes, start, stride): (&Buffer<S>, usize, usize),
    coefficients: &[T::Arith],
    w: &mut Vector<T>,
) -> Result<()> {
    if const { stores::<S, T>() } {
        let (codes, cols) = ((&codes.in_place()?[start..], stride), w.cols());
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
        if limit != 0.0 {
            let largest = packed.largest.in_place_mut()?;
            dispatch!(w.executor(), packed::largest(w.host()?, largest));
        }
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
        dispatch!(
            &w.executor().clone(),
            packed::pack(packing, w.host_mut()?, codes)
        );
    }
    Ok(())
}
