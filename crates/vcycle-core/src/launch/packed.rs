//! Launches of the kernels on many vectors that are stored in fewer bits.

#[cfg(test)]
mod tests;

use vcycle_gpu::{Address, Argument, Kernel};

use super::scalars::number;
use crate::arrays::{Packed, Segment, Vector, filled, segment_of, with_codes};
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{BLOCK, Define, File, Gpu, kernel_file};
use crate::scalar::{Code, Field, Scalar};

pub(super) const FILE: File = kernel_file!("packed.c");

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
    let partials = Argument::Address(partials.device_mut()?);
    for (segment, first, here) in filled(&packed.segments, count) {
        let (dots, codes) = kernel(gpu, "packed_dots", packed, segment, 0)?;
        let (sums, _) = kernel(gpu, "packed_sums", packed, segment, 0)?;
        let place = first * packed.cols;
        for column in 0..packed.cols {
            let of_rows = [&rows(packed, column, here)[..], &[words(parts)]].concat();
            let operands = [
                stride(packed),
                codes,
                Argument::Address(w.device()?),
                partials,
            ];
            let blocks = (here.div_ceil(TOGETHER) * parts) as u32;
            gpu.launch(&dots, blocks, &[&of_rows[..], &operands].concat())?;
            let arguments = [
                words(packed.cols),
                words(column),
                words(parts),
                partials,
                at::<T>(packed.scales.device()?, place),
                at::<T>(packed.numbers.device_mut()?, place),
            ];
            gpu.launch(&sums, here as u32, &arguments)?;
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
    combine(gpu, packed, 0, (0.0, Some(count)), w.device()?)
}

/// `w -= number v` for the first `count` vectors; then the norms of `w` follow the numbers.
pub(crate) fn take_away<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    count: usize,
    w: &mut Vector<T>,
) -> Result<()> {
    combine(gpu, packed, count, (-1.0, Some(count)), w.device_mut()?)
}

/// `y += number v` for the first `count` vectors.
pub(crate) fn add<T: Scalar>(
    gpu: &Gpu,
    packed: &mut Packed<T>,
    count: usize,
    y: &mut Vector<T>,
) -> Result<()> {
    combine(gpu, packed, count, (1.0, None), y.device_mut()?)
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
    w: Address,
) -> Result<()> {
    let blocks = packed
        .rows
        .div_ceil(4 * BLOCK as usize)
        .clamp(1, MOST_BLOCKS);
    let launches = launches(&packed.segments, count);
    let numbers = packed.numbers.device_mut()?;
    let largest = packed.largest.device_mut()?;
    for (turn, (segment, [first, start, here])) in launches.iter().enumerate() {
        let last = turn + 1 == launches.len();
        let (kernel, codes) = kernel(gpu, "packed_combine", packed, segment, *start)?;
        for column in 0..packed.cols {
            let operands = [
                stride(packed),
                codes,
                at::<T>(packed.scales.device()?, first * packed.cols),
                at::<T>(numbers, first * packed.cols),
                number(T::Arith::from_f64(sign)),
                Argument::Address(w),
                words(usize::from(last && norms.is_some())),
                at::<T>(numbers, norms.unwrap_or(0) * packed.cols),
                Argument::Address(largest),
            ];
            let rows = rows(packed, column, *here);
            gpu.launch(
                &kernel,
                blocks as u32,
                &[&rows[..], &operands, &gpu.reduction()].concat(),
            )?;
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
    let steps = pipeline.steps.device()?;
    let scales = packed.scales.device_mut()?;
    let blocks = packed.rows.div_ceil(BLOCK as usize).clamp(1, MOST_BLOCKS);
    let (next, first_there) = segment_of(&mut packed.segments, count);
    let next = with_codes!(&mut next.codes, codes => codes.device_mut()?);
    let next = next + ((count - first_there) * packed.stride() * size_of::<T>()) as u64;
    let launches = launches(&packed.segments, count);
    for (turn, (segment, [first, start, here])) in launches.iter().enumerate() {
        let (kernel, codes) = kernel(gpu, "packed_advance", packed, segment, *start)?;
        let last = turn + 1 == launches.len();
        for column in 0..packed.cols {
            let place = |row: usize| at::<T>(steps, row * packed.cols + column);
            let operands = [
                stride(packed),
                codes,
                place(*first),
                place(count + 1 + first),
                Argument::Address(z.device_mut()?),
                Argument::Address(w.device_mut()?),
                words(usize::from(last)),
                place(count),
                place(2 * count + 1),
                Argument::Address(next),
                at::<T>(scales, count * packed.cols + column),
            ];
            let rows = rows(packed, column, *here);
            gpu.launch(&kernel, blocks as u32, &[&rows[..], &operands].concat())?;
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
    let (stride, place) = (packed.stride(), index * packed.cols);
    let norms = match unit {
        true => at::<T>(packed.numbers.device()?, place),
        false => Argument::Address(0),
    };
    let (segment, first) = segment_of(&mut packed.segments, index);
    let code = with_codes!(&segment.codes, codes => code(codes));
    let codes = with_codes!(&mut segment.codes, codes => codes.device_mut()?);
    let kernel = gpu.kernel(FILE, "packed_keep", &types::<T>(code, packed.cols))?;
    let blocks = packed.rows.div_ceil(BLOCK as usize).clamp(1, MOST_BLOCKS);
    for column in 0..packed.cols {
        let arguments = [
            Argument::U64(packed.rows as u64),
            words(packed.cols),
            words(column),
            number(T::Arith::from_f64(code.limit)),
            norms,
            Argument::Address(packed.largest.device()?),
            Argument::Address(codes + ((index - first) * stride * code.bytes) as u64),
            at::<T>(packed.scales.device_mut()?, place),
            Argument::Address(w.device_mut()?),
        ];
        gpu.launch(&kernel, blocks as u32, &arguments)?;
    }
    Ok(())
}

/// What kernels have to know of codes.
#[derive(Clone, Copy)]
struct CodeType {
    name: &'static str,
    bytes: usize,
    limit: f64,
}

fn code<S: Code>(_codes: &Buffer<S>) -> CodeType {
    CodeType {
        name: S::NAME,
        bytes: size_of::<S>(),
        limit: S::LIMIT,
    }
}

/// A kernel for the codes of a segment, and where those from `start` on are.
fn kernel<T: Scalar>(
    gpu: &Gpu,
    name: &'static str,
    packed: &Packed<T>,
    segment: &Segment<T>,
    start: usize,
) -> Result<(Kernel, Argument)> {
    let (code, codes) = with_codes!(&segment.codes, codes => (code(codes), codes.device()?));
    let kernel = gpu.kernel(FILE, name, &types::<T>(code, packed.cols))?;
    let skipped = start * packed.stride() * code.bytes;
    Ok((kernel, Argument::Address(codes + skipped as u64)))
}

fn types<T: Scalar>(code: CodeType, cols: usize) -> [Define; 3] {
    let is_alone = cols == 1 && !T::KIND.is_complex();
    let together = if is_alone { "4" } else { "1" };
    [("T", T::KIND.name()), ("S", code.name), ("N", together)]
}

/// Rows, columns, the column of the launch and vectors, as kernels take them.
fn rows<T: Scalar>(packed: &Packed<T>, column: usize, vectors: usize) -> [Argument; 4] {
    [
        Argument::U64(packed.rows as u64),
        words(packed.cols),
        words(column),
        words(vectors),
    ]
}

fn stride<T: Scalar>(packed: &Packed<T>) -> Argument {
    Argument::U64(packed.stride() as u64)
}

fn words(number: usize) -> Argument {
    Argument::U32(number as u32)
}

/// The address of a number among others.
fn at<T: Scalar>(numbers: Address, place: usize) -> Argument {
    Argument::Address(numbers + (place * size_of::<T::Arith>()) as u64)
}
