//! Set-ups on a device: the kernels of their stages.
//!
//! A stage that has kernels is an operation of `operations`, which gives it the [`Queue`] of its matrix; it
//! works with buffers of the device. One that has none asks for host slices, which are copied then. Kernels
//! of a stage stand in a file of their own in `kernels/`:
//!
//! ```text
//! KERNEL mine(u64 rows, GLOBAL const u64 *RESTRICT offsets, GLOBAL u32 *RESTRICT counts) {
//!     FOR_ITEMS(row, rows) counts[row] = (u32)(offsets[row + 1] - offsets[row]);
//! }
//! ```
//!
//! ```text
//! const FILE: File = kernel_file!("mine.c");
//! let mut counts = queue.room::<u32>(rows)?;
//! queue.items(FILE, "mine", &[], rows, &[number(rows), read(offsets)?, write(&mut counts)?])?;
//! let (offsets, entries) = queue.offsets(&counts)?;
//! ```

pub mod affinity;
pub mod aggressive;
mod assembly;
pub mod bamg;
mod binned;
mod block_products;
pub mod blocks;
pub mod chained;
mod entries;
pub mod fronts;
pub mod fsai;
mod grouped;
mod groups;
pub mod interpolate;
pub mod invert;
pub mod isai;
pub mod islands;
mod lists;
mod loose;
mod mbsr;
mod merged;
pub mod mis2;
mod multiply;
pub mod near_kernel;
pub mod parts;
pub mod pgm;
pub mod pmis;
mod products;
pub mod radius;
mod scan;
pub mod sharing;
mod slices;
pub mod smoothed;
pub mod stencil;
pub mod strength;
mod strips;
pub mod sweeps;
pub mod tentative;
pub mod threshold;
mod tile_products;
mod tiles;
mod transpose;
pub mod triangles;
mod union;
mod word_products;

use std::sync::Arc;

use vcycle_gpu::Argument;

use crate::error::Result;
use crate::executor::{Buffer, Element, Executor};
use crate::gpu::{BLOCK, Define, File, Gpu, kernel_file};
use crate::scalar::Scalar;

pub(crate) use assembly::Sorted;
pub use entries::Extremes;
pub(crate) use grouped::{Classes, Grouped};
pub(crate) use groups::Groups;
pub(crate) use products::{Factors, Product};
pub(crate) use slices::{CHUNK, LANES, Slices, Survey};
pub(crate) use strips::{Strips, digit, vector_of};

const FILE: File = kernel_file!("arrays.c");

/// The files of kernels that set-ups launch.
pub(super) const FILES: &[File] = &[
    FILE,
    affinity::FILE,
    aggressive::FILE,
    assembly::FILE,
    bamg::ARRAYS,
    bamg::FILE,
    binned::FILE,
    block_products::FILE,
    blocks::FILE,
    chained::FILE,
    entries::FILE,
    fronts::COLOURS,
    fronts::ILU,
    fsai::ARRAYS,
    fsai::FILE,
    grouped::FILE,
    groups::GROUPS,
    interpolate::FILE,
    invert::FILE,
    isai::FILE,
    loose::FILE,
    mbsr::FILE,
    merged::FILE,
    mis2::FILE,
    near_kernel::FILE,
    parts::FILE,
    pgm::FILE,
    pmis::FILE,
    products::FILE,
    radius::FILE,
    radius::SCATTERED,
    slices::FILE,
    smoothed::FILE,
    stencil::FILE,
    strength::FILE,
    strips::FILE,
    sweeps::FILE,
    tentative::FILE,
    threshold::FILE,
    tile_products::FILE,
    transpose::FILE,
    triangles::FILE,
    union::FILE,
    word_products::FILE,
];

/// Blocks for every compute unit: enough to hide the latency of memory.
const BLOCKS_PER_UNIT: usize = 32;

/// A device with what set-ups do on it; everything is queued in order.
#[derive(Clone, Copy, Debug)]
pub struct Queue<'e> {
    /// The device and its kernels.
    pub gpu: &'e Arc<Gpu>,
    /// The executor that is on it, for new memory.
    pub executor: &'e Executor,
}

impl<'e> Queue<'e> {
    /// That of an executor; none on the host.
    pub fn of(executor: &'e Executor) -> Option<Self> {
        match executor {
            Executor::Gpu(gpu) => Some(Self { gpu, executor }),
            _ => None,
        }
    }

    /// That of an executor for values of `T`; none for complex ones, which have no kernels.
    pub fn real<T: Scalar>(executor: &'e Executor) -> Option<Self> {
        Self::of(executor).filter(|_| !T::KIND.is_complex())
    }

    /// `len` values that nobody has written yet.
    pub(crate) fn room<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::room(self.executor, len)
    }

    /// `len` zeros.
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::filled(self.executor, len, T::default())
    }

    /// `len` times `value`.
    pub(crate) fn filled(&self, len: usize, value: u32) -> Result<Buffer<u32>> {
        let mut values = self.room(len)?;
        let arguments = [number(len), Argument::U32(value), write(&mut values)?];
        self.items(FILE, "fill", &[], len, &arguments)?;
        Ok(values)
    }

    /// Indices in 64 bits.
    pub(crate) fn widened(&self, indices: &Buffer<u32>) -> Result<Buffer<usize>> {
        self.indices("widen_indices", indices)
    }

    /// Indices in 32 bits; what does not fit becomes the largest number.
    pub(crate) fn narrowed(&self, indices: &Buffer<usize>) -> Result<Buffer<u32>> {
        self.indices("narrow_indices", indices)
    }

    fn indices<T: Element, S: Element>(
        &self,
        name: &'static str,
        indices: &Buffer<T>,
    ) -> Result<Buffer<S>> {
        let mut out = self.room(indices.len())?;
        let arguments = [number(indices.len()), read(indices)?, write(&mut out)?];
        self.items(FILE, name, &[], indices.len(), &arguments)?;
        Ok(out)
    }

    /// Queues a kernel that shares `items` among its threads with `FOR_ITEMS`.
    pub(crate) fn items(
        &self,
        file: File,
        name: &'static str,
        defines: &[Define],
        items: usize,
        arguments: &[Argument],
    ) -> Result<()> {
        let blocks = items.div_ceil(file.block as usize).min(self.most_blocks());
        self.blocks(file, name, defines, blocks, arguments)
    }

    /// Queues a kernel on so many blocks; none where there are none.
    pub(crate) fn blocks(
        &self,
        file: File,
        name: &'static str,
        defines: &[Define],
        blocks: usize,
        arguments: &[Argument],
    ) -> Result<()> {
        if blocks == 0 {
            return Ok(());
        }
        let kernel = self.gpu.kernel(file, name, defines)?;
        self.gpu
            .launch_blocks(&kernel, blocks as u32, file.block, arguments)
    }

    /// Blocks that keep the device busy.
    pub(crate) fn most_blocks(&self) -> usize {
        self.gpu.device().properties().compute_units * BLOCKS_PER_UNIT
    }
}

/// A `u64`.
pub(crate) fn number(value: usize) -> Argument {
    Argument::U64(value as u64)
}

/// The address of what a kernel reads.
pub(crate) fn read<T: Element>(buffer: &Buffer<T>) -> Result<Argument> {
    Ok(Argument::Address(buffer.device()?))
}

/// The address of what a kernel writes.
pub(crate) fn write<T: Element>(buffer: &mut Buffer<T>) -> Result<Argument> {
    Ok(Argument::Address(buffer.device_mut()?))
}

#[cfg(test)]
pub(crate) mod tests;
