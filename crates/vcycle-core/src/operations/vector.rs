//! Vectors, entry by entry.

use vcycle_kernels::compiled_fn;

use num_traits::One;

use crate::gpu::BLOCK;
use crate::gpu::kernels::{mixed, scalars, vector as kernels};
use crate::launch::prelude::*;
use crate::{cpu, reference};

/// Bytes of an operand that one block takes at a time, as in the kernels.
const TILE: usize = 2 * 16 * BLOCK as usize;
/// Most blocks of an elementwise operation, for each compute unit.
const BLOCKS_PER_UNIT: usize = 16;

/// How many values a vector has.
pub(super) fn values<T: Scalar>(y: &Vector<T>) -> usize {
    y.rows() * y.cols()
}

/// Tiles that values of one type make; at least one.
pub(super) fn tiles<T: Scalar>(values: usize) -> usize {
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

compiled_fn! {
    /// Numbers of the host in another type, rounded to nearest.
    pub fn copy_numbers[any T: Scalar, S: Scalar](executor: &Executor, from: &[T], to: &mut [S]) {
        dispatch!(&executor.on_host(), vector::copy(from, to));
    }
}

compiled_fn! {
    /// Ones on the diagonal of zeros.
    pub(crate) fn identity[any T: Scalar](zeros: &mut Vector<T>) -> Result<()> {
        if let Executor::Gpu(gpu) = zeros.executor().clone() {
            let blocks = elementwise(&gpu, zeros);
            return kernels::vector_identity(zeros.rows(), zeros)?.run(&gpu, blocks);
        }
        let one = T::store(T::Arith::one());
        let step = zeros.rows() + 1;
        let values = zeros.host_mut()?.iter_mut();
        values.step_by(step).for_each(|value| *value = one);
        Ok(())
    }
}

compiled_fn! {
    /// `y = value`.
    pub(crate) fn fill[any T: Scalar](value: T, y: &mut Vector<T>) -> Result<()> {
        let executor = y.executor().clone();
        dispatch!(&executor, vector::fill(value, y.host_mut()?), gpu => {
            let blocks = elementwise(gpu, y);
            kernels::vector_fill(values(y), value.load(), y)?.run(gpu, blocks)
        });
        Ok(())
    }
}

/// `y = x`, rounded.
pub(crate) fn copy<S: Scalar, T: Scalar>(x: &Vector<S>, y: &mut Vector<T>) -> Result<()> {
    dispatch!(x.executor(), vector::copy(x.host()?, y.host_mut()?), gpu => {
        let blocks = elementwise(gpu, y);
        mixed::mixed_copy(values(y), x, y)?.run(gpu, blocks)
    });
    Ok(())
}

compiled_fn! {
    /// Row by row `y = s x` with signs `s` that look random, the same on every executor.
    pub(crate) fn flip_signs[any T: Scalar](x: &Vector<T>, y: &mut Vector<T>) -> Result<()> {
        let cols = y.cols();
        match x.executor() {
            Executor::Reference => reference::vector::flip_signs(0, x.host()?, y.host_mut()?, cols),
            Executor::Cpu(threads) => {
                cpu::vector::flip_signs(threads, x.host()?, y.host_mut()?, cols);
            }
            Executor::Gpu(gpu) => {
                let (n, blocks) = (values(y), elementwise(gpu, y));
                return kernels::vector_flip_signs(n, cols, x, y)?.run(gpu, blocks);
            }
        }
        Ok(())
    }
}

compiled_fn! {
    /// `y = alpha x + beta y`.
    pub(crate) fn axpby[any T: Scalar](
        alpha: Coefficient<'_, T>,
        x: &Vector<T>,
        beta: Coefficient<'_, T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let cols = y.cols();
        dispatch!(
            x.executor(),
            vector::axpby(
                alpha.on_host()?,
                x.host()?,
                beta.on_host()?,
                y.host_mut()?,
                cols
            ),
            gpu => axpby_on(gpu, alpha, x.pass()?, beta, y)
        );
        Ok(())
    }
}

compiled_fn! {
    /// `x = alpha x`.
    pub(crate) fn scale[any T: Scalar](alpha: Coefficient<'_, T>, x: &mut Vector<T>) -> Result<()> {
        let cols = x.cols();
        let executor = x.executor().clone();
        dispatch!(
            &executor,
            vector::scale(alpha.on_host()?, x.host_mut()?, cols),
            // What has a zero coefficient is not read.
            gpu => axpby_on(gpu, Coefficient::zero(), Read::default(), alpha, x)
        );
        Ok(())
    }
}

/// Row by row `y = d x`.
pub(crate) fn scale_rows<D: Mixes<T, T>, T: Scalar>(
    (d, conjugate): (&Vector<D>, bool),
    x: &Vector<T>,
    y: &mut Vector<T>,
) -> Result<()> {
    let cols = y.cols();
    dispatch!(
        x.executor(),
        vector::scale_rows(d.host()?, conjugate, x.host()?, y.host_mut()?, cols),
        gpu => combine_rows_on(gpu, Coefficient::one(), (d, conjugate), x, Coefficient::zero(), y)
    );
    Ok(())
}

/// Row by row `y = alpha d x + beta y`.
pub(crate) fn combine_rows<D: Mixes<T, T>, T: Scalar>(
    alpha: Coefficient<'_, T>,
    (d, conjugate): (&Vector<D>, bool),
    x: &Vector<T>,
    beta: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    let cols = y.cols();
    dispatch!(
        x.executor(),
        vector::combine_rows(
            alpha.on_host()?,
            (d.host()?, conjugate),
            x.host()?,
            beta.on_host()?,
            y.host_mut()?,
            cols
        ),
        gpu => combine_rows_on(gpu, alpha, (d, conjugate), x, beta, y)
    );
    Ok(())
}

/// `y = alpha x + beta y` on a device, column by column.
fn axpby_on<T: Scalar>(
    gpu: &Gpu,
    alpha: Coefficient<'_, T>,
    x: Read<T>,
    beta: Coefficient<'_, T>,
    y: &mut Vector<T>,
) -> Result<()> {
    let (n, blocks) = (values(y), elementwise(gpu, y));
    let launch = match y.cols() {
        1 => kernels::vector_axpby(n, alpha, x, beta, y)?,
        cols => kernels::vector_axpby_columns(n, cols, alpha, x, beta, y)?,
    };
    launch.run(gpu, blocks)
}

/// `y = alpha d x + beta y` on a device with one `d` per row, conjugated where that is asked for.
fn combine_rows_on<D: Scalar, T: Scalar>(
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
    let launch = match y.cols() {
        1 => mixed::mixed_combine_rows(n, alpha, d, x, beta, y)?,
        cols => mixed::mixed_combine_rows_columns(n, cols, alpha, d, x, beta, y)?,
    };
    launch.with(conjugated).run(gpu, blocks)
}

compiled_fn! {
    /// Every number of `out` becomes the coefficient of its column.
    pub(crate) fn assign[any T: Scalar](
        coefficient: Coefficient<'_, T>,
        out: &mut Scalars<T>,
    ) -> Result<()> {
        if let Executor::Gpu(gpu) = out.executor().clone() {
            let (len, blocks) = (out.len(), scalar_blocks(out));
            return scalars::scalars_assign::<T::Arith>(len, coefficient, out)?.run(&gpu, blocks);
        }
        for (column, value) in out.host_mut()?.iter_mut().enumerate() {
            *value = coefficient.evaluate(column)?;
        }
        Ok(())
    }
}

compiled_fn! {
    /// Every number becomes its square root.
    pub(crate) fn square_root[any T: Scalar](numbers: &mut Scalars<T>) -> Result<()> {
        if let Executor::Gpu(gpu) = numbers.executor().clone() {
            let (len, blocks) = (numbers.len(), scalar_blocks(numbers));
            return scalars::scalars_square_root::<T::Arith>(len, numbers)?.run(&gpu, blocks);
        }
        for value in numbers.host_mut()? {
            *value = value.square_root();
        }
        Ok(())
    }
}

fn scalar_blocks<T: Scalar>(numbers: &Scalars<T>) -> usize {
    numbers.len().div_ceil(BLOCK as usize).max(1)
}
