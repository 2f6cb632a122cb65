//! Launches of the kernels on many vectors that are stored in fewer bits.

#[cfg(test)]
mod tests;

use crate::arrays::{Packed, Segment, filled, segment_of, with_codes};
use crate::gpu::{BLOCK, Bits, Define, Gpu, Passes, Read, Write, kernels::packed as kernels};
use crate::prelude::*;
use crate::scalar::Code;

/// Vectors that a block multiplies with at once, as in the kernels.
const TOGETHER: usize = 8;
/// Most parts that the rows are cut into for products; enough for any device.
const MOST_PARTS: usize = 256;
/// Rows that a thread has at least before there are more parts.
const ROWS: usize = 8;
/// Most blocks of a sum; each leaves two partial sums.
const MOST_BLOCKS: usize = 1024;

/// The numbers become the products of the first `count` vectors with `w`.
pub(crate) fn dots<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    count: usize,
    w: &Vector<T>,
) -> Result<()> {
    let parts = (packed.rows / (BLOCK as usize * ROWS)).clamp(1, MOST_PARTS);
    if packed.partials.is_none() {
        let room = Buffer::room(&packed.executor, MOST_PARTS * packed.most)?;
        packed.partials = Some(room);
    }
    let partials = packed.partials.as_mut().expect("made just now");
    let partials = partials.pointer_mut()?;
    let (stride, cols) = (packed.stride(), packed.cols);
    for (segment, first, here) in filled(&packed.segments, count) {
        let (defines, codes) = coded(packed, segment, 0)?;
        let place = first * cols;
        for column in 0..cols {
            let rows = packed.rows;
            kernels::packed_dots(rows, cols, column, here, parts, stride, codes, w, partials)?
                .with(&defines)
                .run(gpu, here.div_ceil(TOGETHER) * parts)?;
            let scales = packed.scales.pointer()?.at(place);
            let numbers = packed.numbers.pointer_mut()?.at(place);
            kernels::packed_sums::<T>(cols, column, parts, partials, scales, numbers)?
                .with(&defines)
                .run(gpu, here)?;
        }
    }
    Ok(())
}

/// The numbers become the products of the first `count` vectors with `w`, and then the norms of `w`.
pub(crate) fn multiply<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    count: usize,
    w: &Vector<T>,
) -> Result<()> {
    dots(gpu, packed, count, w)?;
    let unchanged = w.buffer().pointer()?.writable();
    combine(gpu, packed, 0, (0.0, Some(count)), unchanged)
}

/// `w -= number v` for the first `count` vectors; then the norms of `w` follow the numbers.
pub(crate) fn take_away<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    count: usize,
    w: &mut Vector<T>,
) -> Result<()> {
    combine(gpu, packed, count, (-1.0, Some(count)), w.pass()?)
}

/// `y += number v` for the first `count` vectors.
pub(crate) fn add<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    count: usize,
    y: &mut Vector<T>,
) -> Result<()> {
    combine(gpu, packed, count, (1.0, None), y.pass()?)
}

/// Vectors of one launch: of a segment, at most as many as a block has threads. One of no vectors measures `w` alone.
fn launches<T>(segments: &[Segment<T>], count: usize) -> Vec<(&Segment<T>, [usize; 3])> {
    let most = BLOCK as usize;
    let parts = filled(segments, count).flat_map(|(segment, first, here)| {
        let starts = (0..here).step_by(most);
        starts.map(move |start| (segment, [first + start, start, most.min(here - start)]))
    });
    match count {
        0 => vec![(&segments[0], [0; 3])],
        _ => parts.collect(),
    }
}

/// `w += sign number v` for the first `count` vectors; then the norms of `w` are the numbers of a place where one is given.
fn combine<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    count: usize,
    (sign, norms): (f64, Option<usize>),
    w: Write<T>,
) -> Result<()> {
    let blocks = packed
        .rows
        .div_ceil(4 * BLOCK as usize)
        .clamp(1, MOST_BLOCKS);
    let launches = launches(&packed.segments, count);
    let (stride, cols) = (packed.stride(), packed.cols);
    let numbers = packed.numbers.pointer_mut()?;
    let largest = packed.largest.pointer_mut()?;
    for (turn, (segment, [first, start, here])) in launches.iter().enumerate() {
        let last = turn + 1 == launches.len();
        let (defines, codes) = coded(packed, segment, *start)?;
        for column in 0..cols {
            kernels::packed_combine(
                packed.rows,
                cols,
                column,
                *here,
                stride,
                codes,
                packed.scales.pointer()?.at(first * cols),
                numbers.at(first * cols),
                T::Arith::from_f64(sign),
                w,
                last && norms.is_some(),
                numbers.at(norms.unwrap_or(0) * cols),
                largest,
                gpu.partials(),
                gpu.counter(),
            )?
            .with(&defines)
            .run(gpu, blocks)?;
        }
    }
    Ok(())
}

/// `z += a v` and `w += b v` for the first `count` vectors; then `z` times its factor is the next vector, and `w` that factor times
/// `w` and a multiple of the next vector.
pub(crate) fn advance<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    count: usize,
    z: &mut Vector<T>,
    w: &mut Vector<T>,
) -> Result<()> {
    let pipeline = packed.pipeline();
    // What is dropped here has arrived long ago.
    pipeline.sent = pipeline.steps.send()?;
    let steps = pipeline.steps.pointer()?;
    let scales = packed.scales.pointer_mut()?;
    let (stride, cols) = (packed.stride(), packed.cols);
    let blocks = packed.rows.div_ceil(BLOCK as usize).clamp(1, MOST_BLOCKS);
    let (next, first_there) = segment_of(&mut packed.segments, count);
    let place = (count - first_there) * stride;
    let next = with_codes!(&mut next.codes, codes => codes.pointer_mut()?.at(place).bits());
    let launches = launches(&packed.segments, count);
    for (turn, (segment, [first, start, here])) in launches.iter().enumerate() {
        let (defines, codes) = coded(packed, segment, *start)?;
        let last = turn + 1 == launches.len();
        for column in 0..cols {
            let step = |row: usize| steps.at(row * cols + column);
            kernels::packed_advance(
                packed.rows,
                cols,
                column,
                *here,
                stride,
                codes,
                step(*first),
                step(count + 1 + first),
                &mut *z,
                &mut *w,
                last,
                step(count),
                step(2 * count + 1),
                next,
                scales.at(count * cols + column),
            )?
            .with(&defines)
            .run(gpu, blocks)?;
        }
    }
    Ok(())
}

/// Vector `index` becomes `w`, over its norms where it is to be a `unit`; then `w` is what was kept.
pub(crate) fn keep<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    index: usize,
    unit: bool,
    w: &mut Vector<T>,
) -> Result<()> {
    if !unit {
        take_away(gpu, packed, 0, w)?;
    }
    packed.reserve(index)?;
    let (rows, stride, cols) = (packed.rows, packed.stride(), packed.cols);
    let place = index * cols;
    let norms = match unit {
        true => packed.numbers.pointer()?.at(place),
        false => Read::default(),
    };
    let (segment, first) = segment_of(&mut packed.segments, index);
    let (name, limit) = with_codes!(&segment.codes, codes => code(codes));
    let place_of_codes = (index - first) * stride;
    let codes =
        with_codes!(&mut segment.codes, codes => codes.pointer_mut()?.at(place_of_codes).bits());
    let blocks = rows.div_ceil(BLOCK as usize).clamp(1, MOST_BLOCKS);
    for column in 0..cols {
        kernels::packed_keep(
            rows,
            cols,
            column,
            T::Arith::from_f64(limit),
            norms,
            &packed.largest,
            codes,
            packed.scales.pointer_mut()?.at(place),
            &mut *w,
        )?
        .with(&defines::<T>(name, cols))
        .run(gpu, blocks)?;
    }
    Ok(())
}

/// The name of codes in kernels, and the code of the largest number.
fn code<S: Code>(_codes: &Buffer<S>) -> (&'static str, f64) {
    (S::NAME, S::LIMIT)
}

/// The definitions for the codes of a segment, and those from vector `start` on.
fn coded<T: Scalar>(
    packed: &Packed<T>,
    segment: &Segment<T>,
    start: usize,
) -> Result<([Define; 2], Read<Bits>)> {
    let place = start * packed.stride();
    with_codes!(&segment.codes, codes => {
        let (name, _) = code(codes);
        Ok((defines::<T>(name, packed.cols), codes.pointer()?.at(place).bits()))
    })
}

fn defines<T: Scalar>(code: &'static str, cols: usize) -> [Define; 2] {
    let is_alone = cols == 1 && !T::KIND.is_complex();
    [("CODE", code), ("N", if is_alone { "4" } else { "1" })]
}
