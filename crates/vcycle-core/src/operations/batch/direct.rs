//! LU factorisations of small systems.

use super::{BatchArrays, BatchEndings, BatchPattern, BatchRun, blocks, factor_room, room};
use crate::gpu::kernels::batch_direct as kernels;
use crate::launch::prelude::*;

/// How factors are stored: entry `(i, j)` is `base + i * stride + j`.
struct Band {
    below: usize,
    /// Columns of a row of `U`.
    reach: usize,
    base: usize,
    stride: usize,
    size: usize,
}

impl Band {
    /// Row by row from the first column below the diagonal on, or all of the matrix where that takes less.
    fn new(pattern: &BatchPattern) -> Self {
        let (rows, [below, above]) = (pattern.rows, pattern.band);
        let reach = (below + above + 1).min(rows);
        let width = below + reach;
        let (base, stride, size) = match width <= rows {
            true => (below, width - 1, rows * width),
            false => (0, rows, rows * rows),
        };
        Self {
            below,
            reach,
            base,
            stride,
            size,
        }
    }

    /// Threads for what a step of the elimination changes, and how many of them share a row.
    fn threads(&self) -> (u32, u32) {
        let threads = match self.below * self.reach {
            0..=64 => 32,
            65..=1024 => 64,
            1025..=8192 => 128,
            _ => 256,
        };
        let lanes = (self.reach as u32).saturating_sub(1).max(1);
        (threads, lanes.next_power_of_two().min(threads))
    }
}

/// Queues the solves of all systems.
pub(super) fn solve<T: Scalar>(
    gpu: &Gpu,
    run: &BatchRun,
    a: &BatchArrays<T>,
    b: &Vector<T>,
    x: &mut Vector<T>,
) -> Result<BatchEndings> {
    let item = size_of::<T::Arith>();
    let band = Band::new(&a.pattern);
    let (threads, lanes) = band.threads();
    let used = |room: usize| (3 * room + threads as usize) * item + room * size_of::<u32>();
    let room = room(gpu, a.pattern.rows, used)?;
    let held = factor_room(gpu, band.size, used(room), item);
    let global = if held == 0 { band.size } else { 0 };
    let blocks = blocks(gpu, a.systems, global * item);
    let mut rooms = Buffer::<T::Arith>::room(x.executor(), (blocks * global).max(1))?;
    let mut endings = BatchEndings::new(a, &x.executor().clone())?;
    kernels::batch_direct::<T>(
        endings.parts(run, a, b, x)?,
        band.below,
        band.reach,
        band.base,
        band.stride,
        lanes,
        band.size,
        &mut rooms,
    )?
    .block(threads)
    .with(&[("ROWS", literal(room)), ("FACTORS", literal(held))])
    .run(gpu, blocks)?;
    Ok(endings)
}
