//! Vectors of several columns taken as matrices: all products of columns, and combinations of columns.

use vcycle_kernels::compiled_fn;

use super::reductions::add_team_sums;
use crate::gpu::{BLOCK, kernels::columns as kernels};
use crate::launch::prelude::*;

/// Columns of a tile, as in the kernel.
const TILE: usize = 4;
/// Rows that a thread has at least before there are more parts, and most parts.
const ROWS: usize = 8;
const MOST_PARTS: usize = 256;

compiled_fn! {
    /// `out = X^H Y`, row after row.
    pub(crate) fn products[any T: Scalar](
        x: &Vector<T>,
        y: &Vector<T>,
        out: &mut [<T as Scalar>::Arith],
    ) -> Result<()> {
        let (p, q) = (x.cols(), y.cols());
        dispatch!(
            x.executor(),
            columns::products((x.host()?, p), (y.host()?, q), out),
            gpu => {
                products_on(gpu, x, y)?.read(out)?;
                add_team_sums(x.executor(), out)
            }
        );
        add_team_sums(x.executor(), out)
    }
}

compiled_fn! {
    /// `Y += X C` with coefficients row after row.
    pub(crate) fn add_combination[any T: Scalar](
        x: &Vector<T>,
        coefficients: &[<T as Scalar>::Arith],
        y: &mut Vector<T>,
    ) -> Result<()> {
        let (p, q) = (x.cols(), y.cols());
        dispatch!(
            x.executor(),
            columns::add_combination((x.host()?, p), coefficients, (y.host_mut()?, q)),
            gpu => {
                gpu.real(T::KIND)?;
                let coefficients = Buffer::from_vec(x.executor(), coefficients.to_vec());
                let blocks = (x.rows() * q).div_ceil(BLOCK as usize).max(1);
                kernels::columns_add(x.rows(), p, q, x, &coefficients, y)?.run(gpu, blocks)
            }
        );
        Ok(())
    }
}

/// `X^H Y`, row after row.
fn products_on<T: Scalar>(gpu: &Gpu, x: &Vector<T>, y: &Vector<T>) -> Result<Buffer<T::Arith>> {
    let (p, q, executor) = (x.cols(), y.cols(), x.executor());
    let parts = (x.rows() / (BLOCK as usize * ROWS)).clamp(1, MOST_PARTS);
    let mut partials = Buffer::<T::Arith>::room(executor, p * q * parts)?;
    let mut out = Buffer::<T::Arith>::room(executor, p * q)?;
    gpu.real(T::KIND)?;
    let tiles = p.div_ceil(TILE) * q.div_ceil(TILE);
    kernels::columns_products(x.rows(), p, q, parts, x, y, &mut partials)?
        .run(gpu, tiles * parts)?;
    kernels::columns_sums::<T>(parts, &partials, &mut out)?.run(gpu, p * q)?;
    Ok(out)
}
