//! Launches of products with block-diagonal matrices.

use vcycle_gpu::Argument;

use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{BLOCK, File, Gpu, kernel_file};
use crate::scalar::{Scalar, f16};

pub(super) const FILE: File = kernel_file!("blocks.c");

/// The arrays of a block-diagonal matrix, on the device.
#[derive(Debug)]
pub struct DeviceBlocks<T> {
    /// The block of every row.
    pub blocks: Buffer<u32>,
    /// First row of every block, and at the end the number of rows.
    pub starts: Buffer<u32>,
    /// Where each block is, four times, and its precision.
    pub places: Buffer<u64>,
    /// The values of blocks in full precision.
    pub full: Buffer<T>,
    /// The values of blocks in single precision.
    pub single: Buffer<f32>,
    /// The values of blocks in half precision.
    pub half: Buffer<f16>,
    /// Blocks in full, single and half precision.
    pub counts: [usize; 3],
}

impl<T: Scalar> DeviceBlocks<T> {
    /// Bytes of all arrays.
    pub fn bytes(&self) -> usize {
        let places = self.blocks.bytes() + self.starts.bytes() + self.places.bytes();
        places + self.full.bytes() + self.single.bytes() + self.half.bytes()
    }

    /// `y = B x`, or with the transpose of every block.
    pub fn apply(
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
