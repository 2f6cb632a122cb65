//! Launches of products with block-diagonal matrices.

use crate::arrays::Vector;
use crate::error::Result;
use crate::executor::Buffer;
use crate::gpu::{BLOCK, Gpu, kernels::blocks as kernels};
use crate::scalar::{Element, Scalar, f16};

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
        gpu.real(T::KIND)?;
        kernels::blocks_apply(
            x.rows(),
            x.cols(),
            transposed,
            &self.blocks,
            &self.starts,
            &self.places,
            &self.full,
            &self.single,
            &self.half,
            x,
            y,
        )?
        .with(&[("ACC", T::Arith::NAME)])
        .run(gpu, (x.rows() * x.cols()).div_ceil(BLOCK as usize))
    }
}
