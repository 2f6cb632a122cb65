//! Launches of kernels on vectors of several columns taken as matrices.

use vcycle_gpu::Argument;

use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{BLOCK, File, Gpu, kernel_file};
use crate::scalar::Scalar;

pub(super) const FILE: File = kernel_file!("columns.c");

/// Columns of a tile, as in the kernel.
const TILE: usize = 4;
/// Rows that a thread has at least before there are more parts, and most parts.
const ROWS: usize = 8;
const MOST_PARTS: usize = 256;

/// `X^H Y`, row after row.
pub(crate) fn products<T: Scalar>(
    gpu: &Gpu,
    x: &Vector<T>,
    y: &Vector<T>,
) -> Result<Buffer<T::Arith>> {
    let (p, q, executor) = (x.cols(), y.cols(), x.executor());
    let parts = (x.rows() / (BLOCK as usize * ROWS)).clamp(1, MOST_PARTS);
    let mut partials = Buffer::<T::Arith>::room(executor, p * q * parts)?;
    let mut out = Buffer::<T::Arith>::room(executor, p * q)?;
    let types = [("T", gpu.real(T::KIND)?)];
    let partials_at = Argument::Address(partials.device_mut()?);
    let arguments = [
        Argument::U64(x.rows() as u64),
        Argument::U32(p as u32),
        Argument::U32(q as u32),
        Argument::U32(parts as u32),
        Argument::Address(x.device()?),
        Argument::Address(y.device()?),
        partials_at,
    ];
    let tiles = p.div_ceil(TILE) * q.div_ceil(TILE);
    let kernel = gpu.kernel(FILE, "columns_products", &types)?;
    gpu.launch(&kernel, (tiles * parts) as u32, &arguments)?;
    let out_at = Argument::Address(out.device_mut()?);
    let kernel = gpu.kernel(FILE, "columns_sums", &types)?;
    let arguments = [Argument::U32(parts as u32), partials_at, out_at];
    gpu.launch(&kernel, (p * q) as u32, &arguments)?;
    Ok(out)
}

/// `Y += X C`.
pub(crate) fn add_combination<T: Scalar>(
    gpu: &Gpu,
    x: &Vector<T>,
    coefficients: &Buffer<T::Arith>,
    y: &mut Vector<T>,
) -> Result<()> {
    let arguments = [
        Argument::U64(x.rows() as u64),
        Argument::U32(x.cols() as u32),
        Argument::U32(y.cols() as u32),
        Argument::Address(x.device()?),
        Argument::Address(coefficients.device()?),
        Argument::Address(y.device_mut()?),
    ];
    let kernel = gpu.kernel(FILE, "columns_add", &[("T", gpu.real(T::KIND)?)])?;
    let blocks = (x.rows() * y.cols()).div_ceil(BLOCK as usize).max(1);
    gpu.launch(&kernel, blocks.min(i32::MAX as usize) as u32, &arguments)
}
