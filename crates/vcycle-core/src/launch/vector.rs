//! Launches of the vector kernels.
//!
//! One column is read in groups of 16 bytes; many columns have kernels of their own, whose threads
//! stay in their column.

use vcycle_gpu::{Argument, Kernel};

use super::scalars::{coefficient_arguments, number};
use crate::arrays::{Coefficient, Scalars, Vector};
use crate::error::Result;
use crate::gpu::{BLOCK, File, Gpu, PARTIAL_SUMS, kernel_file};
use crate::scalar::Scalar;

pub(super) const FILE: File = kernel_file!("vector.c");
pub(super) const MIXED: File = kernel_file!("mixed.c");

/// Bytes of an operand that one block takes at a time, as in the kernels.
const TILE: usize = 2 * 16 * BLOCK as usize;
/// Most blocks of a reduction: enough for any device, few enough to run at once.
const REDUCTION_BLOCKS: usize = 1024;
/// The same for many columns, whose sums the last block adds.
const COLUMN_BLOCKS: usize = 512;
/// Rows that a thread of these takes at a time, as in the kernels.
const LEAPS: usize = 4;
/// Most blocks of an elementwise operation, for each compute unit.
const BLOCKS_PER_UNIT: usize = 16;

/// Every value the same.
pub(crate) fn fill<T: Scalar>(gpu: &Gpu, value: T, y: &mut Vector<T>) -> Result<()> {
    let kernel = kernel::<T>(gpu, "vector_fill")?;
    let arguments = [values(y), number(value.load()), write(y)?];
    elementwise(gpu, &kernel, y, &arguments)
}

/// The columns of the identity.
pub(crate) fn identity<T: Scalar>(gpu: &Gpu, y: &mut Vector<T>) -> Result<()> {
    let kernel = kernel::<T>(gpu, "vector_identity")?;
    let arguments = [Argument::U64(y.rows() as u64), write(y)?];
    elementwise(gpu, &kernel, y, &arguments)
}

/// `y = x`, rounded once.
pub(crate) fn copy<S: Scalar, T: Scalar>(
    gpu: &Gpu,
    x: &Vector<S>,
    y: &mut Vector<T>,
) -> Result<()> {
    let kernel = mixed_kernel::<S, T>(gpu, "mixed_copy", false)?;
    let arguments = [values(y), read(x)?, write(y)?];
    elementwise(gpu, &kernel, y, &arguments)
}

/// `y = s x` with a sign `s` per row that looks random.
pub(crate) fn flip_signs<T: Scalar>(gpu: &Gpu, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
    let kernel = kernel::<T>(gpu, "vector_flip_signs")?;
    let cols = Argument::U32(y.cols() as u32);
    let arguments = [values(y), cols, read(x)?, write(y)?];
    elementwise(gpu, &kernel, y, &arguments)
}

/// `y = alpha x + beta y`, column by column.
pub(crate) fn axpby<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    x: &Vector<T>,
    beta: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    axpby_with(gpu, alpha, read(x)?, beta, y)
}

/// `y = alpha y`, column by column.
pub(crate) fn scale<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    // What has a zero coefficient is not read.
    axpby_with(gpu, Coefficient::zero(), NOTHING, alpha, y)
}

fn axpby_with<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    x: Argument,
    beta: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    let kernel = match y.cols() {
        1 => kernel::<T>(gpu, "vector_axpby")?,
        _ => kernel::<T>(gpu, "vector_axpby_columns")?,
    };
    let (alpha, beta) = (coefficient_arguments(alpha)?, coefficient_arguments(beta)?);
    let arguments = [&sizes(y)[..], &alpha, &[x], &beta, &[write(y)?]].concat();
    elementwise(gpu, &kernel, y, &arguments)
}

/// `y = alpha d x + beta y` with one `d` per row, conjugated where that is asked for.
pub(crate) fn combine_rows<D: Scalar, T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    (d, conjugate): (&Vector<D>, bool),
    x: &Vector<T>,
    beta: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    let conjugate = conjugate && D::KIND.is_complex();
    let kernel = match y.cols() {
        1 => mixed_kernel::<D, T>(gpu, "mixed_combine_rows", conjugate)?,
        _ => mixed_kernel::<D, T>(gpu, "mixed_combine_rows_columns", conjugate)?,
    };
    let (alpha, beta) = (coefficient_arguments(alpha)?, coefficient_arguments(beta)?);
    let operands = [read(d)?, read(x)?];
    let arguments = [&sizes(y)[..], &alpha, &operands, &beta, &[write(y)?]].concat();
    elementwise(gpu, &kernel, y, &arguments)
}

/// `out = sum of conj(x) y`, column by column.
pub(crate) fn dot<T: Scalar>(
    gpu: &Gpu,
    x: &Vector<T>,
    y: &Vector<T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    if x.cols() != 1 {
        return dot_columns(gpu, false, x, y, out);
    }
    let arguments = [values(x), read(x)?, read(y)?, result(out)?];
    reduction(gpu, &kernel::<T>(gpu, "vector_dot")?, x, &arguments)
}

/// Of one column, the products of `x` with `y` and with `z`.
pub(crate) fn dot2<T: Scalar>(
    gpu: &Gpu,
    x: &Vector<T>,
    (y, with_y): (&Vector<T>, &mut Scalars<T>),
    (z, with_z): (&Vector<T>, &mut Scalars<T>),
) -> Result<()> {
    let results = [result(with_y)?, result(with_z)?];
    let arguments = [&[values(x), read(x)?, read(y)?, read(z)?][..], &results].concat();
    reduction(gpu, &kernel::<T>(gpu, "vector_dot2")?, x, &arguments)
}

/// The norms of all columns.
pub(crate) fn norm<T: Scalar>(gpu: &Gpu, x: &Vector<T>, out: &mut Scalars<T>) -> Result<()> {
    if x.cols() != 1 {
        return dot_columns(gpu, true, x, x, out);
    }
    // With a zero coefficient nothing is added, and so nothing written.
    let alpha = coefficient_arguments::<T>(Coefficient::zero())?;
    let operands = [NOTHING, read(x)?, result(out)?];
    let arguments = [&[values(x)][..], &alpha, &operands].concat();
    reduction(gpu, &kernel::<T>(gpu, "vector_axpy_norm")?, x, &arguments)
}

/// `y += alpha x` and the norm of `y`, column by column.
pub(crate) fn axpy_norm<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    x: &Vector<T>,
    y: &mut Vector<T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    let step = coefficient_arguments(alpha)?;
    let operands = [read(x)?, write(y)?];
    if y.cols() != 1 {
        let nothing = coefficient_arguments::<T>(Coefficient::zero())?;
        let updates = [&nothing[..], &[NOTHING, NOTHING], &step, &operands].concat();
        return advance_columns(gpu, y, &updates, out);
    }
    let arguments = [&[values(x)][..], &step, &operands, &[result(out)?]].concat();
    reduction(gpu, &kernel::<T>(gpu, "vector_axpy_norm")?, x, &arguments)
}

/// `x += alpha p`, `r += beta q` and the norm of `r`, column by column.
pub(crate) fn advance<T: Scalar>(
    gpu: &Gpu,
    (alpha, p, x): (Coefficient<'_, T>, &Vector<T>, &mut Vector<T>),
    (beta, q, r): (Coefficient<'_, T>, &Vector<T>, &mut Vector<T>),
    out: &mut Scalars<T>,
) -> Result<()> {
    let (alpha, beta) = (coefficient_arguments(alpha)?, coefficient_arguments(beta)?);
    let (first, second) = ([read(p)?, write(x)?], [read(q)?, write(r)?]);
    let updates = [&alpha[..], &first, &beta, &second].concat();
    if r.cols() != 1 {
        return advance_columns(gpu, r, &updates, out);
    }
    let arguments = [&[values(p)][..], &updates, &[result(out)?]].concat();
    reduction(gpu, &kernel::<T>(gpu, "vector_advance")?, p, &arguments)
}

/// Two updates of columns that are as long as `r`, the second one of `r` itself, and its norms.
fn advance_columns<T: Scalar>(
    gpu: &Gpu,
    r: &Vector<T>,
    updates: &[Argument],
    out: &mut Scalars<T>,
) -> Result<()> {
    let kernel = kernel::<T>(gpu, "vector_advance_columns")?;
    let operands = [updates, &[result(out)?]].concat();
    column_reduction(gpu, &kernel, r, &operands)
}

/// The products of the columns of `x` and `y`, or their square roots.
fn dot_columns<T: Scalar>(
    gpu: &Gpu,
    root: bool,
    x: &Vector<T>,
    y: &Vector<T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    let kernel = kernel::<T>(gpu, "vector_dot_columns")?;
    let root = Argument::U32(root.into());
    let operands = [root, read(x)?, read(y)?, result(out)?];
    column_reduction(gpu, &kernel, x, &operands)
}

/// The null pointer, for what a kernel does not read.
const NOTHING: Argument = Argument::Address(0);

fn kernel<T: Scalar>(gpu: &Gpu, name: &'static str) -> Result<Kernel> {
    gpu.kernel(FILE, name, &[("T", T::KIND.name())])
}

fn mixed_kernel<S: Scalar, T: Scalar>(
    gpu: &Gpu,
    name: &'static str,
    conjugate: bool,
) -> Result<Kernel> {
    let mut defines = vec![("S", S::KIND.name()), ("T", T::KIND.name())];
    defines.extend(conjugate.then_some(("CONJUGATED", "1")));
    gpu.kernel(MIXED, name, &defines)
}

fn read<T: Scalar>(x: &Vector<T>) -> Result<Argument> {
    Ok(Argument::Address(x.device()?))
}

fn write<T: Scalar>(y: &mut Vector<T>) -> Result<Argument> {
    Ok(Argument::Address(y.device_mut()?))
}

fn result<T: Scalar>(out: &mut Scalars<T>) -> Result<Argument> {
    Ok(Argument::Address(out.device_mut()?))
}

/// How many values a vector has.
fn values<T: Scalar>(y: &Vector<T>) -> Argument {
    Argument::U64((y.rows() * y.cols()) as u64)
}

/// The values of a vector, and its columns where a kernel is told.
fn sizes<T: Scalar>(y: &Vector<T>) -> Vec<Argument> {
    match y.cols() {
        1 => vec![values(y)],
        cols => vec![values(y), Argument::U32(cols as u32)],
    }
}

/// Tiles that values of one type make; at least one.
fn tiles<T: Scalar>(values: usize) -> usize {
    (values * size_of::<T>()).div_ceil(TILE).max(1)
}

/// With at least as many threads as columns, so that every thread can stay in one.
fn elementwise<T: Scalar>(
    gpu: &Gpu,
    kernel: &Kernel,
    y: &Vector<T>,
    arguments: &[Argument],
) -> Result<()> {
    let most = gpu.device().properties().compute_units * BLOCKS_PER_UNIT;
    let blocks = tiles::<T>(y.rows() * y.cols()).min(most);
    let blocks = blocks.max(y.cols().div_ceil(BLOCK as usize));
    match y.bytes() {
        0 => Ok(()),
        _ => gpu.launch(kernel, blocks as u32, arguments),
    }
}

/// The blocks follow from the size alone, so that sums are the same on every device.
fn reduction<T: Scalar>(
    gpu: &Gpu,
    kernel: &Kernel,
    x: &Vector<T>,
    arguments: &[Argument],
) -> Result<()> {
    let blocks = tiles::<T>(x.rows()).min(REDUCTION_BLOCKS);
    let arguments = [arguments, &gpu.reduction()].concat();
    gpu.launch(kernel, blocks as u32, &arguments)
}

/// As many columns at a time as a block has threads. The blocks follow from the sizes alone, as those of one column.
fn column_reduction<T: Scalar>(
    gpu: &Gpu,
    kernel: &Kernel,
    x: &Vector<T>,
    operands: &[Argument],
) -> Result<()> {
    for first in (0..x.cols()).step_by(BLOCK as usize) {
        let count = (x.cols() - first).min(BLOCK as usize);
        let rows_of_block = LEAPS * (BLOCK as usize / count);
        let most = COLUMN_BLOCKS.min(PARTIAL_SUMS / count);
        let blocks = x.rows().div_ceil(rows_of_block).clamp(1, most);
        let numbers = [x.cols(), first, count].map(|number| Argument::U32(number as u32));
        let rows = [Argument::U64(x.rows() as u64)];
        let arguments = [&rows[..], &numbers, operands, &gpu.reduction()].concat();
        gpu.launch(kernel, blocks as u32, &arguments)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::Executor;
    use crate::scalar::{bf16, c32, c64, convert, f16};

    fn wave<T: Scalar>(
        executor: &Executor,
        (rows, cols): (usize, usize),
        shift: usize,
    ) -> Vector<T> {
        let value = |i: usize| convert(((i * 7 + shift) % 17) as f64 * 0.25 - 2.0);
        Vector::from_rows(executor, cols, (0..rows * cols).map(value).collect()).unwrap()
    }

    /// `x += p / 2`, `r -= q` and the norms of `r`.
    fn advanced<T: Scalar>(
        executor: &Executor,
        size: (usize, usize),
    ) -> (Vec<T>, Vec<T>, Vec<T::Arith>) {
        let wave = |shift| wave::<T>(executor, size, shift);
        let (p, q, mut x, mut r) = (wave(1), wave(2), wave(3), wave(4));
        let mut norms = Scalars::filled(executor, size.1, T::default().load()).unwrap();
        let (alpha, beta) = (Coefficient::real(0.5), Coefficient::real(-1.0));
        x.advance((alpha, &p), (beta, &q), &mut r, &mut norms)
            .unwrap();
        let norms = (0..size.1).map(|column| norms.get(column).unwrap());
        (x.to_vec(), r.to_vec(), norms.collect())
    }

    fn check<T: Scalar>(executor: &Executor) {
        let one = [0, 1, 5, 20_011].map(|rows| (rows, 1));
        let many = [(1, 2), (700, 3), (611, 32), (3, 300)];
        for size in one.into_iter().chain(many) {
            let expected = advanced::<T>(&Executor::reference(), size);
            assert_eq!(
                advanced::<T>(executor, size),
                expected,
                "{size:?} {}",
                T::KIND
            );
        }
    }

    #[test]
    fn one_pass_advances_as_three_do() {
        let found = vcycle_gpu::discover().into_iter();
        let devices = found.filter_map(|found| found.devices.ok()).flatten();
        let Some(device) = devices.into_iter().find(|device| device.is_cpu) else {
            eprintln!("skipped: no OpenCL processor here");
            return;
        };
        let executor = Executor::gpu(&device.name).unwrap();
        check::<f64>(&executor);
        check::<f32>(&executor);
        check::<f16>(&executor);
        check::<bf16>(&executor);
        check::<c64>(&executor);
        check::<c32>(&executor);
    }
}
