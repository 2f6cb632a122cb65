//! Launches of products with block-diagonal matrices.

use vcycle_gpu::Argument;

use super::{BLOCK, File, Gpu, kernel_file};
use crate::backend::reference::blocks::{BlockArrays, Precision};
use crate::error::Result;
use crate::executor::{Buffer, Executor};
use crate::scalar::{Scalar, f16};
use crate::vector::Vector;

const FILE: File = kernel_file!("blocks.c");

/// The arrays of a block-diagonal matrix, for the device.
#[derive(Debug)]
pub(crate) struct DeviceBlocks<T> {
    /// The block of every row.
    blocks: Buffer<u32>,
    starts: Buffer<u32>,
    places: Buffer<u64>,
    full: Buffer<T>,
    single: Buffer<f32>,
    half: Buffer<f16>,
}

impl<T: Scalar> DeviceBlocks<T> {
    pub(crate) fn new(executor: &Executor, a: BlockArrays<'_, T>) -> Self {
        let rows =
            |(block, ends): (usize, &[usize])| std::iter::repeat_n(block as u32, ends[1] - ends[0]);
        let place = |place: &crate::backend::reference::blocks::Place| {
            let precision = match place.precision {
                Precision::Full => 0,
                Precision::Single => 1,
                Precision::Half => 2,
            };
            4 * place.offset as u64 + precision
        };
        let blocks = a.starts.windows(2).enumerate().flat_map(rows).collect();
        let starts = a.starts.iter().map(|&start| start as u32).collect();
        Self {
            blocks: Buffer::from_vec(executor, blocks),
            starts: Buffer::from_vec(executor, starts),
            places: Buffer::from_vec(executor, a.places.iter().map(place).collect()),
            full: Buffer::from_vec(executor, a.full.to_vec()),
            single: Buffer::from_vec(executor, a.single.to_vec()),
            half: Buffer::from_vec(executor, a.half.to_vec()),
        }
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
