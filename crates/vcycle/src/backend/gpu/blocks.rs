//! Launches of products with block-diagonal matrices.

use vcycle_gpu::Argument;

use super::{BLOCK, File, Gpu, kernel_file};
use crate::error::Result;
use crate::executor::Buffer;
use crate::scalar::{Scalar, f16};
use crate::vector::Vector;

const FILE: File = kernel_file!("blocks.c");

/// The arrays of a block-diagonal matrix, on the device.
#[derive(Debug)]
pub(crate) struct DeviceBlocks<T> {
    /// The block of every row.
    pub(super) blocks: Buffer<u32>,
    pub(super) starts: Buffer<u32>,
    /// Where each block is, four times, and its precision.
    pub(super) places: Buffer<u64>,
    pub(super) full: Buffer<T>,
    pub(super) single: Buffer<f32>,
    pub(super) half: Buffer<f16>,
    /// Blocks in full, single and half precision.
    pub(crate) counts: [usize; 3],
}

impl<T: Scalar> DeviceBlocks<T> {
    /// Bytes of all arrays.
    pub(crate) fn bytes(&self) -> usize {
        let places = self.blocks.bytes() + self.starts.bytes() + self.places.bytes();
        places + self.full.bytes() + self.single.bytes() + self.half.bytes()
    }

    /// `y = B x`, or with the transpose of every block.
    pub(crate) fn apply(
        &self,
        gpu: &Gpu,
        transposed: bool,
        x: &Vector<T>,
        y: &mut Vector<T>,
    ) -> Result<()> {
        let types = [
            ("T", gpu.real(T::KIND)?),
            ("ACC", gpu.real(T::Arith::KIND)?),
        ];
        let kernel = gpu.kernel(FILE, "blocks_apply", &types)?;
        let numbers = [x.rows(), x.cols(), usize::from(transposed)];
        let addresses = [
            self.blocks.device()?,
            self.starts.device()?,
            self.places.device()?,
            self.full.device()?,
            self.single.device()?,
            self.half.device()?,
            x.device()?,
            y.device_mut()?,
        ];
        let mut arguments = numbers.map(|number| Argument::U32(number as u32)).to_vec();
        arguments.extend(addresses.map(Argument::Address));
        match (x.rows() * x.cols()).div_ceil(BLOCK as usize) {
            0 => Ok(()),
            blocks => gpu.launch(&kernel, blocks as u32, &arguments),
        }
    }
}
