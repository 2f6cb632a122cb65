//! Launches of the kernels on scalars.

use crate::arrays::{Coefficient, Scalars};
use crate::error::Result;
use crate::gpu::{BLOCK, Gpu, kernels::scalars as kernels};
use crate::scalar::Scalar;

/// Every number the coefficient of its column.
pub(crate) fn assign<T: Scalar>(
    gpu: &Gpu,
    coefficient: Coefficient<'_, T>,
    out: &mut Scalars<T>,
) -> Result<()> {
    let blocks = blocks(out);
    kernels::scalars_assign::<T::Arith>(out.len(), coefficient, out)?.run(gpu, blocks)
}

/// Every number its square root.
pub(crate) fn square_root<T: Scalar>(gpu: &Gpu, values: &mut Scalars<T>) -> Result<()> {
    let blocks = blocks(values);
    kernels::scalars_square_root::<T::Arith>(values.len(), values)?.run(gpu, blocks)
}

fn blocks<T: Scalar>(scalars: &Scalars<T>) -> usize {
    scalars.len().div_ceil(BLOCK as usize).max(1)
}
