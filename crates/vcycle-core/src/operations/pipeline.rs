//! Many vectors and one that is made orthogonal to them while the next is on its way.

use vcycle_kernels::compiled_fn;
use vcycle_kernels::cpu::Threads;
use vcycle_kernels::cpu::packed::{Group, TOGETHER};

use super::reductions::add_team_sums_while;
use crate::arrays::{Codes, Packed, filled, segment_of};
use crate::prelude::*;
use crate::scalar::bytes_mut;
use crate::{cpu, launch, reference};

compiled_fn! {
    /// The products of the first `count` vectors with `w`, and then the norms of `w`, in one sum over all ranks, with whatever is to be added `besides`. `meanwhile` is
    /// called while the numbers travel: between ranks, or from a device to the host.
    pub(crate) fn multiply[any T: Scalar](
        packed: &mut Packed<T>,
        count: usize,
        w: &Vector<T>,
        besides: &mut [f64],
        meanwhile: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        let (executor, cols) = (packed.executor.clone(), packed.cols);
        let (squares, numbers) = (count * cols, (count + 1) * cols);
        match &executor {
            Executor::Gpu(gpu) => {
                launch::packed::multiply(gpu, packed, count, w)?;
                let mut copy = packed.numbers.read_begin(numbers)?;
                if executor.team().is_none() {
                    meanwhile()?;
                }
                let products = &mut packed.pipeline().products[..numbers];
                bytes_mut(products).copy_from_slice(copy.wait()?);
                if executor.team().is_none() {
                    return Ok(());
                }
                products[squares..].iter_mut().for_each(|norm| *norm *= *norm);
            }
            _ => on_host(packed, count, w)?,
        }
        let pipeline = packed.pipeline();
        let products = &mut pipeline.products[..numbers];
        add_team_sums_while(&executor, products, besides, &mut pipeline.doubles, meanwhile)?;
        products[squares..].iter_mut().for_each(|norm| *norm = norm.square_root());
        Ok(())
    }
}

/// The products, and the squares of the norms, over the rows of this rank.
fn on_host<T: Scalar>(packed: &mut Packed<T>, count: usize, w: &Vector<T>) -> Result<()> {
    packed.pipeline();
    let (stride, cols, values) = (packed.stride(), packed.cols, w.host()?);
    let pipeline = packed.pipeline.as_mut().expect("made just now");
    for (segment, first, here) in filled(&packed.segments, count) {
        let codes = working(&segment.codes).in_place()?;
        let out = &mut pipeline.products[first * cols..(first + here) * cols];
        match w.executor() {
            Executor::Cpu(threads) if cols == 1 => by_groups(threads, (codes, stride), values, out),
            Executor::Cpu(threads) => {
                cpu::packed::dots(threads, (codes, stride), values, cols, out);
            }
            _ => reference::packed::dots((codes, stride), values, cols, out),
        }
    }
    let squares = &mut pipeline.products[count * cols..(count + 1) * cols];
    dispatch!(w.executor(), vector::dot(values, values, squares, cols));
    Ok(())
}

fn by_groups<T: Scalar>(
    threads: &Threads,
    (codes, stride): (&[T], usize),
    w: &[T],
    out: &mut [T::Arith],
) {
    for (index, out) in out.chunks_mut(TOGETHER).enumerate() {
        let group = Group {
            codes: &codes[index * TOGETHER * stride..],
            stride,
            count: out.len(),
        };
        let products = cpu::packed::multiply(threads, group, w);
        out.copy_from_slice(&products[..out.len()]);
    }
}

/// The vectors of a segment, none of which is in fewer bits.
fn working<T>(codes: &Codes<T>) -> &Buffer<T> {
    match codes {
        Codes::Working(values) => values,
        _ => unreachable!("vectors in fewer bits are refused"),
    }
}

compiled_fn! {
    /// `z += a v` and `w += b v` for the first `count` vectors, with the coefficients of the pipeline. Then `z` times its factor is
    /// the next vector, and `w` that factor times `w` and a multiple of the next vector.
    pub(crate) fn advance[any T: Scalar](
        packed: &mut Packed<T>,
        count: usize,
        z: &mut Vector<T>,
        w: &mut Vector<T>,
    ) -> Result<()> {
        packed.reserve(count)?;
        match packed.executor.clone() {
            Executor::Gpu(gpu) => launch::packed::advance(&gpu, packed, count, z, w),
            _ => advance_on_host(packed, count, z, w),
        }
    }
}

fn advance_on_host<T: Scalar>(
    packed: &mut Packed<T>,
    count: usize,
    z: &mut Vector<T>,
    w: &mut Vector<T>,
) -> Result<()> {
    let (stride, cols, executor) = (packed.stride(), packed.cols, packed.executor.clone());
    let (z, w) = (z.host_mut()?, w.host_mut()?);
    let steps = packed.pipeline.as_ref().expect("multiplied before");
    let both = &steps.steps.in_place()?[..2 * (count + 1) * cols];
    let (for_z, for_w) = both.split_at((count + 1) * cols);
    for (segment, first, here) in filled(&packed.segments, count) {
        let codes = (working(&segment.codes).in_place()?, stride);
        let here = first * cols..(first + here) * cols;
        let coefficients = [&for_z[here.clone()], &for_w[here]];
        match &executor {
            Executor::Cpu(threads) => {
                cpu::packed::combine_both(threads, codes, coefficients, (z, w), cols);
            }
            _ => {
                reference::packed::combine(codes, coefficients[0], z, 0, cols);
                reference::packed::combine(codes, coefficients[1], w, 0, cols);
            }
        }
    }
    let (factors, multiples) = (&for_z[count * cols..], &for_w[count * cols..]);
    let (segment, first) = segment_of(&mut packed.segments, count);
    let Codes::Working(values) = &mut segment.codes else {
        unreachable!("vectors in fewer bits are refused")
    };
    let next = &mut values.in_place_mut()?[(count - first) * stride..][..z.len()];
    match &executor {
        Executor::Cpu(threads) => cpu::packed::step(threads, (factors, multiples), (z, w), next),
        _ => reference::packed::step(factors, multiples, z, w, next),
    }
    let scales = &mut packed.scales.in_place_mut()?[count * cols..(count + 1) * cols];
    scales.fill(T::Arith::from_f64(1.0));
    Ok(())
}
