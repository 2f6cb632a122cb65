//! Launches of the vector kernels.
//!
//! One column is read in groups of 16 bytes; many columns have kernels of their own, whose threads
//! stay in their column.

use crate::arrays::{Coefficient, Scalars, Vector};
use crate::error::Result;
use crate::gpu::kernels::{mixed, vector as kernels};
use crate::gpu::{BLOCK, Define, Gpu, Null, PARTIAL_SUMS, Passes, Read};
use crate::scalar::Scalar;

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
    let blocks = elementwise(gpu, y);
    kernels::vector_fill(values(y), value.load(), y)?.run(gpu, blocks)
}

/// The columns of the identity.
pub(crate) fn identity<T: Scalar>(gpu: &Gpu, y: &mut Vector<T>) -> Result<()> {
    let blocks = elementwise(gpu, y);
    kernels::vector_identity(y.rows(), y)?.run(gpu, blocks)
}

/// `y = x`, rounded once.
pub(crate) fn copy<S: Scalar, T: Scalar>(
    gpu: &Gpu,
    x: &Vector<S>,
    y: &mut Vector<T>,
) -> Result<()> {
    let blocks = elementwise(gpu, y);
    mixed::mixed_copy(values(y), x, y)?.run(gpu, blocks)
}

/// `y = s x` with a sign `s` per row that looks random.
pub(crate) fn flip_signs<T: Scalar>(gpu: &Gpu, x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
    let blocks = elementwise(gpu, y);
    kernels::vector_flip_signs(values(y), y.cols(), x, y)?.run(gpu, blocks)
}

/// `y = alpha x + beta y`, column by column.
pub(crate) fn axpby<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    x: &Vector<T>,
    beta: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    axpby_with(gpu, alpha, x.pass()?, beta, y)
}

/// `y = alpha y`, column by column.
pub(crate) fn scale<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    // What has a zero coefficient is not read.
    axpby_with(gpu, Coefficient::zero(), Read::default(), alpha, y)
}

fn axpby_with<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    x: Read<T>,
    beta: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    let (n, blocks) = (values(y), elementwise(gpu, y));
    match y.cols() {
        1 => kernels::vector_axpby(n, alpha, x, beta, y)?.run(gpu, blocks),
        cols => kernels::vector_axpby_columns(n, cols, alpha, x, beta, y)?.run(gpu, blocks),
    }
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
    let (n, blocks) = (values(y), elementwise(gpu, y));
    let conjugated: &[Define] = match conjugate && D::KIND.is_complex() {
        true => &[("CONJUGATED", "1")],
        false => &[],
    };
    match y.cols() {
        1 => mixed::mixed_combine_rows(n, alpha, d, x, beta, y)?
            .with(conjugated)
            .run(gpu, blocks),
        cols => mixed::mixed_combine_rows_columns(n, cols, alpha, d, x, beta, y)?
            .with(conjugated)
            .run(gpu, blocks),
    }
}

/// `out = sum of conj(x) y`, column by column.
pub(crate) fn dot<T: Scalar>(
    gpu: &Gpu,
    x: &Vector<T>,
    y: &Vector<T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    match x.cols() {
        1 => kernels::vector_dot(values(x), x, y, out, gpu.partials(), gpu.counter())?
            .run(gpu, reduction(x)),
        _ => dot_columns(gpu, false, x, y, out),
    }
}

/// Of one column, the products of `x` with `y` and with `z`.
pub(crate) fn dot2<T: Scalar>(
    gpu: &Gpu,
    x: &Vector<T>,
    (y, with_y): (&Vector<T>, &mut Scalars<T>),
    (z, with_z): (&Vector<T>, &mut Scalars<T>),
) -> Result<()> {
    let (partials, counter) = (gpu.partials(), gpu.counter());
    kernels::vector_dot2(values(x), x, y, z, with_y, with_z, partials, counter)?
        .run(gpu, reduction(x))
}

/// The norms of all columns.
pub(crate) fn norm<T: Scalar>(gpu: &Gpu, x: &Vector<T>, out: &mut Scalars<T>) -> Result<()> {
    if x.cols() != 1 {
        return dot_columns(gpu, true, x, x, out);
    }
    // With a zero coefficient nothing is added, and so nothing written.
    let (nothing, unchanged) = (Coefficient::<T>::zero(), x.buffer().pointer()?.writable());
    let (partials, counter) = (gpu.partials(), gpu.counter());
    kernels::vector_axpy_norm(values(x), nothing, Null, unchanged, out, partials, counter)?
        .run(gpu, reduction(x))
}

/// `y += alpha x` and the norm of `y`, column by column.
pub(crate) fn axpy_norm<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    x: &Vector<T>,
    y: &mut Vector<T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    let (partials, counter) = (gpu.partials(), gpu.counter());
    if y.cols() == 1 {
        return kernels::vector_axpy_norm(values(x), alpha, x, y, out, partials, counter)?
            .run(gpu, reduction(x));
    }
    let nothing = Coefficient::<T>::zero();
    for (first, count, blocks) in column_blocks(x) {
        kernels::vector_advance_columns(
            x.rows(),
            x.cols(),
            first,
            count,
            nothing,
            Null,
            Null,
            alpha,
            x,
            &mut *y,
            &mut *out,
            partials,
            counter,
        )?
        .run(gpu, blocks)?;
    }
    Ok(())
}

/// `x += alpha p`, `r += beta q` and the norm of `r`, column by column.
pub(crate) fn advance<T: Scalar>(
    gpu: &Gpu,
    (alpha, p, x): (Coefficient<'_, T>, &Vector<T>, &mut Vector<T>),
    (beta, q, r): (Coefficient<'_, T>, &Vector<T>, &mut Vector<T>),
    out: &mut Scalars<T>,
) -> Result<()> {
    let (partials, counter) = (gpu.partials(), gpu.counter());
    if r.cols() == 1 {
        let n = values(p);
        return kernels::vector_advance(n, alpha, p, x, beta, q, r, out, partials, counter)?
            .run(gpu, reduction(p));
    }
    for (first, count, blocks) in column_blocks(p) {
        kernels::vector_advance_columns(
            p.rows(),
            p.cols(),
            first,
            count,
            alpha,
            p,
            &mut *x,
            beta,
            q,
            &mut *r,
            &mut *out,
            partials,
            counter,
        )?
        .run(gpu, blocks)?;
    }
    Ok(())
}

/// The products of the columns of `x` and `y`, or their square roots.
fn dot_columns<T: Scalar>(
    gpu: &Gpu,
    root: bool,
    x: &Vector<T>,
    y: &Vector<T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    for (first, count, blocks) in column_blocks(x) {
        kernels::vector_dot_columns(
            x.rows(),
            x.cols(),
            first,
            count,
            root,
            x,
            y,
            &mut *out,
            gpu.partials(),
            gpu.counter(),
        )?
        .run(gpu, blocks)?;
    }
    Ok(())
}

/// How many values a vector has.
fn values<T: Scalar>(y: &Vector<T>) -> usize {
    y.rows() * y.cols()
}

/// Tiles that values of one type make; at least one.
fn tiles<T: Scalar>(values: usize) -> usize {
    (values * size_of::<T>()).div_ceil(TILE).max(1)
}

/// Blocks with at least as many threads as columns, so that every thread can stay in one; none without values.
fn elementwise<T: Scalar>(gpu: &Gpu, y: &Vector<T>) -> usize {
    let most = gpu.device().properties().compute_units * BLOCKS_PER_UNIT;
    let blocks = tiles::<T>(values(y)).min(most);
    match y.bytes() {
        0 => 0,
        _ => blocks.max(y.cols().div_ceil(BLOCK as usize)),
    }
}

/// The blocks follow from the size alone, so that sums are the same on every device.
fn reduction<T: Scalar>(x: &Vector<T>) -> usize {
    tiles::<T>(x.rows()).min(REDUCTION_BLOCKS)
}

/// As many columns at a time as a block has threads: the first, their number and blocks, which follow from the sizes alone, as
/// those of one column.
fn column_blocks<T: Scalar>(x: &Vector<T>) -> impl Iterator<Item = (usize, usize, usize)> + use<T> {
    let (rows, cols) = (x.rows(), x.cols());
    (0..cols).step_by(BLOCK as usize).map(move |first| {
        let count = (cols - first).min(BLOCK as usize);
        let rows_of_block = LEAPS * (BLOCK as usize / count);
        let most = COLUMN_BLOCKS.min(PARTIAL_SUMS / count);
        (first, count, rows.div_ceil(rows_of_block).clamp(1, most))
    })
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
