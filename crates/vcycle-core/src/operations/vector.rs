//! Vectors, entry by entry.

use vcycle_kernels::compiled_fn;

use num_traits::One;

use crate::arrays::{Coefficient, Scalars, Vector};
use crate::error::Result;
use crate::executor::Executor;
use crate::launch;
use crate::scalar::{Field, Mixes, Scalar};
use crate::{cpu, reference};

/// Runs the backend's kernel where the operands live: one on slices of the host, or one on a
/// device.
macro_rules! dispatch {
    (
        $executor:expr,
        $host:ident($($slice:expr),* $(,)?),
        $device:ident($($operand:expr),* $(,)?) $(,)?
    ) => {
        match $executor {
            Executor::Reference => reference::vector::$host($($slice),*),
            Executor::Cpu(threads) => cpu::vector::$host(threads, $($slice),*),
            Executor::Gpu(gpu) => return launch::vector::$device(gpu, $($operand),*),
        }
    };
}

compiled_fn! {
    /// Numbers of the host in another type, rounded to nearest.
    pub fn copy_numbers[any T: Scalar, S: Scalar](executor: &Executor, from: &[T], to: &mut [S]) {
        match &executor.on_host() {
            Executor::Cpu(threads) => cpu::vector::copy(threads, from, to),
            _ => reference::vector::copy(from, to),
        }
    }
}

compiled_fn! {
    /// Ones on the diagonal of zeros.
    pub(crate) fn identity[any T: Scalar](zeros: &mut Vector<T>) -> Result<()> {
        if let Executor::Gpu(gpu) = zeros.executor().clone() {
            return launch::vector::identity(&gpu, zeros);
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
        dispatch!(&executor, fill(value, y.host_mut()?), fill(value, y));
        Ok(())
    }
}

/// `y = x`, rounded.
pub(crate) fn copy<S: Scalar, T: Scalar>(x: &Vector<S>, y: &mut Vector<T>) -> Result<()> {
    dispatch!(x.executor(), copy(x.host()?, y.host_mut()?), copy(x, y));
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
            Executor::Gpu(gpu) => return launch::vector::flip_signs(gpu, x, y),
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
            axpby(
                alpha.on_host()?,
                x.host()?,
                beta.on_host()?,
                y.host_mut()?,
                cols
            ),
            axpby(alpha, x, beta, y)
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
            scale(alpha.on_host()?, x.host_mut()?, cols),
            scale(alpha, x)
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
        scale_rows(d.host()?, conjugate, x.host()?, y.host_mut()?, cols),
        combine_rows(
            Coefficient::one(),
            (d, conjugate),
            x,
            Coefficient::zero(),
            y
        )
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
        combine_rows(
            alpha.on_host()?,
            (d.host()?, conjugate),
            x.host()?,
            beta.on_host()?,
            y.host_mut()?,
            cols
        ),
        combine_rows(alpha, (d, conjugate), x, beta, y)
    );
    Ok(())
}

compiled_fn! {
    /// Every number of `out` becomes the coefficient of its column.
    pub(crate) fn assign[any T: Scalar](
        coefficient: Coefficient<'_, T>,
        out: &mut Scalars<T>,
    ) -> Result<()> {
        if let Executor::Gpu(gpu) = out.executor().clone() {
            return launch::scalars::assign(&gpu, coefficient, out);
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
            return launch::scalars::square_root(&gpu, numbers);
        }
        for value in numbers.host_mut()? {
            *value = value.square_root();
        }
        Ok(())
    }
}
